//! Nodes that requests brought: one whose bytes have not changed is not parsed again.

mod known;
mod senders;
mod snapshot;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use parking_lot::Mutex;

pub use self::known::KnownNodes;
pub(crate) use self::senders::SenderNodeCaches;
use self::snapshot::NodeSnapshot;
use crate::{Cluster, Facts, Node, NodeObject, ObjectError, Slots};

/// The most bytes of nodes that are kept, of all senders together, where nothing else is said.
const MAX_BYTES: usize = 512 << 20;

/// Nodes of earlier requests, for schedulers that send full objects (`nodeCacheCapable: false`).
///
/// They are a snapshot of the cluster like any other, so that its columns outlive a request. A request that brings
/// anything new puts the next snapshot in force before it is decided.
#[derive(Debug)]
pub(crate) struct NodeCache {
    snapshot: ArcSwap<NodeSnapshot>,
    /// Held by writers alone: no snapshot gets lost, and each is followed by one.
    changing: Mutex<()>,
    max_bytes: AtomicUsize,
    max_column_bytes: AtomicUsize,
}

/// A snapshot of the cluster, and the slot of each node of a request.
type Resolved = (Arc<Cluster>, Vec<u32>);

// === impl NodeCache ===

impl NodeCache {
    /// A cache without nodes; `max_column_bytes` bounds its columns.
    pub(crate) fn new(max_column_bytes: usize) -> Self {
        let (snapshot, changing) = (ArcSwap::default(), Mutex::default());
        let (max_bytes, max_column_bytes) = (AtomicUsize::new(MAX_BYTES), AtomicUsize::new(max_column_bytes));
        Self { snapshot, changing, max_bytes, max_column_bytes }
    }

    /// Bounds the bytes of the nodes that it keeps, and of their columns.
    pub(crate) fn set_limits(&self, max_bytes: usize, max_column_bytes: usize) {
        self.max_bytes.store(max_bytes, Ordering::Relaxed);
        self.max_column_bytes.store(max_column_bytes, Ordering::Relaxed);
    }

    fn max_bytes(&self) -> usize {
        self.max_bytes.load(Ordering::Relaxed)
    }

    /// The nodes that are known.
    pub(crate) fn known(&self) -> KnownNodes {
        self.snapshot.load().nodes.clone()
    }

    /// The node that was last seen under a name.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Node>> {
        let snapshot = self.snapshot.load();
        snapshot.nodes.node(snapshot.nodes.cluster().find(name)?).cloned()
    }

    /// Bytes of its columns.
    pub(crate) fn column_bytes(&self) -> usize {
        self.snapshot.load().nodes.cluster().columns().bytes()
    }

    /// A snapshot that has the nodes of a request, with the pods that the cluster in force has on them, and these facts.
    ///
    /// # Errors
    /// If an object is not a node; the text says which.
    pub(crate) fn resolve(
        &self,
        objects: &[NodeObject],
        seen: Option<&Arc<Cluster>>,
        facts: &Arc<Facts>,
    ) -> Result<Resolved, ObjectError> {
        let current = self.snapshot.load();
        let fits = objects.iter().map(least_weight).sum::<usize>() <= self.max_bytes();
        let nodes = nodes(&current.nodes, objects, fits)?;
        if current.shows(seen)
            && current.has(facts)
            && let Some(slots) = current.slots(&nodes)
        {
            return Ok((Arc::clone(current.nodes.cluster()), slots));
        }
        let taken_in = if fits { self.take_in(&nodes, seen, facts) } else { None };
        Ok(taken_in.unwrap_or_else(|| apart(nodes, seen, facts)))
    }

    /// Puts a snapshot with these nodes in force; none if they are too many to keep, or if two that differ have one
    /// name, of which it has the last.
    fn take_in(&self, nodes: &[Arc<Node>], seen: Option<&Arc<Cluster>>, facts: &Arc<Facts>) -> Option<Resolved> {
        let _one_at_a_time = self.changing.lock();
        let mut next = self.snapshot.load().with(nodes, seen, facts);
        if next.bytes > self.max_bytes() {
            // Names that come no more would stay for ever.
            next = NodeSnapshot::default().with(nodes, seen, facts);
            if next.bytes > self.max_bytes() {
                return None;
            }
        }
        next.nodes.cluster().columns().set_limit(self.max_column_bytes.load(Ordering::Relaxed));
        let placed = next.slots(nodes).map(|slots| (Arc::clone(next.nodes.cluster()), slots));
        self.snapshot.store(Arc::new(next));
        placed
    }
}

/// Minimum bytes that a node takes; the exact number is known once the node has been read.
fn least_weight(object: &NodeObject) -> usize {
    match object {
        NodeObject::Known(node) => snapshot::weight(node),
        NodeObject::Json(json) => json.len() + snapshot::NODE_BYTES,
    }
}

/// The nodes of a request: those known by their bytes, the others parsed.
fn nodes(known: &KnownNodes, objects: &[NodeObject], keep: bool) -> Result<Vec<Arc<Node>>, ObjectError> {
    let node = |(at, object): (usize, &NodeObject)| {
        let json = match object {
            NodeObject::Known(node) => return Ok(Arc::clone(node)),
            NodeObject::Json(json) => json,
        };
        if let Some(node) = known.by_json(json) {
            return Ok(Arc::clone(node));
        }
        // A kept slice would hold the whole request.
        let own = if keep { Bytes::copy_from_slice(json) } else { json.clone() };
        let named = |error: ObjectError| ObjectError::new(error.kind, format!("{at} of the request{}", error.detail));
        Node::from_json(own).map(Arc::new).map_err(named)
    };
    objects.iter().enumerate().map(node).collect()
}

/// A snapshot of these nodes alone, each in its slot.
fn apart(nodes: Vec<Arc<Node>>, seen: Option<&Arc<Cluster>>, facts: &Arc<Facts>) -> Resolved {
    let all = (0..nodes.len() as u32).collect();
    let slots: Slots = nodes.into_iter().map(|node| snapshot::slot(node, seen)).collect();
    let cluster = snapshot::with_reserved_of(Cluster::new(slots), seen).with_facts(Arc::clone(facts));
    (Arc::new(cluster), all)
}

#[cfg(test)]
mod tests;
