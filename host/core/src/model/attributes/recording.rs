//! The reads of one call, in order: as `View::read` records them.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use plimsoll_decision_cache::{HeapSize, ReadLog, SharedLog};

use super::attribute::{Attribute, AttributeOf};
use crate::model::{Read, ReadError, Shown, Value, excerpt, read::ReadScope};

/// Maximum reads with their values.
const MAX_LINES: usize = 1_000;

/// The most bytes of a line about a read: a guest may name a key of a MiB.
const MAX_READ_BYTES: usize = 500;

/// Maximum bytes of the values of all lines: a read of all nodes may have a value of each.
const MAX_VALUES_BYTES: usize = 1 << 20;

/// Stands for a value beyond that.
const NOT_SHOWN: &str = "not shown: the values of this call are more than 1 MiB";

/// Records the reads of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    log: SharedLog<Attribute>,
    /// None if only the decision cache needs the reads.
    notes: Option<Arc<Mutex<Notes>>>,
    /// Whether every read is kept with its value.
    shows_reads: bool,
}

/// What is known of the reads of a call beyond their attributes.
#[derive(Debug, Default)]
struct Notes {
    lines: Vec<ReadLine>,
    /// Bytes of the values of the lines.
    bytes: usize,
    compares_nodes: bool,
    reads_undeclared: bool,
}

/// One read and its result, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLine {
    /// The read, as the contract writes it; of a very long one the beginning.
    pub read: String,
    /// Its value.
    pub value: Shown,
    /// The name of the node that it is read of, where that is not the node in question.
    pub other: Option<Arc<str>>,
    /// Of a count of the whole cluster: how many pods match now, and the first of them.
    pub counted: Option<String>,
    /// Whether it is of something other than the pod, the time, the cluster or the node in question: such an answer is
    /// not cached.
    pub is_of_others: bool,
}

// === impl Recording ===

impl Recording {
    /// A recording for the decision cache.
    pub(crate) fn of(log: &SharedLog<Attribute>) -> Self {
        Self { log: Arc::clone(log), ..Self::default() }
    }

    /// A recording that keeps every read with its value, for people.
    pub(crate) fn with_lines() -> Self {
        Self { notes: Some(Arc::default()), shows_reads: true, ..Self::default() }
    }

    /// A recording for a bind, which is about one node; its values are compared with later ones.
    pub(crate) fn for_bind() -> Self {
        let recording = Self { notes: Some(Arc::default()), ..Self::default() };
        recording.begin(0);
        recording
    }

    /// Whether every read is kept, for people.
    pub(crate) const fn shows_reads(&self) -> bool {
        self.shows_reads
    }

    /// The reads in order; at most [`MAX_LINES`].
    pub(crate) fn take_lines(&self) -> Vec<ReadLine> {
        self.notes().map(|mut notes| std::mem::take(&mut notes.lines)).unwrap_or_default()
    }

    /// Makes this the node that the following reads are made for.
    pub(crate) fn begin(&self, node: u32) {
        self.log.lock().begin(node);
    }

