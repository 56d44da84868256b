//! The columns of a snapshot: the fingerprints of one attribute by row, filled in when they are first needed.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;
use hashbrown::HashMap;

use crate::{
    attribute::{Attribute, Parts, Row},
    change_log::{ChangeLog, Version},
    clock::tick,
    fingerprint::Fingerprint,
};

/// The bytes that all columns of a snapshot may take unless [`Columns::set_limit`] says otherwise.
const DEFAULT_BYTES: usize = 64 << 20;

/// Maximum columns, of any size.
const MAX_COLUMNS: usize = 512;

/// This many rows are read at once.
const FILL_BATCH: usize = 16;

/// The fingerprints that were read of the rows of one snapshot. Each snapshot owns one.
pub struct Columns<T> {
    /// Some may be of an earlier version. They are updated at their next use.
    by_attribute: ArcSwap<ByAttribute<T>>,
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
    used: AtomicU64,
}

// === impl Columns ===

impl<T: Attribute> Columns<T> {
    /// Bounds the bytes of all columns.
    pub fn set_limit(&self, bytes: usize) {
        self.max_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes of all columns.
    pub fn bytes(&self) -> usize {
        self.by_attribute.load().iter().map(|(attribute, column)| weight(&**attribute, column)).sum()
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
            self.by_attribute.store(earlier.by_attribute.load_full());
        }
    }

    /// The column of an attribute in this version: the known one, one made from that of an earlier version, or a new
    /// one.
    pub(crate) fn get(&self, attribute: &T, rows: usize) -> Arc<Column> {
        let column = self.current(attribute).unwrap_or_else(|| self.add(attribute, rows));
        column.used.store(tick(), Ordering::Relaxed);
        column
    }

    /// The column of an attribute, if it was ever asked for.
    pub(crate) fn known(&self, attribute: &T, rows: usize) -> Option<Arc<Column>> {
        self.by_attribute.load().contains_key(attribute).then(|| self.get(attribute, rows))
    }

    /// The column of an attribute, if it was asked for in this version.
    pub(crate) fn current(&self, attribute: &T) -> Option<Arc<Column>> {
        self.by_attribute.load().get(attribute).filter(|column| column.version == self.version()).cloned()
    }

    #[inline]
    pub(crate) fn version(&self) -> Version {
        self.log().version()
    }

    #[inline]
    pub(crate) fn log(&self) -> &ChangeLog {
        self.log.get_or_init(ChangeLog::first)
    }

    fn add(&self, attribute: &T, rows: usize) -> Arc<Column> {
        let log = self.log();
        let earlier = self.by_attribute.load();
        let (attribute, column) = match earlier.get_key_value(attribute) {
            Some((attribute, earlier)) => {
                (Arc::clone(attribute), earlier.carried_over(log, attribute.depends_on(), rows))
            }
            None => (Arc::new(attribute.clone()), Column::new(log.version(), rows)),
        };
        let column = Arc::new(column);
        let mut winner = Arc::clone(&column);
        self.by_attribute.rcu(|current| {
            let mut next = ByAttribute::clone(current);
            let known = next.entry(Arc::clone(&attribute)).or_insert_with(|| Arc::clone(&column));
            if known.version != column.version {
                *known = Arc::clone(&column);
            }
            winner = Arc::clone(known);
            self.evict(&mut next, &attribute);
            next
        });
        winner
    }

    /// Drops the least recently used columns while there is too much.
    fn evict(&self, columns: &mut ByAttribute<T>, newest: &T) {
        let mut bytes: usize = columns.iter().map(|(attribute, column)| weight(&**attribute, column)).sum();
        let most = self.max_bytes.load(Ordering::Relaxed);
        if bytes <= most && columns.len() <= MAX_COLUMNS {
            return;
        }
        let used = |column: &Arc<Column>| column.used.load(Ordering::Relaxed);
        let mut last_uses: Vec<_> =
            columns.iter().map(|(attribute, column)| (used(column), Arc::clone(attribute))).collect();
        last_uses.sort_unstable_by_key(|(used, _)| *used);
        // Of columns that are too many, a quarter more goes, so that this is rare.
        for (_, attribute) in last_uses.iter().filter(|(_, attribute)| **attribute != *newest) {
            if bytes <= most && columns.len() <= MAX_COLUMNS / 4 * 3 {
                break;
            }
            bytes -= columns.remove(attribute).map_or(0, |column| weight(&**attribute, &column));
        }
    }
}

