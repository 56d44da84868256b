//! The subject classes: a tree whose inner nodes are attributes of the subject.
//!
//! A function may read `subject.annotation(subject.label("team"))`: which attribute comes next depends on the values so
//! far. So each node names one attribute, and each value leads to a node or a class. An edge is found by the
//! number of its node and its value, in one of 256 maps. The maps are immutable: a writer publishes the next version,
//! which shares those that have not changed.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use hashbrown::HashMap;

use crate::{
    attribute::Row,
    clock::tick,
    decision_tree::{DecisionTree, EdgesByNode},
    disabled::Disabled,
    edge::{Edge, EdgeKey, Next, Node, SubjectClassOf},
    read_log::MAX_SUBJECT_ATTRIBUTES,
    source::Source,
    trie::Answer,
};

/// Edges are in `FANOUT` branches of `FANOUT` shards. A write copies the list of branches, and one or two branches with
/// one shard of each: so it counts up few references, each of which may be in no cache of the processor.
const FANOUT: usize = 1 << FANOUT_BITS;
const FANOUT_BITS: u32 = 4;

/// Maximum edges.
const MAX_EDGES: usize = 8_192;

/// Stands for any row.
const NO_ROW: Row = 0;

/// Readers take the current version; there is one writer at a time.
pub(crate) struct SubjectTree<S: Source, A>(ArcSwapOption<TreeVersion<S, A>>);

/// One version of the tree.
struct TreeVersion<S: Source, A> {
    root: Option<Arc<Edge<S, A>>>,
    branches: [Arc<ShardBranch<S, A>>; FANOUT],
    count: usize,
    bytes: usize,
}

type ShardBranch<S, A> = [Arc<Shard<S, A>>; FANOUT];

type Shard<S, A> = HashMap<EdgeKey, Arc<Edge<S, A>>, foldhash::fast::RandomState>;

/// A subject's path through the tree, as far as it is known.
struct SubjectPath<S: Source, A> {
    /// The last edge. `None` at the root.
    last: Option<EdgeKey>,
    subject_attributes: Vec<S::Attribute>,
    class: Option<Arc<SubjectClassOf<S, A>>>,
}

// === impl SubjectTree ===

impl<S: Source, A: Answer> SubjectTree<S, A> {
    /// The class of a source's subject.
    pub(crate) fn get(&self, source: &S) -> Option<Arc<SubjectClassOf<S, A>>> {
        let version = self.0.load();
        let version = version.as_ref()?;
        // All edges of a path get the same time, so that they are evicted together.
        let now = tick();
        let mut next = version.root.as_ref()?.touch(now);
        loop {
            next = match next {
                Next::Class(class) => return Some(Arc::clone(class)),
                Next::Node(node) => version.follow(&(node.number, source.shared_fingerprint(&node.attribute)), now)?,
            };
        }
    }

    /// Replaces the class of a source's subject. `change` gets the class and all attributes of the subject, the new
    /// ones included.
    ///
    /// A class that was made without one of them is dropped first: its answers may depend on the attribute's value.
    pub(crate) fn update(
        &self,
        source: &S,
        attributes: &[S::Attribute],
        change: impl FnOnce(
            Option<&SubjectClassOf<S, A>>,
            Vec<S::Attribute>,
        ) -> Result<Option<SubjectClassOf<S, A>>, Disabled>,
    ) -> Result<(), Disabled> {
        let mut version = self.next_version();
        let path = version.path(source);
        let new: Vec<_> =
            attributes.iter().filter(|attribute| !path.subject_attributes.contains(attribute)).cloned().collect();
        if path.subject_attributes.len() + new.len() > MAX_SUBJECT_ATTRIBUTES {
            return Err(Disabled::TooManyReads);
        }
        let known = path.class.as_deref().filter(|_| new.is_empty());
        let of_class = path.subject_attributes.iter().chain(&new).cloned().collect();
        let Some(class) = change(known, of_class)? else { return Ok(()) };
        // They are attributes of the subject: the row does not matter.
        let value_of = |attribute: &S::Attribute| source.value(attribute, NO_ROW);
        let mut next = Next::Class(Arc::new(class));
        for attribute in new.into_iter().rev() {
            let node = Node { number: tick(), attribute };
            let key = (node.number, source.shared_fingerprint(&node.attribute));
            version.put(key, value_of(&node.attribute), next);
            next = Next::Node(Arc::new(node));
        }
        match (path.last, path.subject_attributes.last()) {
            (Some(key), Some(attribute)) => version.put(key, value_of(attribute), next),
            _ => version.put_root(next),
        }
        if version.count > MAX_EDGES {
            version.drop_before(version.median_last_use());
        }
        self.0.store(Some(Arc::new(version)));
        Ok(())
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        self.0.store(None);
    }