    /// Records one read, which the policy wrote as `written`; `name` names a node of the view.
    pub(crate) fn record<'v>(
        &self,
        read: &Read<'_>,
        written: &Read<'_>,
        answer: &Result<Value<'_>, ReadError>,
        name: impl FnOnce(u32) -> Option<&'v Arc<str>>,
        counted: impl FnOnce() -> Option<String>,
    ) {
        let mut log = self.log.lock();
        let position = log.position();
        let is_of_others = record_in(&mut log, *read, answer.is_ok());
        drop(log);
        let Some(mut notes) = self.notes() else { return };
        let other =
            if let ReadScope::Node(node) = read.scope() { Some(node).filter(|_| position != Some(node)) } else { None };
        notes.compares_nodes |= other.is_some() || read.scope() == ReadScope::Whole;
        notes.reads_undeclared |=
            matches!(answer, Err(ReadError::UndeclaredSource(_) | ReadError::Counts(_) | ReadError::Undescribed(_)));
        if self.shows_reads && notes.lines.len() < MAX_LINES {
            let value = Shown::of_answer(*read, answer);
            let read = excerpt(&written.to_string(), MAX_READ_BYTES);
            notes.push(ReadLine {
                read,
                value,
                other: other.and_then(name).cloned(),
                counted: counted(),
                is_of_others,
            });
        }
    }

    /// Whether something was read of the nodes of the request together, or of another node than the one in question.
    pub(crate) fn compares_nodes(&self) -> bool {
        self.notes().is_some_and(|notes| notes.compares_nodes)
    }

    /// Whether something was read that the policy or its sidecar does not declare: a source of facts, a count.
    pub(crate) fn reads_undeclared(&self) -> bool {
        self.notes().is_some_and(|notes| notes.reads_undeclared)
    }

    /// The reads since [`Self::begin`].
    pub(crate) fn log(&self) -> MutexGuard<'_, ReadLog<Attribute>> {
        self.log.lock()
    }

    /// Whether something was read that answers cannot be cached by.
    pub(crate) fn is_uncacheable(&self) -> bool {
        self.log.lock().is_uncacheable()
    }

    fn notes(&self) -> Option<MutexGuard<'_, Notes>> {
        self.notes.as_ref().map(|notes| notes.lock())
    }
}

// === impl ReadLine ===

impl ReadLine {
    /// Its bytes in memory.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.read.len() + self.value.heap_size()
    }
}

// === impl Notes ===

impl Notes {
    /// Adds a line; its value is left out if all values together would be too large.
    fn push(&mut self, mut line: ReadLine) {
        let bytes = self.bytes.saturating_add(line.value.heap_size());
        if bytes > MAX_VALUES_BYTES {
            line.value = Shown::Note(NOT_SHOWN.into());
        } else {
            self.bytes = bytes;
        }
        self.lines.push(line);
    }
}

/// Says whether the read is of something other than the pod, the time, the cluster or the node in question.
fn record_in(log: &mut ReadLog<Attribute>, read: Read<'_>, exists: bool) -> bool {
    let attribute = AttributeOf::of(read);
    match read.scope() {
        ReadScope::Constant => return false,
        ReadScope::Request => log.record_subject(&attribute),
        ReadScope::Cluster if exists => log.record_snapshot(&attribute),
        ReadScope::Node(node) if exists => return !log.record_row(node, &attribute),
        // Something that does not exist, or all nodes at once.
        ReadScope::Node(_) | ReadScope::Cluster | ReadScope::Whole => {
            log.record_other();
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NodeRead;

    fn record(recording: &Recording, read: Read<'_>, answer: &Result<Value<'_>, ReadError>) {
        recording.record(&read, &read, answer, |_| None, || None);
    }

    #[test]
    fn a_yes_or_no_is_shown_as_such() {
        let recording = Recording::with_lines();
        for answer in [true, false] {
            record(&recording, Read::Node(0, NodeRead::Unschedulable), &Ok(Value::flag(answer)));
        }
        let shown: Vec<Shown> = recording.take_lines().into_iter().map(|line| line.value).collect();
        assert_eq!(shown, [Shown::Flag(true), Shown::Flag(false)]);
        assert_eq!(shown[0].to_string(), "true");
    }

    #[test]
    fn the_values_of_all_lines_are_bounded_and_each_read_is_listed() {
        let recording = Recording::with_lines();
        let (long, short) = ("v".repeat(4_000), Ok(Value::Number(7)));
        for _ in 0..500 {
            record(&recording, Read::HostNow(1), &Ok(Value::text(&long)));
        }
        record(&recording, Read::HostNow(1), &short);
        let lines = recording.take_lines();
        let bytes: usize = lines.iter().map(|line| line.value.heap_size()).sum();
        assert!(bytes <= MAX_VALUES_BYTES + 500 * NOT_SHOWN.len(), "{bytes}");
        assert_eq!(lines.len(), 501);
        assert_eq!(lines[0].value, Shown::of(&Value::text(&long), 4_000));
        assert_eq!(lines[499].value, Shown::Note(NOT_SHOWN.into()));
        assert_eq!(lines[500].value, Shown::Number(7), "a short value after a long one");
    }
}