/// The bytes of a column with its attribute, whose arguments may have a megabyte.
fn weight<T: Attribute>(attribute: &T, column: &Column) -> usize {
    size_of::<T>() + attribute.heap_size() + column.bytes()
}

impl<T> Default for Columns<T> {
    fn default() -> Self {
        Self {
            by_attribute: ArcSwap::default(),
            max_bytes: DEFAULT_BYTES.into(),
            log: OnceLock::new(),
            has_next: AtomicBool::new(false),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Columns<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_attribute.load().keys()).finish()
    }
}

// === impl Column ===

impl Column {
    fn new(version: Version, rows: usize) -> Self {
        let cells = std::iter::repeat_with(AtomicU64::default).take(rows).collect();
        Self { version, cells, used: AtomicU64::default() }
    }

    /// The fingerprint of a row, where it is known.
    #[inline]
    pub(crate) fn peek(&self, row: Row) -> Option<Fingerprint> {
        Fingerprint::from_bits(self.cells.get(row as usize)?.load(Ordering::Relaxed))
    }

    /// Reads the fingerprint of a row, and of those among the next 15 rows that were not read yet: `next` are the rows
    /// that are asked for next.
    ///
    /// Rows are mostly in no cache of the processor, and to wait for many at once takes as long as to wait for one:
    /// so `prefetch` gets all of them before `read` is called for each.
    pub(crate) fn fill(
        &self,
        row: Row,
        next: impl Iterator<Item = Row>,
        prefetch: impl FnOnce(&[Row]),
        read: impl Fn(Row) -> Fingerprint,
    ) -> Fingerprint {
        let (mut batch, mut length) = ([row; FILL_BATCH], 1);
        for next in next.take(FILL_BATCH - 1).filter(|next| self.is_empty(*next)) {
            batch[length] = next;
            length += 1;
        }
        prefetch(&batch[..length]);
        for next in &batch[1..length] {
            self.cells[*next as usize].store(read(*next).bits(), Ordering::Relaxed);
        }
        let value = read(row);
        if let Some(cell) = self.cells.get(row as usize) {
            cell.store(value.bits(), Ordering::Relaxed);
        }
        value
    }

    /// Whether the fingerprint of a row was not read yet.
    fn is_empty(&self, row: Row) -> bool {
        self.cells.get(row as usize).is_some_and(|cell| cell.load(Ordering::Relaxed) == 0)
    }

    /// The first row that is known to have this fingerprint.
    pub(crate) fn find(&self, value: Fingerprint) -> Option<Row> {
        self.cells.iter().position(|cell| cell.load(Ordering::Relaxed) == value.bits()).map(|at| at as Row)
    }

    fn carried_over(&self, log: &ChangeLog, parts: Parts, rows: usize) -> Self {
        let stale = log.stale_rows(self.version, parts, rows);
        let used = AtomicU64::new(self.used.load(Ordering::Relaxed));
        if stale.is_empty() && self.cells.len() == rows {
            return Self { version: log.version(), cells: Arc::clone(&self.cells), used };
        }
        let cell = |row: usize| self.cells.get(row).map_or(0, |cell| cell.load(Ordering::Relaxed));
        let cells: Arc<[AtomicU64]> = (0..rows).map(|row| AtomicU64::new(cell(row))).collect();
        for row in stale {
            cells[row as usize].store(0, Ordering::Relaxed);
        }
        Self { version: log.version(), cells, used }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.cells)
    }
}
