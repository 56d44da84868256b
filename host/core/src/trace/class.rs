//! Pods that a policy cannot tell apart, and its answers to them by kind of node.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwapOption;
use hashbrown::{HashMap, HashSet};

use super::{
    answers::Remember,
    column::Column,
    key::Key,
    kinds::{Held, KindColumn, Kinds, RecentKinds},
    path::Path,
    remembered::{Lesson, Off},
    tick,
    trie::{Conflict, Trie},
};
use crate::{Shown, View};

/// The number of no answer.
pub(super) const MISS: u32 = u32::MAX;

/// A read may have led to twice as many values as there are slots, and some, before those that no slot has go.
const SPARE_EDGES: usize = 64;

/// Different reads of nodes that answers to the pods of one class may depend on; a policy beyond it is asked each time.
///
/// A table is as wide as these are many, for each node, and is worked out before the guest is asked.
pub(super) const MAX_PATHS: usize = 256;

/// What is known of the answers to some pods.
#[derive(Debug)]
pub(crate) struct Class<A> {
    pub(super) paths: Vec<Path>,
    pub(super) trie: Trie<A>,
    /// The values of what was read of the pod and the time, for people.
    pub(super) of: Box<[Shown]>,
    /// For these pods it read more than one node: it is asked each time.
    pub(super) each_time: bool,
    used: AtomicU64,
    bytes: usize,
    /// Made when the class is first walked: pods that come once need none.
    settled: ArcSwapOption<Settled>,
}

/// The trie as a table over kinds of nodes.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) kinds: Arc<Kinds>,
    /// Where each path stands among the reads of the kinds.
    positions: Box<[usize]>,
    /// By kind the number of the answer.
    pub(super) answers: Box<[u32]>,
    held: Held,
}

/// The nodes of a view that share an answer, as far as it is known.
pub(super) struct Walk {
    /// By node the number of its answer.
    pub(super) which: Vec<u32>,
    /// The nodes that have none.
    pub(super) misses: Vec<u32>,
}

// === impl Class ===

impl<A: Clone + PartialEq> Class<A> {
    pub(super) fn answers(&self) -> &[A] {
        self.trie.answers()
    }
}

impl<A: Remember> Class<A> {
    pub(super) fn of(request: &[Path], view: &View, each_time: bool) -> Self {
        let of = request.iter().map(|path| path.shown(view, 0)).collect();
        let (paths, trie, settled) = (Vec::new(), Trie::default(), ArcSwapOption::empty());
        Self { paths, trie, of, each_time, used: AtomicU64::new(tick()), bytes: size_of::<Self>(), settled }
    }

    /// The same with what a call has taught.
    pub(super) fn with(&self, lesson: &Lesson<A>) -> Result<Self, Off> {
        let (mut paths, mut trie) = (self.paths.clone(), self.trie.clone());
        let numbers: Vec<u32> = lesson.paths.iter().map(|path| number(&mut paths, path)).collect();
        if paths.len() > MAX_PATHS {
            return Err(Off::TooManyReads);
        }
        for (mut trace, answer) in lesson.trie.traces() {
            for (path, _) in &mut trace {
                *path = numbers[*path as usize];
            }
            trie.insert(&trace, answer.clone()).map_err(|Conflict| Off::NotAFunction)?;
        }
        let trie = without_stale(trie, &paths, &lesson.view);
        let answers: usize = trie.answers().iter().map(Remember::heap).sum();
        let texts: usize = paths.iter().map(|path| size_of::<Path>() + path.heap()).sum();
        let of: usize = self.of.iter().map(|value| size_of::<Shown>() + value.heap()).sum();
        let bytes = size_of::<Self>() + trie.bytes() + answers + texts + of;
        let (used, settled) = (AtomicU64::new(tick()), ArcSwapOption::empty());
        Ok(Self { paths, trie, of: self.of.clone(), each_time: false, used, bytes, settled })
    }

    /// Finds the answers about the nodes at these slots of the view's cluster.
    pub(super) fn walk(&self, recent: &RecentKinds, view: &View, slots: impl Iterator<Item = u32>) -> Walk {
        let Some((settled, column)) = self.settle(recent, view) else { return self.walk_trie(view, slots) };
        Walk::by(slots, |slot| settled.answers[column.by_slot[slot as usize] as usize])
    }

    /// One node after another, where kinds would be too many.
    fn walk_trie(&self, view: &View, slots: impl Iterator<Item = u32>) -> Walk {
        let view = view.of_all_slots();
        let columns: Vec<Arc<Column>> = self.paths.iter().map(|path| view.column(path)).collect();
        Walk::by(slots, |slot| {
            let read = |path: u32| key(&columns[path as usize], &self.paths[path as usize], &view, slot, slot);
            self.trie.walk(read).unwrap_or(MISS)
        })
    }

