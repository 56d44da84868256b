//! Columns of a cluster: what one path comes to at each slot, filled in as it is first needed.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;
use hashbrown::HashMap;

use super::{key::Key, path::Path};
use crate::{Slot, View};

/// A column that no request has asked for through so many pictures of the cluster is let go.
const MAX_IDLE: u32 = 1_000;

/// What all columns of a cluster may come to unless the gateway says otherwise.
const DEFAULT_BYTES: usize = 64 << 20;

/// The columns of one picture of the cluster.
pub(crate) struct Columns {
    by_path: ArcSwap<ByPath>,
    max_bytes: AtomicUsize,
}

type ByPath = HashMap<Path, Arc<Column>, foldhash::fast::RandomState>;

/// Keys by slot. A cell is written with one value alone, whoever writes it, so no order is needed.
pub(crate) struct Column {
    cells: Box<[AtomicU64]>,
    used: AtomicU64,
    idle: AtomicU32,
}

// === impl Columns ===

impl Columns {
    /// The column of a path, made if it is the first to be asked for.
    pub(crate) fn get(&self, path: &Path, slots: usize) -> Arc<Column> {
        let column = self.by_path.load().get(path).cloned();
        let column = column.unwrap_or_else(|| self.add(path, slots));
        column.used.store(super::tick(), Ordering::Relaxed);
        column.idle.store(0, Ordering::Relaxed);
        column
    }

    /// The column of a path, if it was ever asked for.
    pub(crate) fn known(&self, path: &Path) -> Option<Arc<Column>> {
        self.by_path.load().get(path).cloned()
    }

    fn add(&self, path: &Path, slots: usize) -> Arc<Column> {
        let column = Arc::new(Column::new(slots));
        let mut winner = Arc::clone(&column);
        self.by_path.rcu(|current| {
            let mut next = ByPath::clone(current);
            winner = Arc::clone(next.entry(path.clone()).or_insert_with(|| Arc::clone(&column)));
            self.keep_within(&mut next, path);
            next
        });
        winner
    }

    /// Lets go of the columns that were not used for the longest.
    fn keep_within(&self, columns: &mut ByPath, newest: &Path) {
        let mut bytes: usize = columns.values().map(|column| column.bytes()).sum();
        while bytes > self.max_bytes.load(Ordering::Relaxed) {
            let others = columns.iter().filter(|(path, _)| *path != newest);
            let oldest = others.min_by_key(|(_, column)| column.used.load(Ordering::Relaxed));
            let Some(path) = oldest.map(|(path, _)| path.clone()) else { break };
            bytes -= columns.remove(&path).map_or(0, |column| column.bytes());
        }
    }

    /// Bounds the bytes of all columns.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.max_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Takes over the columns of the picture before: where a slot has the same records, its cells are the same.
    pub(crate) fn carry(&self, earlier: &Self, before: &[Slot], after: &[Slot]) {
        let same: Vec<Same> = after.iter().enumerate().map(|(at, slot)| Same::of(before.get(at), slot)).collect();
        let by_path = earlier.by_path.load();
        let alive = by_path.iter().filter(|(_, column)| column.idle.fetch_add(1, Ordering::Relaxed) < MAX_IDLE);
        let carried = alive.map(|(path, column)| (path.clone(), Arc::new(column.carried(path, &same)))).collect();
        self.by_path.store(Arc::new(carried));
    }

    /// Bytes of all columns.
    pub(crate) fn bytes(&self) -> usize {
        self.by_path.load().values().map(|column| column.bytes()).sum()
    }
}

impl Default for Columns {
    fn default() -> Self {
        Self { by_path: ArcSwap::default(), max_bytes: DEFAULT_BYTES.into() }
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_path.load().keys().map(ToString::to_string)).finish()
    }
}

/// What of a slot is as it was.
#[derive(Debug, Clone, Copy)]
struct Same {
    node: bool,
    placed: bool,
}

// === impl Same ===

impl Same {
    fn of(before: Option<&Slot>, after: &Slot) -> Self {
        let Some(before) = before else { return Self { node: false, placed: false } };
        let placed = |slot: &Slot| slot.placed.as_ref().map(|placed| placed.stamp());
        Self { node: before.node.stamp() == after.node.stamp(), placed: placed(before) == placed(after) }
    }
}

// === impl Column ===

impl Column {
    fn new(slots: usize) -> Self {
        Self {
            cells: std::iter::repeat_with(AtomicU64::default).take(slots).collect(),
            used: AtomicU64::default(),
            idle: AtomicU32::default(),
        }
    }

    /// The key at a slot, where it is known.
    #[inline]
    pub(super) fn peek(&self, slot: u32) -> Option<Key> {
        Key::from_bits(self.cells.get(slot as usize)?.load(Ordering::Relaxed))
    }

    /// The key at a slot, which is the slot of this node of the view.
    pub(super) fn fill(&self, path: &Path, view: &View, node: u32, slot: u32) -> Key {
        let key = path.key(view, node);
        if let Some(cell) = self.cells.get(slot as usize) {
            cell.store(key.bits(), Ordering::Relaxed);
        }
        key
    }

    /// Every key that is known.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.cells.iter().filter_map(|cell| Key::from_bits(cell.load(Ordering::Relaxed)))
    }

    /// By slot the key, where it is known.
    pub(super) fn keys_by_slot(&self) -> impl Iterator<Item = Option<Key>> {
        self.cells.iter().map(|cell| Key::from_bits(cell.load(Ordering::Relaxed)))
    }

    fn carried(&self, path: &Path, same: &[Same]) -> Self {
        let is_same = |same: &Same| if path.is_of_pods() { same.placed } else { same.node };
        let cell = |(at, same): (usize, &Same)| {
            let kept = self.cells.get(at).filter(|_| is_same(same));
            AtomicU64::new(kept.map_or(0, |cell| cell.load(Ordering::Relaxed)))
        };
        Self {
            cells: same.iter().enumerate().map(cell).collect(),
            used: AtomicU64::new(self.used.load(Ordering::Relaxed)),
            idle: AtomicU32::new(self.idle.load(Ordering::Relaxed)),
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.cells)
    }
}
