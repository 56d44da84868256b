//! Columns of a cluster: what one path comes to at each slot, filled in as it is first needed.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;
use hashbrown::HashMap;

use super::{
    key::Key,
    path::Path,
    since::{Basis, Epoch, Since},
};
use crate::{Slots, View};

/// What all columns of a cluster may come to unless the gateway says otherwise.
const DEFAULT_BYTES: usize = 64 << 20;

/// The most columns, whatever their size.
const MAX_COLUMNS: usize = 512;

/// The keys of so many neighbours are made at once.
const STRETCH: u32 = 16;

/// The columns of one picture of the cluster.
pub(crate) struct Columns {
    /// They may be of earlier pictures: what holds of those is taken over when they are next asked for.
    by_path: ArcSwap<ByPath>,
    max_bytes: AtomicUsize,
    since: OnceLock<Since>,
    /// Whether another picture follows this one.
    has_next: AtomicBool,
}

type ByPath = HashMap<Arc<Path>, Arc<Column>, foldhash::fast::RandomState>;

/// Keys by slot. A cell is written with one value alone, whoever writes it, so no order is needed.
pub(crate) struct Column {
    made: Epoch,
    /// Shared with the column of the picture before, where nothing that it is read of has changed since.
    cells: Arc<[AtomicU64]>,
    used: AtomicU64,
}

// === impl Columns ===

impl Columns {
    /// The column of a path, made if it is the first to be asked for.
    pub(crate) fn get(&self, path: &Path, slots: usize) -> Arc<Column> {
        let column = self.current(path).unwrap_or_else(|| self.add(path, slots));
        column.used.store(super::tick(), Ordering::Relaxed);
        column
    }

    /// The column of a path, if it was ever asked for.
    pub(crate) fn known(&self, path: &Path, slots: usize) -> Option<Arc<Column>> {
        self.by_path.load().contains_key(path).then(|| self.get(path, slots))
    }

    /// The column of a path, if it was asked for in this picture.
    pub(super) fn current(&self, path: &Path) -> Option<Arc<Column>> {
        self.by_path.load().get(path).filter(|column| column.made == self.epoch()).cloned()
    }

    /// The picture that they are of.
    pub(crate) fn epoch(&self) -> Epoch {
        self.since().epoch()
    }

    pub(super) fn since(&self) -> &Since {
        self.since.get_or_init(Since::first)
    }

    fn add(&self, path: &Path, slots: usize) -> Arc<Column> {
        let since = self.since();
        let earlier =
            self.by_path.load().get_key_value(path).map(|(path, column)| (Arc::clone(path), Arc::clone(column)));
        let (path, column) = match earlier {
            Some((path, earlier)) => {
                let column = earlier.carried(since, path.basis(), slots);
                (path, column)
            }
            None => (Arc::new(path.clone()), Column::new(since.epoch(), slots)),
        };
        let column = Arc::new(column);
        let mut winner = Arc::clone(&column);
        self.by_path.rcu(|current| {
            let mut next = ByPath::clone(current);
            let known = next.entry(Arc::clone(&path)).or_insert_with(|| Arc::clone(&column));
            if known.made != column.made {
                *known = Arc::clone(&column);
            }
            winner = Arc::clone(known);
            self.keep_within(&mut next, &path);
            next
        });
        winner
    }

    /// Lets go of the columns that were not used for the longest.
    fn keep_within(&self, columns: &mut ByPath, newest: &Path) {
        let mut bytes: usize = columns.values().map(|column| column.bytes()).sum();
        let most = self.max_bytes.load(Ordering::Relaxed);
        if bytes <= most && columns.len() <= MAX_COLUMNS {
            return;
        }
        let used = |column: &Arc<Column>| column.used.load(Ordering::Relaxed);
        let mut ages: Vec<_> = columns.iter().map(|(path, column)| (used(column), Arc::clone(path))).collect();
        ages.sort_unstable_by_key(|(used, _)| *used);
        // A quarter more than needed, so that this is rare.
        for (_, path) in ages.iter().filter(|(_, path)| **path != *newest) {
            if bytes <= most && columns.len() <= MAX_COLUMNS / 4 * 3 {
                break;
            }
            bytes -= columns.remove(path).map_or(0, |column| column.bytes());
        }
    }

