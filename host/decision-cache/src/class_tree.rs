//! The classes of subjects: a tree whose inner nodes are attributes of the subject.
//!
//! A function may read `subject.annotation(subject.label("team"))`: which attribute comes next depends on the values so
//! far. So each node names one attribute, and each value leads to a node or a class of its own. The edges of all nodes
//! are in one map, by the number of their node and their value.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use hashbrown::HashMap;

use crate::{
    attribute::Row,
    class::Answer,
    edge::{ClassOf, Classes, Edge, EdgeKey, EdgesOf, Next, Node},
    memory::tick,
    read_log::MAX_SUBJECT_ATTRIBUTES,
    source::Source,
};

/// Whoever adds an edge copies the shard that it belongs to, not all of them.
const SHARDS: usize = 1 << SHARD_BITS;
const SHARD_BITS: u32 = 8;

/// The most edges.
const MAX_EDGES: usize = 8_192;

/// Readers take what is published; there is one writer at a time.
pub(crate) struct ClassTree<S: Source, A> {
    root: ArcSwapOption<Edge<S, A>>,
    shards: Box<[ArcSwap<Shard<S, A>>]>,
    count: AtomicUsize,
    bytes: AtomicUsize,
}

type Shard<S, A> = HashMap<EdgeKey, Arc<Edge<S, A>>, foldhash::fast::RandomState>;

/// A subject's way through the tree, as far as it goes.
struct Way<S: Source, A> {
    /// The edge that is the last; none: the root.
    last: Option<EdgeKey>,
    attributes: Vec<S::Attribute>,
    class: Option<Arc<ClassOf<S, A>>>,
}

/// More attributes of a subject are read than a way may have.
#[derive(Debug)]
pub(crate) struct TooLong;

// === impl ClassTree ===

impl<S: Source, A: Answer> ClassTree<S, A> {
    /// The class of a source's subject.
    pub(crate) fn get(&self, source: &S) -> Option<Arc<ClassOf<S, A>>> {
        // All edges of a way get the same time, so that none is evicted before those that follow it.
        let now = tick();
        let mut next = self.root.load().as_ref()?.follow(now);
        loop {
            next = match next {
                Next::Class(class) => return Some(class),
                Next::Node(node) => self.follow(&(node.number, source.shared(&node.attribute)), now)?,
            };
        }
    }

    /// Replaces the class of a source's subject by what `change` makes of it and of all attributes of the subject, these
    /// included.
    ///
    /// A class that was made without one of them is dropped first: its answers may depend on the attribute's value.
    pub(crate) fn update<E: From<TooLong>>(
        &self,
        source: &S,
        attributes: &[S::Attribute],
        change: impl FnOnce(Option<&ClassOf<S, A>>, Vec<S::Attribute>) -> Result<Option<ClassOf<S, A>>, E>,
    ) -> Result<(), E> {
        let way = self.way(source);
        let new: Vec<_> = attributes.iter().filter(|attribute| !way.attributes.contains(attribute)).cloned().collect();
        if way.attributes.len() + new.len() > MAX_SUBJECT_ATTRIBUTES {
            return Err(TooLong.into());
        }
        let known = way.class.as_deref().filter(|_| new.is_empty());
        let of_class = way.attributes.iter().chain(&new).cloned().collect();
        let Some(class) = change(known, of_class)? else { return Ok(()) };
        let mut next = Next::Class(Arc::new(class));
        // From the class up: whoever looks it up meanwhile finds all of the way or none of it.
        for attribute in new.into_iter().rev() {
            let node = Node { number: tick(), attribute };
            let key = (node.number, source.shared(&node.attribute));
            self.put_edge(source, key, &node.attribute, next);
            next = Next::Node(Arc::new(node));
        }
        match (way.last, way.attributes.last()) {
            (Some(key), Some(attribute)) => self.put_edge(source, key, attribute, next),
            _ => self.put_root(next),
        }
        if self.count.load(Ordering::Relaxed) > MAX_EDGES {
            self.evict_older_half();
        }
        Ok(())
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        self.evict_before(u64::MAX);
    }

