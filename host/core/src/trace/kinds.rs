//! Kinds of nodes: those that a list of reads cannot tell apart have one number.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::{
    key::Key,
    numbers::Numbers,
    path::Path,
    since::{Basis, Epoch},
};
use crate::View;

/// Of each slot so many kinds may have been seen, and some, before they are numbered anew.
const KINDS_PER_SLOT: usize = 4;
const SPARE_KINDS: usize = 1_024;

/// So many lists of reads are kept for pods that come next.
const RECENT: usize = 8;

/// The kinds of nodes by one list of reads. A number stands for the same values in every cluster.
#[derive(Debug)]
pub(super) struct Kinds {
    paths: Box<[Path]>,
    basis: Basis,
    numbers: Mutex<Numbers<Key>>,
    column: ArcSwapOption<KindColumn>,
    held: Held,
}

/// The kind of the node at each slot of one picture of the cluster.
#[derive(Debug)]
pub(super) struct KindColumn {
    pub(super) made: Epoch,
    pub(super) by_slot: Box<[u32]>,
    /// Every kind is below.
    pub(super) kinds: usize,
}

/// The lists of reads that one policy made last.
#[derive(Debug, Default)]
pub(super) struct RecentKinds {
    lists: ArcSwap<Vec<Arc<Kinds>>>,
    bytes: Arc<AtomicUsize>,
}

/// Bytes that are counted with those of others until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    bytes: AtomicUsize,
    all: Arc<AtomicUsize>,
}

// === impl Kinds ===

impl Kinds {
    fn new(paths: &[Path], all: &Arc<AtomicUsize>) -> Self {
        let basis = paths.iter().map(Path::basis).fold(Basis::NOTHING, Basis::and);
        let held = Held::new(0, all);
        Self { paths: paths.into(), basis, numbers: Mutex::default(), column: ArcSwapOption::empty(), held }
    }

    /// Where a path stands among the reads.
    pub(super) fn position(&self, path: &Path) -> Option<usize> {
        self.paths.iter().position(|own| own == path)
    }

    /// The kinds of the slots of a view's cluster; none once too many kinds have been seen.
    pub(super) fn column(&self, view: &View) -> Option<Arc<KindColumn>> {
        let known = self.column.load_full();
        match known {
            Some(column) if column.made == view.epoch() => Some(column),
            earlier => {
                let column = Arc::new(self.make(view, earlier.as_deref())?);
                self.column.store(Some(Arc::clone(&column)));
                Some(column)
            }
        }
    }

    /// The same, where it costs little since the picture before had it.
    pub(super) fn likely_column(&self, view: &View) -> Option<Arc<KindColumn>> {
        if self.column.load().is_some() { self.column(view) } else { None }
    }

    fn make(&self, view: &View, earlier: Option<&KindColumn>) -> Option<KindColumn> {
        let (view, since) = (view.of_all_slots(), view.columns().since());
        let columns: Vec<_> = self.paths.iter().map(|path| (path, view.columns().current(path))).collect();
        let slots = view.node_count();
        let (mut by_slot, changed) = match earlier {
            Some(earlier) => {
                let (known, by_slot) = (earlier.by_slot.len().min(slots), earlier.by_slot.to_vec());
                let changed = since.changed(earlier.made, self.basis, known).into_iter();
                (by_slot, changed.chain(known..slots).collect())
            }
            None => (Vec::new(), (0..slots).collect::<Vec<_>>()),
        };
        by_slot.resize(slots, 0);
        let mut keys = Vec::with_capacity(changed.len() * columns.len());
        for slot in &changed {
            let slot = *slot as u32;
            keys.extend(columns.iter().map(|(path, column)| {
                column.as_ref().and_then(|column| column.peek(slot)).unwrap_or_else(|| path.key(&view, slot))
            }));
        }
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, slot) in changed.into_iter().enumerate() {
            let width = self.paths.len();
            by_slot[slot] = numbers.number(&keys[at * width..(at + 1) * width]);
        }
        let kinds = numbers.len();
        self.held.set(size_of::<Self>() + size_of_val(&*by_slot) + numbers.bytes());
        let room = KINDS_PER_SLOT * by_slot.len() + SPARE_KINDS;
        (kinds <= room).then(|| KindColumn { made: since.epoch(), by_slot: by_slot.into(), kinds })
    }

    /// Counts bytes with its own.
    pub(super) fn hold(&self, bytes: usize) -> Held {
        Held::new(bytes, &self.held.all)
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.held.bytes()
    }

    /// Goes over the keys of the kinds from a number on, in the order of the paths.
    pub(super) fn for_each_from(&self, first: usize, mut each: impl FnMut(&[Key])) {
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        (first..numbers.len()).for_each(|kind| each(numbers.keys(kind, self.paths.len())));
    }
}

// === impl RecentKinds ===

impl RecentKinds {
    /// The kinds by these reads, or by a few more.
    pub(super) fn by(&self, paths: &[Path]) -> Arc<Kinds> {
        let lists = self.lists.load();
        let serves = |kinds: &&Arc<Kinds>| {
            kinds.paths.len() <= 2 * paths.len() && paths.iter().all(|path| kinds.position(path).is_some())
        };
        let kinds = lists.iter().find(serves).cloned().unwrap_or_else(|| Arc::new(Kinds::new(paths, &self.bytes)));
        if lists.first().is_none_or(|first| !Arc::ptr_eq(first, &kinds)) {
            let others = lists.iter().filter(|other| !Arc::ptr_eq(other, &kinds)).take(RECENT - 1);
            self.lists.store(Arc::new([&kinds].into_iter().chain(others).cloned().collect()));
        }
        kinds
    }

    /// Kinds by these reads that nobody else has numbered.
    pub(super) fn anew(&self, crowded: &Kinds) -> Arc<Kinds> {
        let lists = self.lists.load();
        let others = lists.iter().filter(|other| other.paths != crowded.paths).cloned();
        self.lists.store(Arc::new(others.collect()));
        self.by(&crowded.paths)
    }

    /// The kinds by which the last pods were answered.
    pub(super) fn latest(&self) -> Option<Arc<Kinds>> {
        self.lists.load().first().cloned()
    }

    /// Bytes of all that are in use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

// === impl Held ===

impl Held {
    fn new(bytes: usize, all: &Arc<AtomicUsize>) -> Self {
        let held = Self { bytes: AtomicUsize::new(0), all: Arc::clone(all) };
        held.set(bytes);
        held
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn set(&self, bytes: usize) {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        self.all.fetch_add(bytes, Ordering::Relaxed);
        self.all.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}