    /// The answers by kind of node, with the kinds of the view's cluster.
    pub(super) fn settle(&self, recent: &RecentKinds, view: &View) -> Option<(Arc<Settled>, Arc<KindColumn>)> {
        let settled = self.settled.load_full();
        let mut settled = settled.unwrap_or_else(|| Arc::new(Settled::new(recent.by(&self.paths), &self.paths)));
        let column = if let Some(column) = settled.kinds.column(view) {
            column
        } else {
            settled = Arc::new(Settled::new(recent.anew(&settled.kinds), &self.paths));
            settled.kinds.column(view)?
        };
        if settled.answers.len() < column.kinds {
            settled = Arc::new(settled.with_every_kind(&self.trie));
            self.settled.store(Some(Arc::clone(&settled)));
        }
        Some((settled, column))
    }

    /// The kinds of nodes that it is settled by.
    pub(super) fn kinds(&self) -> Option<Arc<Kinds>> {
        self.settled.load().as_ref().map(|settled| Arc::clone(&settled.kinds))
    }

    /// It was used just now.
    pub(super) fn touch(&self) {
        self.used.store(tick(), Ordering::Relaxed);
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes of what it was made with.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that are free once it is gone: also those of its table, and its share of the kinds.
    pub(super) fn weight(&self) -> usize {
        let settled = self.settled.load();
        let table =
            |settled: &Arc<Settled>| settled.held.bytes() + settled.kinds.bytes() / Arc::strong_count(&settled.kinds);
        self.bytes + settled.as_ref().map_or(0, table)
    }
}

// === impl Settled ===

impl Settled {
    fn new(kinds: Arc<Kinds>, paths: &[Path]) -> Self {
        let positions = paths.iter().filter_map(|path| kinds.position(path)).collect();
        let held = kinds.hold(0);
        Self { kinds, positions, answers: Box::default(), held }
    }

    fn with_every_kind<A: Remember>(&self, trie: &Trie<A>) -> Self {
        let mut answers = self.answers.to_vec();
        self.kinds.for_each_from(answers.len(), |keys| {
            answers.push(trie.walk(|path| keys[self.positions[path as usize]]).unwrap_or(MISS));
        });
        let held = self.kinds.hold(size_of::<Self>() + size_of_val(&*answers));
        Self { kinds: Arc::clone(&self.kinds), positions: self.positions.clone(), answers: answers.into(), held }
    }
}

// === impl Walk ===

impl Walk {
    /// Nothing is known.
    pub(super) fn blank(nodes: usize) -> Self {
        Self { which: vec![MISS; nodes], misses: (0..nodes as u32).collect() }
    }

    fn by(slots: impl Iterator<Item = u32>, answer: impl Fn(u32) -> u32) -> Self {
        let mut is_missed = false;
        let which: Vec<u32> = slots.map(answer).inspect(|which| is_missed |= *which == MISS).collect();
        let unanswered = |(at, which): (usize, &u32)| (*which == MISS).then_some(at as u32);
        let misses = if is_missed { which.iter().enumerate().filter_map(unanswered).collect() } else { Vec::new() };
        Self { which, misses }
    }
}

/// The key of a path at a slot, which is the slot of this node of the view.
#[inline]
pub(super) fn key(column: &Column, path: &Path, view: &View, node: u32, slot: u32) -> Key {
    column.peek(slot).unwrap_or_else(|| column.fill(path, view, node))
}

/// The number of a path in the list, which is not long, and where it is put if it is new.
fn number(paths: &mut Vec<Path>, path: &Path) -> u32 {
    let known = paths.iter().position(|own| own == path);
    known.unwrap_or_else(|| {
        paths.push(path.clone());
        paths.len() - 1
    }) as u32
}

/// Drops values that no slot has any more, once there are many of them.
fn without_stale<A: Remember>(trie: Trie<A>, paths: &[Path], view: &View) -> Trie<A> {
    let wide = trie.wide_paths(2 * view.slot_count() + SPARE_EDGES);
    if wide.is_empty() {
        return trie;
    }
    let view = view.of_all_slots();
    let present = |number: &u32| {
        let path = &paths[*number as usize];
        let column = view.column(path);
        (*number, view.slots().iter().map(|slot| key(&column, path, &view, *slot, *slot)).collect())
    };
    let present: HashMap<u32, HashSet<Key>> = wide.iter().map(present).collect();
    trie.retained(|path, key| present.get(&path).is_none_or(|keys| keys.contains(&key)))
}