    /// Drops the edges that were not used since.
    pub(crate) fn evict_before(&self, since: u64) {
        let is_old = |edge: &Arc<Edge<S, A>>| edge.used() < since;
        if self.root.load().as_ref().is_some_and(is_old) {
            self.count_out(self.root.swap(None).as_ref());
        }
        for shard in &self.shards {
            let current = shard.load();
            if !current.values().any(is_old) {
                continue;
            }
            let mut next = Shard::clone(&current);
            next.extract_if(|_, edge| is_old(edge)).for_each(|(_, edge)| self.count_out(Some(&edge)));
            shard.store(Arc::new(next));
        }
    }

    /// When each edge was last used, and the bytes that are free once it is gone.
    pub(crate) fn ages(&self) -> Vec<(u64, usize)> {
        let age = |edge: &Arc<Edge<S, A>>| (edge.used(), edge.weight());
        let mut ages: Vec<_> = self.root.load().iter().map(age).collect();
        self.shards.iter().for_each(|shard| ages.extend(shard.load().values().map(age)));
        ages
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All classes by value.
    pub(crate) fn classes(&self) -> Option<Classes<S, A>> {
        let mut edges: EdgesOf<S, A> = HashMap::new();
        for shard in &self.shards {
            for ((node, value), edge) in shard.load().iter() {
                edges.entry(*node).or_default().push((*value, Arc::clone(edge)));
            }
        }
        Some(self.root.load().as_ref()?.next.classes(&edges))
    }

    /// The way of a source's subject.
    fn way(&self, source: &S) -> Way<S, A> {
        let mut way = Way { last: None, attributes: Vec::new(), class: None };
        let now = tick();
        let mut next = self.root.load().as_ref().map(|root| root.follow(now));
        while let Some(known) = next {
            match known {
                Next::Class(class) => {
                    way.class = Some(class);
                    break;
                }
                Next::Node(node) => {
                    let key = (node.number, source.shared(&node.attribute));
                    next = self.follow(&key, now);
                    way.last = Some(key);
                    way.attributes.push(node.attribute.clone());
                }
            }
        }
        way
    }

    #[inline]
    fn follow(&self, key: &EdgeKey, now: u64) -> Option<Next<S, A>> {
        self.shard(key).load().get(key).map(|edge| edge.follow(now))
    }

    fn put_edge(&self, source: &S, key: EdgeKey, attribute: &S::Attribute, next: Next<S, A>) {
        // It is an attribute of the subject: the row does not matter.
        const NO_ROW: Row = 0;
        let edge = Arc::new(Edge::new(Some(source.value(attribute, NO_ROW)), next));
        let shard = self.shard(&key);
        let mut map = Shard::clone(&shard.load());
        self.count_in(&edge);
        self.count_out(map.insert(key, edge).as_ref());
        shard.store(Arc::new(map));
    }

    fn put_root(&self, next: Next<S, A>) {
        let edge = Arc::new(Edge::new(None, next));
        self.count_in(&edge);
        self.count_out(self.root.swap(Some(edge)).as_ref());
    }

    fn count_in(&self, edge: &Edge<S, A>) {
        self.bytes.fetch_add(edge.bytes(), Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    fn count_out(&self, edge: Option<&Arc<Edge<S, A>>>) {
        if let Some(edge) = edge {
            self.bytes.fetch_sub(edge.bytes(), Ordering::Relaxed);
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Half of them at once, so that this is rare.
    fn evict_older_half(&self) {
        let mut used: Vec<u64> = self.ages().iter().map(|(used, _)| *used).collect();
        let middle = used.len() / 2;
        let (_, middle, _) = used.select_nth_unstable(middle);
        self.evict_before(*middle);
    }

    #[inline]
    fn shard(&self, (node, value): &EdgeKey) -> &ArcSwap<Shard<S, A>> {
        let mixed = (node.rotate_left(32) ^ value.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.shards[(mixed >> (u64::BITS - SHARD_BITS)) as usize]
    }
}

impl<S: Source, A> Default for ClassTree<S, A> {
    fn default() -> Self {
        let shards = std::iter::repeat_with(ArcSwap::default).take(SHARDS).collect();
        Self { root: ArcSwapOption::empty(), shards, count: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }
}