    /// Bounds the bytes of all columns.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.max_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Follows another picture: what holds of its columns is taken over.
    ///
    /// Of several that would follow one picture only the first does, and none that was used before.
    pub(crate) fn follow(&self, earlier: &Self, before: &Slots, after: &Slots) {
        if earlier.has_next.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.since.set(earlier.since().next(before, after)).is_ok() {
            self.by_path.store(earlier.by_path.load_full());
        }
    }

    /// Bytes of all columns.
    pub(crate) fn bytes(&self) -> usize {
        self.by_path.load().values().map(|column| column.bytes()).sum()
    }
}

impl Default for Columns {
    fn default() -> Self {
        Self {
            by_path: ArcSwap::default(),
            max_bytes: DEFAULT_BYTES.into(),
            since: OnceLock::new(),
            has_next: AtomicBool::new(false),
        }
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_path.load().keys().map(ToString::to_string)).finish()
    }
}

// === impl Column ===

impl Column {
    fn new(made: Epoch, slots: usize) -> Self {
        let cells = std::iter::repeat_with(AtomicU64::default).take(slots).collect();
        Self { made, cells, used: AtomicU64::default() }
    }

    /// The key at a slot, where it is known.
    #[inline]
    pub(super) fn peek(&self, slot: u32) -> Option<Key> {
        Key::from_bits(self.cells.get(slot as usize)?.load(Ordering::Relaxed))
    }

    /// The key at the slot of a node of the view, made with those of its neighbours: whoever asks about one will ask
    /// about them.
    ///
    /// Records of nodes are mostly in no cache, and to wait for many at once takes as long as to wait for one.
    pub(super) fn fill(&self, path: &Path, view: &View, node: u32) -> Key {
        let first = node - node % STRETCH;
        let stretch = first..(first + STRETCH).min(view.node_count() as u32);
        path.fetch(view, stretch.clone());
        for neighbour in stretch.filter(|neighbour| *neighbour != node) {
            let cell = self.cell(view, neighbour);
            if cell.is_some_and(|cell| cell.load(Ordering::Relaxed) == 0) {
                self.put(view, neighbour, path.key(view, neighbour));
            }
        }
        let key = path.key(view, node);
        self.put(view, node, key);
        key
    }

    fn put(&self, view: &View, node: u32, key: Key) {
        if let Some(cell) = self.cell(view, node) {
            cell.store(key.bits(), Ordering::Relaxed);
        }
    }

    fn cell(&self, view: &View, node: u32) -> Option<&AtomicU64> {
        self.cells.get(*view.slots().get(node as usize)? as usize)
    }

    /// By slot the key, where it is known.
    pub(super) fn keys_by_slot(&self) -> impl Iterator<Item = Option<Key>> {
        self.cells.iter().map(|cell| Key::from_bits(cell.load(Ordering::Relaxed)))
    }

    fn carried(&self, since: &Since, basis: Basis, slots: usize) -> Self {
        let changed = since.changed(self.made, basis, slots);
        let used = AtomicU64::new(self.used.load(Ordering::Relaxed));
        if changed.is_empty() && self.cells.len() == slots {
            return Self { made: since.epoch(), cells: Arc::clone(&self.cells), used };
        }
        let cell = |slot: usize| self.cells.get(slot).map_or(0, |cell| cell.load(Ordering::Relaxed));
        let cells: Arc<[AtomicU64]> = (0..slots).map(|slot| AtomicU64::new(cell(slot))).collect();
        for slot in changed {
            cells[slot].store(0, Ordering::Relaxed);
        }
        Self { made: since.epoch(), cells, used }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.cells)
    }
}
