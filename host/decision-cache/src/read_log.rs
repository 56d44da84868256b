//! The reads of one call of a function.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::attribute::{Attribute, AttributeList, BorrowedAttribute, Scope};

/// Maximum attributes of the row that one evaluation has one by one. [`Attribute::whole_row`] stands for those beyond.
const MAX_ROW_READS: usize = 16;

/// Maximum attributes of the snapshot that one evaluation has. With more its answer is not cached.
const MAX_SNAPSHOT_READS: usize = 128;

/// Maximum subject attributes of one call.
pub(crate) const MAX_SUBJECT_ATTRIBUTES: usize = 256;

/// Maximum bytes of all attributes of one call: some ten thousand.
const MAX_BYTES: usize = 1 << 20;

/// The reads of one call so far. The code that answers the function's reads records them here.
#[derive(Debug)]
pub struct ReadLog<T> {
    /// The position of the row under way.
    position: Option<u32>,
    /// The attributes of rows and of the snapshot, once each.
    attributes: AttributeList<T>,
    /// The evaluation under way: numbers of attributes, once each, in the order of their first read.
    reads: Vec<u32>,
    /// The number of reads that are of the row; the others are of the snapshot.
    row_reads: usize,
    /// Whether the evaluation under way has read more of its row than is kept one by one.
    is_long: bool,
    /// The attributes of the subject.
    subject_attributes: AttributeList<T>,
    bytes: usize,
    is_uncacheable: bool,
    /// Whether an attribute was read that is not listed.
    has_lost_reads: bool,
}

/// A log that is shared by the function's reads and its [`Evaluation`](crate::Evaluation).
pub type SharedLog<T> = Arc<Mutex<ReadLog<T>>>;

// === impl ReadLog ===

impl<T: Attribute> ReadLog<T> {
    /// Starts the evaluation of the row at this position.
    pub fn begin(&mut self, position: u32) {
        self.position = Some(position);
        self.reads.clear();
        self.row_reads = 0;
        self.is_long = false;
    }

    /// An attribute of the subject was read. It counts for all rows that are evaluated after it in this call.
    pub fn record_subject(&mut self, read: &impl BorrowedAttribute<T>) {
        if self.subject_attributes.number_of(read).is_some() {
            return;
        }
        // One more than the maximum is recorded, so that the insert finds it and disables the cache.
        if self.subject_attributes.len() > MAX_SUBJECT_ATTRIBUTES {
            self.record_lost();
        } else if self.reserve(read) {
            self.subject_attributes.push(read.to_attribute());
        }
    }

    /// An attribute of the snapshot was read, to answer about the row under way.
    pub fn record_snapshot(&mut self, read: &impl BorrowedAttribute<T>) {
        if self.position.is_none() {
            // It may be kept for any of the rows that follow.
            return self.record_lost();
        }
        let Some(number) = self.intern(read) else { return };
        if self.reads.contains(&number) {
            return;
        }
        if self.reads.len() - self.row_reads < MAX_SNAPSHOT_READS {
            self.reads.push(number);
        } else {
            self.record_lost();
        }
    }

    /// An attribute of the row at a position was read. Returns whether that is the row under way.
    pub fn record_row(&mut self, position: u32, read: &impl BorrowedAttribute<T>) -> bool {
        if self.position != Some(position) {
            self.record_other();
            return false;
        }
        if self.is_long {
            return true;
        }
        let Some(number) = self.intern(read) else { return true };
        if self.reads.contains(&number) {
            return true;
        }
        if self.row_reads < MAX_ROW_READS {
            self.push_of_row(number);
        } else {
            self.read_whole_row();
        }
        true
    }

    /// The position of the row that is evaluated; `None` between two evaluations.
    pub const fn position(&self) -> Option<u32> {
        self.position
    }

    /// Something was read that answers cannot be cached by, such as another row.
    ///
    /// It holds to the end of the call: a function may keep values that it has read.
    pub fn record_other(&mut self) {
        self.is_uncacheable = true;
    }

    /// Whether [`ReadLog::record_other`] was called, or too much was read.
    pub const fn is_uncacheable(&self) -> bool {
        self.is_uncacheable
    }

    /// Whether an attribute was read that [`ReadLog::attributes_read`] does not list: there was no room for it, or it
    /// is of the snapshot and was read between two evaluations.
    pub const fn has_lost_reads(&self) -> bool {
        self.has_lost_reads
    }

    /// The attributes that were read since [`ReadLog::begin`], of the row and of the snapshot, and those of the
    /// subject.
    pub fn attributes_read(&self) -> impl Iterator<Item = &T> {
        self.reads.iter().map(|number| self.attributes.get(*number)).chain(self.subject_attributes.as_slice())
    }

    /// The reads since [`ReadLog::begin`]; `None` if the answer cannot be cached.
    pub(crate) fn finish(&mut self) -> Option<&[u32]> {
        self.position = None;
        if self.is_uncacheable { None } else { Some(&self.reads) }
    }

    /// The attributes that the numbers of [`ReadLog::finish`] stand for.
    pub(crate) fn attributes(&self) -> &AttributeList<T> {
        &self.attributes
    }

    /// The attributes that were read of the subject.
    pub(crate) fn subject_attributes(&self) -> &[T] {
        self.subject_attributes.as_slice()
    }

    fn read_whole_row(&mut self) {
        self.is_long = true;
        let whole = T::whole_row();
        if whole.is_empty() {
            return self.record_other();
        }
        for attribute in &whole {
            debug_assert_eq!(attribute.scope(), Scope::Row);
            let Some(number) = self.intern(attribute) else { return };
            if !self.reads.contains(&number) {
                self.push_of_row(number);
            }
        }
    }

    /// The log does not list an attribute that was read.
    fn record_lost(&mut self) {
        self.has_lost_reads = true;
        self.record_other();
    }

    fn push_of_row(&mut self, number: u32) {
        self.reads.push(number);
        self.row_reads += 1;
    }

    /// The number of an attribute, which is listed from now on; `None` if there is no room for it.
    fn intern(&mut self, read: &impl BorrowedAttribute<T>) -> Option<u32> {
        if let Some(known) = self.attributes.number_of(read) {
            return Some(known);
        }
        self.reserve(read).then(|| self.attributes.push(read.to_attribute()))
    }

    /// Makes room for an attribute that is not listed yet. Without room it is lost, and this returns false.
    fn reserve(&mut self, read: &impl BorrowedAttribute<T>) -> bool {
        self.bytes += size_of::<T>() + read.heap_size();
        let fits = self.bytes <= MAX_BYTES;
        if !fits {
            self.record_lost();
        }
        fits
    }
}

impl<T> Default for ReadLog<T> {
    fn default() -> Self {
        Self {
            position: None,
            attributes: AttributeList::default(),
            reads: Vec::new(),
            row_reads: 0,
            is_long: false,
            subject_attributes: AttributeList::default(),
            bytes: 0,
            is_uncacheable: false,
            has_lost_reads: false,
        }
    }
}