    /// Drops the edges that were last used before this.
    pub(crate) fn evict_before(&self, since: u64) {
        if self.0.load().is_none() {
            return;
        }
        let mut version = self.next_version();
        version.drop_before(since);
        self.0.store(Some(Arc::new(version)));
    }

    /// When each edge was last used, and the bytes that dropping it frees.
    pub(crate) fn last_uses(&self) -> Vec<(u64, usize)> {
        let version = self.0.load();
        version.iter().flat_map(|version| version.iter()).map(|edge| (edge.used(), edge.weight())).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load().as_ref().map_or(0, |version| version.count)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.load().as_ref().map_or(0, |version| version.bytes)
    }

    /// A copy for display. Values of rows are looked up in this source.
    pub(crate) fn decision_tree(&self, source: &S) -> Option<DecisionTree<S, A>> {
        let version = self.0.load_full()?;
        let mut edges = EdgesByNode::new();
        for ((node, value), edge) in version.shards().flat_map(|shard| shard.iter()) {
            edges.entry(*node).or_default().push((*value, &**edge));
        }
        DecisionTree::of(&version.root.as_ref()?.next, &edges, source)
    }

    /// A copy of the current version, to be changed and published.
    fn next_version(&self) -> TreeVersion<S, A> {
        let current = self.0.load();
        current.as_deref().map_or_else(TreeVersion::empty, Clone::clone)
    }
}

impl<S: Source, A> Default for SubjectTree<S, A> {
    fn default() -> Self {
        Self(ArcSwapOption::empty())
    }
}

// === impl TreeVersion ===

impl<S: Source, A: Answer> TreeVersion<S, A> {
    fn empty() -> Self {
        let shard = Arc::default();
        let branch = Arc::new(std::array::from_fn(|_| Arc::clone(&shard)));
        Self { root: None, branches: std::array::from_fn(|_| Arc::clone(&branch)), count: 0, bytes: 0 }
    }

    fn shards(&self) -> impl Iterator<Item = &Arc<Shard<S, A>>> {
        self.branches.iter().flat_map(|branch| branch.iter())
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Edge<S, A>>> {
        self.root.iter().chain(self.shards().flat_map(|shard| shard.values()))
    }

    #[inline]
    fn follow(&self, key: &EdgeKey, now: u64) -> Option<&Next<S, A>> {
        let (branch, shard) = shard_of(key);
        self.branches[branch][shard].get(key).map(|edge| edge.touch(now))
    }

    /// The path of a source's subject.
    fn path(&self, source: &S) -> SubjectPath<S, A> {
        let mut path = SubjectPath { last: None, subject_attributes: Vec::new(), class: None };
        let now = tick();
        let mut next = self.root.as_ref().map(|root| root.touch(now));
        while let Some(known) = next {
            match known {
                Next::Class(class) => {
                    path.class = Some(Arc::clone(class));
                    break;
                }
                Next::Node(node) => {
                    let key = (node.number, source.shared_fingerprint(&node.attribute));
                    next = self.follow(&key, now);
                    path.last = Some(key);
                    path.subject_attributes.push(node.attribute.clone());
                }
            }
        }
        path
    }

    fn put(&mut self, key: EdgeKey, value: S::Value, next: Next<S, A>) {
        let edge = Arc::new(Edge::new(Some(value), next));
        self.count_in(&edge);
        let (branch, shard) = shard_of(&key);
        let branch = Arc::make_mut(&mut self.branches[branch]);
        let before = Arc::make_mut(&mut branch[shard]).insert(key, edge);
        self.count_out(before.as_deref());
    }

    fn put_root(&mut self, next: Next<S, A>) {
        let edge = Arc::new(Edge::new(None, next));
        self.count_in(&edge);
        let before = self.root.replace(edge);
        self.count_out(before.as_deref());
    }

    /// Drops the edges that were last used before this.
    fn drop_before(&mut self, since: u64) {
        let is_old = |edge: &Arc<Edge<S, A>>| edge.used() < since;
        let mut dropped: Vec<_> = self.root.take_if(|root| is_old(root)).into_iter().collect();
        for shard in self.branches.iter_mut().flat_map(Arc::make_mut) {
            if shard.values().any(is_old) {
                dropped.extend(Arc::make_mut(shard).extract_if(|_, edge| is_old(edge)).map(|(_, edge)| edge));
            }
        }
        for edge in &dropped {
            self.count_out(Some(edge));
        }
    }

    /// Half of the edges were last used before this. Dropping half at once makes it rare.
    fn median_last_use(&self) -> u64 {
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

impl<S: Source, A> Clone for TreeVersion<S, A> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), branches: self.branches.clone(), count: self.count, bytes: self.bytes }
    }
}

/// The branch of an edge, and its shard there.
#[inline]
fn shard_of((node, value): &EdgeKey) -> (usize, usize) {
    let mixed = (node.rotate_left(32) ^ value.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (mixed >> (u64::BITS - 2 * FANOUT_BITS)) as usize;
    (number / FANOUT, number % FANOUT)
}
