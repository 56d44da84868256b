//! Kinds of nodes: those that a list of reads cannot tell apart have one number.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use hashbrown::HashMap;

use super::{
    key::Key,
    numbers::Numbers,
    path::Path,
    since::{Basis, Epoch},
};
use crate::{View, aside::aside};

/// Of each slot so many kinds may have been seen, and some, before they are numbered anew.
const KINDS_PER_SLOT: usize = 4;
const SPARE_KINDS: usize = 1_024;

/// So many lists of reads are kept for pods that come next.
const RECENT: usize = 8;

/// Longer lists of reads have an index: to go over them for each read would take the square of their length.
const FEW: usize = 16;

/// Values that are made at once before others, who wait for the thread, are let go on without it: about a millisecond.
const MANY_KEYS: usize = 1 << 16;

/// The kinds of nodes by one list of reads. A number stands for the same values in every cluster.
#[derive(Debug)]
pub(super) struct Kinds {
    paths: Box<[Path]>,
    /// By path its place in `paths`, where they are many.
    places: Option<HashMap<Path, usize, foldhash::fast::RandomState>>,
    basis: Basis,
    numbers: Mutex<Numbers<Key>>,
    column: ArcSwapOption<KindColumn>,
    held: Held,
}

/// The kind of the node at each slot of one picture of the cluster.
#[derive(Debug)]
pub(super) struct KindColumn {
    pub(super) made: Epoch,
    /// Shared with the column of the picture before, where that says the same.
    pub(super) by_slot: Arc<[u32]>,
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

// === impl KindColumn ===

impl KindColumn {
    /// Whether it is known, without a look at each slot, that both say the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.by_slot, &other.by_slot)
    }
}

// === impl Kinds ===

impl Kinds {
    fn new(paths: &[Path], all: &Arc<AtomicUsize>) -> Self {
        let basis = paths.iter().map(Path::basis).fold(Basis::NOTHING, Basis::and);
        let held = Held::new(0, all);
        let places = (paths.len() > FEW).then(|| paths.iter().cloned().zip(0..).collect());
        Self { paths: paths.into(), places, basis, numbers: Mutex::default(), column: ArcSwapOption::empty(), held }
    }

    /// Where a path stands among the reads.
    pub(super) fn position(&self, path: &Path) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(path).copied(),
            None => self.paths.iter().position(|own| own == path),
        }
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
        let slots = view.node_count();
        let known = earlier.map_or(0, |earlier| earlier.by_slot.len().min(slots));
        let changed = earlier.map(|earlier| since.changed(earlier.made, self.basis, known)).unwrap_or_default();
        let changed: Vec<usize> = changed.into_iter().chain(known..slots).collect();
        let many = changed.len() * self.paths.len() > MANY_KEYS;
        let keys = if many { aside(|| self.keys(&view, &changed)) } else { self.keys(&view, &changed) };
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let width = self.paths.len();
        let number = |(at, slot)| (slot, numbers.number(&keys[at * width..(at + 1) * width]));
        let changed: Vec<(usize, u32)> = changed.into_iter().enumerate().map(number).collect();
        let kinds = numbers.len();
        let by_slot = with(earlier.map(|earlier| &earlier.by_slot), slots, &changed);
        self.held.set(size_of::<Self>() + size_of_val(&*by_slot) + numbers.bytes());
        let room = KINDS_PER_SLOT * by_slot.len() + SPARE_KINDS;
        (kinds <= room).then(|| KindColumn { made: since.epoch(), by_slot, kinds })
    }

    /// What each path comes to at each of these slots of a view of all.
    fn keys(&self, view: &View, slots: &[usize]) -> Vec<Key> {
        let columns: Vec<_> = self.paths.iter().map(|path| (path, view.columns().current(path))).collect();
        let mut keys = Vec::with_capacity(slots.len() * columns.len());
        for slot in slots {
            let slot = *slot as u32;
            keys.extend(columns.iter().map(|(path, column)| {
                column.as_ref().and_then(|column| column.peek(slot)).unwrap_or_else(|| path.key(view, slot))
            }));
        }
        keys
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

/// Kinds by slot with those that have changed; mostly none has.
fn with(earlier: Option<&Arc<[u32]>>, slots: usize, changed: &[(usize, u32)]) -> Arc<[u32]> {
    let same =
        |earlier: &&Arc<[u32]>| earlier.len() == slots && changed.iter().all(|(slot, kind)| earlier[*slot] == *kind);
    if let Some(earlier) = earlier.filter(same) {
        return Arc::clone(earlier);
    }
    let mut by_slot = earlier.map_or_else(Vec::new, |earlier| earlier.to_vec());
    by_slot.resize(slots, 0);
    for (slot, kind) in changed {
        by_slot[*slot] = *kind;
    }
    by_slot.into()
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

    /// Pods that come next are likely to be read about in the same way: where these reads were made before, the
    /// nodes have their kinds before the next pod comes.
    pub(super) fn expect(&self, paths: &[Path], view: &View) {
        let before = self.lists.load_full();
        let kinds = self.by(paths);
        if before.iter().any(|known| Arc::ptr_eq(known, &kinds)) && kinds.column(view).is_none() {
            self.anew(&kinds);
        }
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

    /// Lets go of all.
    pub(super) fn forget(&self) {
        self.lists.store(Arc::default());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Cluster, Node, NodeRead, Read, trace::path::Scope};

    fn view_of_zones(zones: &[&str]) -> View {
        let node = |(at, zone): (usize, &&str)| {
            let json = json!({"metadata": {"name": format!("n{at}"), "labels": {"zone": zone}}});
            Node::from_json(json.to_string().into()).unwrap()
        };
        let cluster = Cluster::from_objects(zones.iter().enumerate().map(node).collect(), vec![]);
        View::new(Arc::default(), Arc::new(cluster), (0..zones.len() as u32).collect(), 0)
    }

    fn label(key: &str) -> Path {
        let Scope::Node(_, path) = Scope::of(&Read::Node(0, NodeRead::Label(key))) else { unreachable!() };
        path.to_path()
    }

    #[test]
    fn kinds_are_there_ahead_once_nodes_were_read_in_the_same_way_before() {
        let (view, recent) = (view_of_zones(&["a", "b", "a"]), RecentKinds::default());
        for (reads, is_ahead) in [("zone", false), ("rack", false), ("zone", true), ("rack", true)] {
            recent.expect(&[label(reads)], &view);
            let column = recent.latest().and_then(|kinds| kinds.likely_column(&view));
            assert_eq!(column.is_some(), is_ahead, "{reads}");
        }
        let kinds = recent.by(&[label("zone")]).column(&view).unwrap();
        assert_eq!((kinds.by_slot[0], kinds.by_slot[0] == kinds.by_slot[1]), (kinds.by_slot[2], false));
    }
}
