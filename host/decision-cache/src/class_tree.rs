//! The classes of subjects: a tree whose inner nodes are attributes of the subject.
//!
//! A function may read `subject.annotation(subject.label("team"))`: which attribute comes next depends on the values so
//! far. So each node names one attribute, and each value leads to a node or a class of its own. The edges of all nodes
//! are in one map, by the number of their node and their value. The map is immutable: a writer publishes the next version.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use hashbrown::HashMap;

use crate::{
    attribute::Row,
    class::Answer,
    edge::{ClassOf, Classes, Edge, EdgeKey, EdgesOf, Next, Node},
    memory::tick,
    read_log::MAX_SUBJECT_ATTRIBUTES,
    source::Source,
};

/// A writer copies the list of shards, and the shards that it changes: with about as many shards as edges in each, that
/// is the least.
const SHARDS: usize = 1 << SHARD_BITS;
const SHARD_BITS: u32 = 7;

/// The most edges.
const MAX_EDGES: usize = 8_192;

/// Readers take the current version; there is one writer at a time.
pub(crate) struct ClassTree<S: Source, A>(ArcSwapOption<Edges<S, A>>);

/// One version of the tree.
struct Edges<S: Source, A> {
    root: Option<Arc<Edge<S, A>>>,
    shards: Vec<Arc<Shard<S, A>>>,
    count: usize,
    bytes: usize,
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
        let edges = self.0.load();
        let edges = edges.as_ref()?;
        // All edges of a way get the same time, so that none is evicted before those that follow it.
        let now = tick();
        let mut next = edges.root.as_ref()?.follow(now);
        loop {
            next = match next {
                Next::Class(class) => return Some(Arc::clone(class)),
                Next::Node(node) => edges.follow(&(node.number, source.shared(&node.attribute)), now)?,
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
        let mut edges = self.version();
        let way = edges.way(source);
        let new: Vec<_> = attributes.iter().filter(|attribute| !way.attributes.contains(attribute)).cloned().collect();
        if way.attributes.len() + new.len() > MAX_SUBJECT_ATTRIBUTES {
            return Err(TooLong.into());
        }
        let known = way.class.as_deref().filter(|_| new.is_empty());
        let of_class = way.attributes.iter().chain(&new).cloned().collect();
        let Some(class) = change(known, of_class)? else { return Ok(()) };
        let mut next = Next::Class(Arc::new(class));
        for attribute in new.into_iter().rev() {
            let node = Node { number: tick(), attribute };
            let key = (node.number, source.shared(&node.attribute));
            edges.put(source, key, &node.attribute, next);
            next = Next::Node(Arc::new(node));
        }
        match (way.last, way.attributes.last()) {
            (Some(key), Some(attribute)) => edges.put(source, key, attribute, next),
            _ => edges.put_root(next),
        }
        if edges.count > MAX_EDGES {
            edges.drop_before(edges.middle_age());
        }
        self.0.store(Some(Arc::new(edges)));
        Ok(())
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        self.0.store(None);
    }

    /// Drops the edges that were not used since.
    pub(crate) fn evict_before(&self, since: u64) {
        if self.0.load().is_none() {
            return;
        }
        let mut edges = self.version();
        edges.drop_before(since);
        self.0.store(Some(Arc::new(edges)));
    }

    /// When each edge was last used, and the bytes that are free once it is gone.
    pub(crate) fn ages(&self) -> Vec<(u64, usize)> {
        let edges = self.0.load();
        edges.iter().flat_map(|edges| edges.iter()).map(|edge| (edge.used(), edge.weight())).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load().as_ref().map_or(0, |edges| edges.count)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.load().as_ref().map_or(0, |edges| edges.bytes)
    }

    /// All classes by value.
    pub(crate) fn classes(&self) -> Option<Classes<S, A>> {
        let edges = self.0.load_full()?;
        let mut by_node: EdgesOf<S, A> = HashMap::new();
        for ((node, value), edge) in edges.shards.iter().flat_map(|shard| shard.iter()) {
            by_node.entry(*node).or_default().push((*value, Arc::clone(edge)));
        }
        Some(edges.root.as_ref()?.next.classes(&by_node))
    }

    /// The current version, to make the next one of.
    fn version(&self) -> Edges<S, A> {
        let current = self.0.load();
        current.as_deref().map_or_else(Edges::empty, Clone::clone)
    }
}

impl<S: Source, A> Default for ClassTree<S, A> {
    fn default() -> Self {
        Self(ArcSwapOption::empty())
    }
}

// === impl Edges ===

impl<S: Source, A: Answer> Edges<S, A> {
    fn empty() -> Self {
        Self { root: None, shards: vec![Arc::default(); SHARDS], count: 0, bytes: 0 }
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Edge<S, A>>> {
        self.root.iter().chain(self.shards.iter().flat_map(|shard| shard.values()))
    }

    #[inline]
    fn follow(&self, key: &EdgeKey, now: u64) -> Option<&Next<S, A>> {
        self.shards[shard_of(key)].get(key).map(|edge| edge.follow(now))
    }

    /// The way of a source's subject.
    fn way(&self, source: &S) -> Way<S, A> {
        let mut way = Way { last: None, attributes: Vec::new(), class: None };
        let now = tick();
        let mut next = self.root.as_ref().map(|root| root.follow(now));
        while let Some(known) = next {
            match known {
                Next::Class(class) => {
                    way.class = Some(Arc::clone(class));
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

    fn put(&mut self, source: &S, key: EdgeKey, attribute: &S::Attribute, next: Next<S, A>) {
        // It is an attribute of the subject: the row does not matter.
        const NO_ROW: Row = 0;
        let edge = Arc::new(Edge::new(Some(source.value(attribute, NO_ROW)), next));
        self.count_in(&edge);
        let before = Arc::make_mut(&mut self.shards[shard_of(&key)]).insert(key, edge);
        self.count_out(before.as_deref());
    }

    fn put_root(&mut self, next: Next<S, A>) {
        let edge = Arc::new(Edge::new(None, next));
        self.count_in(&edge);
        let before = self.root.replace(edge);
        self.count_out(before.as_deref());
    }

    /// Drops the edges that were not used since.
    fn drop_before(&mut self, since: u64) {
        let is_old = |edge: &Arc<Edge<S, A>>| edge.used() < since;
        let mut dropped: Vec<_> = self.root.take_if(|root| is_old(root)).into_iter().collect();
        for shard in &mut self.shards {
            if shard.values().any(is_old) {
                dropped.extend(Arc::make_mut(shard).extract_if(|_, edge| is_old(edge)).map(|(_, edge)| edge));
            }
        }
        for edge in &dropped {
            self.count_out(Some(edge));
        }
    }

    /// Half of the edges were not used since: so many are dropped at once that it is rare.
    fn middle_age(&self) -> u64 {
        let mut used: Vec<u64> = self.iter().map(|edge| edge.used()).collect();
        let middle = used.len() / 2;
        *used.select_nth_unstable(middle).1
    }

    fn count_in(&mut self, edge: &Edge<S, A>) {
        self.bytes += edge.bytes();
        self.count += 1;
    }

    fn count_out(&mut self, edge: Option<&Edge<S, A>>) {
        if let Some(edge) = edge {
            self.bytes -= edge.bytes();
            self.count -= 1;
        }
    }
}

impl<S: Source, A> Clone for Edges<S, A> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), shards: self.shards.clone(), count: self.count, bytes: self.bytes }
    }
}

#[inline]
fn shard_of((node, value): &EdgeKey) -> usize {
    let mixed = (node.rotate_left(32) ^ value.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - SHARD_BITS)) as usize
}
