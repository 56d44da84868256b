//! The columns of a snapshot: the fingerprints of one attribute by row, filled in when they are first needed.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use hashbrown::HashMap;
use parking_lot::RwLock;

use crate::{
    attribute::{Attribute, Parts, Row},
    change_log::{ChangeLog, Version},
    fingerprint::Fingerprint,
};

/// The bytes that all columns of a snapshot may take unless [`Columns::set_limit`] says otherwise.
const DEFAULT_BYTES: usize = 64 << 20;

/// Maximum columns, of any size.
const MAX_COLUMNS: usize = 512;

/// The fingerprints that were read of the rows of one snapshot. Each snapshot owns one.
pub struct Columns<T> {
    /// Some may be of an earlier version. They are updated at their next use.
    by_attribute: RwLock<ByAttribute<T>>,
    max_bytes: AtomicUsize,
    log: OnceLock<ChangeLog>,
    /// Whether another snapshot follows this one.
    has_next: AtomicBool,
}

type ByAttribute<T> = HashMap<Arc<T>, Arc<Column>, foldhash::fast::RandomState>;

/// The fingerprints of one attribute by row; 0 where it was not read yet. All writers of a cell write the same value,
/// so relaxed loads and stores are enough.
pub(crate) struct Column {
    version: Version,
    /// Shared with the column of the version before, where nothing that it depends on has changed since.
    cells: Arc<[AtomicU64]>,
}

// === impl Columns ===

impl<T: Attribute> Columns<T> {
    /// Bounds the bytes of all columns.
    pub fn set_limit(&self, bytes: usize) {
        self.max_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes of all columns.
    pub fn bytes(&self) -> usize {
        bytes(&self.by_attribute.read())
    }

    /// Follows an earlier snapshot, of which these rows have changed: the fingerprints of the others are shared.
    ///
    /// Rows that the earlier snapshot did not have count as changed. Call it before this snapshot is used. Of several
    /// snapshots that would follow one, only the first does; the others begin with nothing.
    pub fn inherit_from(&self, earlier: &Self, changed: impl FnOnce() -> Vec<(Row, Parts)>) {
        if earlier.has_next.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.log.set(earlier.log().next(&changed())).is_ok() {
            self.by_attribute.write().clone_from(&earlier.by_attribute.read());
        }
    }

    /// Begins with the fingerprints of another snapshot, in which only these rows differ. Neither follows the other.
    pub fn copy_from(&self, other: &Self, differing: &[(Row, Parts)]) {
        let (version, theirs) = (self.log().version, other.log().version);
        let copy = |(attribute, column): (&Arc<T>, &Arc<Column>)| {
            let parts = attribute.depends_on();
            let stale = differing.iter().filter(|(_, differ)| differ.intersects(parts)).map(|(row, _)| *row);
            (column.version == theirs).then(|| (Arc::clone(attribute), Arc::new(column.copied(version, stale))))
        };
        let copies: Vec<_> = other.by_attribute.read().iter().filter_map(copy).collect();
        self.by_attribute.write().extend(copies);
    }

    /// The column of an attribute in this version: the known one, one made from that of an earlier version, or a new
    /// one.
    pub(crate) fn get(&self, attribute: &T, rows: usize) -> Arc<Column> {
        self.current(attribute).unwrap_or_else(|| self.add(attribute, rows))
    }

    /// The column of an attribute, if it was asked for in this version.
    pub(crate) fn current(&self, attribute: &T) -> Option<Arc<Column>> {
        self.by_attribute.read().get(attribute).filter(|column| column.version == self.log().version).cloned()
    }

    #[inline]
    pub(crate) fn log(&self) -> &ChangeLog {
        self.log.get_or_init(ChangeLog::first)
    }

    fn add(&self, attribute: &T, rows: usize) -> Arc<Column> {
        let mut columns = self.by_attribute.write();
        let log = self.log();
        let known = columns.get_key_value(attribute);
        let attribute = known.map_or_else(|| Arc::new(attribute.clone()), |(attribute, _)| Arc::clone(attribute));
        let column = Arc::new(match known {
            Some((_, known)) if known.version == log.version => return Arc::clone(known),
            Some((_, earlier)) => earlier.carried_over(log, attribute.depends_on(), rows),
            None => Column::new(log.version, rows),
        });
        columns.insert(Arc::clone(&attribute), Arc::clone(&column));
        if columns.len() > MAX_COLUMNS || bytes(&columns) > self.max_bytes.load(Ordering::Relaxed) {
            // They begin anew with this one; requests keep those that they use.
            columns.retain(|other, _| Arc::ptr_eq(other, &attribute));
        }
        column
    }
}

/// The bytes of columns with their attributes, whose arguments may have a megabyte.
fn bytes<T: Attribute>(columns: &ByAttribute<T>) -> usize {
    let weight = |(attribute, column): (&Arc<T>, &Arc<Column>)| size_of::<T>() + attribute.heap_size() + column.bytes();
    columns.iter().map(weight).sum()
}

impl<T> Default for Columns<T> {
    fn default() -> Self {
        Self {
            by_attribute: RwLock::default(),
            max_bytes: DEFAULT_BYTES.into(),
            log: OnceLock::new(),
            has_next: AtomicBool::new(false),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Columns<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_attribute.read().keys()).finish()
    }
}

// === impl Column ===

impl Column {
    fn new(version: Version, rows: usize) -> Self {
        let cells = std::iter::repeat_with(AtomicU64::default).take(rows).collect();
        Self { version, cells }
    }

    /// The fingerprint of a row, which is read if it was not yet.
    #[inline]
    pub(crate) fn get_or_read(&self, row: Row, read: impl FnOnce() -> Fingerprint) -> Fingerprint {
        let Some(cell) = self.cells.get(row as usize) else { return read() };
        Fingerprint::from_bits(cell.load(Ordering::Relaxed)).unwrap_or_else(|| {
            let value = read();
            cell.store(value.bits(), Ordering::Relaxed);
            value
        })
    }

    /// The same without these rows.
    fn copied(&self, version: Version, stale: impl Iterator<Item = Row>) -> Self {
        let mut stale = stale.peekable();
        if stale.peek().is_none() {
            return Self { version, cells: Arc::clone(&self.cells) };
        }
        let cells: Arc<[AtomicU64]> =
            self.cells.iter().map(|cell| AtomicU64::new(cell.load(Ordering::Relaxed))).collect();
        for row in stale {
            if let Some(cell) = cells.get(row as usize) {
                cell.store(0, Ordering::Relaxed);
            }
        }
        Self { version, cells }
    }

    fn carried_over(&self, log: &ChangeLog, parts: Parts, rows: usize) -> Self {
        let stale = log.stale_rows(self.version, parts, rows);
        if stale.is_empty() && self.cells.len() == rows {
            return Self { version: log.version, cells: Arc::clone(&self.cells) };
        }
        let cell = |row: usize| self.cells.get(row).map_or(0, |cell| cell.load(Ordering::Relaxed));
        let cells: Arc<[AtomicU64]> = (0..rows).map(|row| AtomicU64::new(cell(row))).collect();
        for row in stale {
            cells[row as usize].store(0, Ordering::Relaxed);
        }
        Self { version: log.version, cells }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.cells)
    }
}
