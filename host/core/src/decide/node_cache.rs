//! Nodes that requests brought whole (`nodeCacheCapable: false`): one whose bytes have not changed is not parsed again.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::{
    decide::NodeObject,
    model::{Cluster, Facts, Node, ObjectError, Slot, Slots},
};

/// Maximum bytes of the nodes that are kept, where nothing else is said.
const MAX_BYTES: usize = 512 << 20;

/// Approximate bytes of the record of a node, with its slot and its names.
const NODE_BYTES: usize = 1 << 10;

/// The text before a node's name. It is looked for in the first 4 KiB of the node's JSON: Go writes `metadata` first
/// and `name` first in it; others sort the keys, and labels and annotations come before.
const BEFORE_NAME: &[u8] = b"\"name\":\"";
const NAME_WITHIN: usize = 4096;

/// Nodes of earlier requests.
///
/// They are a snapshot of the cluster like any other, so that its columns outlive a request. A request that brings
/// anything new puts the next snapshot in force before it is decided.
#[derive(Debug)]
pub(crate) struct NodeCache {
    snapshot: ArcSwap<NodeSnapshot>,
    /// Held by writers alone: no snapshot gets lost, and each is followed by one.
    changing: Mutex<()>,
    max_bytes: usize,
    max_column_bytes: usize,
}

/// The nodes that earlier requests brought whole, by slot.
///
/// The reader of a request compares each node with the one that is expected next, and searches only where that is not
/// the one.
#[derive(Debug, Default, Clone)]
pub struct KnownNodes(Arc<Cluster>);

/// Nodes that requests brought, with the pods that one cluster has on them; each keeps its slot as long as it is known.
#[derive(Debug, Default)]
struct NodeSnapshot {
    nodes: KnownNodes,
    /// Bytes that the nodes take.
    bytes: usize,
    /// The cluster that the pods are of; none: nobody knew of pods.
    seen: Option<Weak<Cluster>>,
}

/// A snapshot of the cluster, and the slot of each node of a request.
type Resolved = (Arc<Cluster>, Vec<u32>);

// === impl NodeCache ===

impl NodeCache {
    /// A cache without nodes; `max_column_bytes` bounds its columns.
    pub(crate) fn new(max_column_bytes: usize) -> Self {
        Self { snapshot: ArcSwap::default(), changing: Mutex::default(), max_bytes: MAX_BYTES, max_column_bytes }
    }

    /// The same, with at most this many bytes of nodes.
    pub(crate) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The nodes that are known.
    pub(crate) fn known(&self) -> KnownNodes {
        self.snapshot.load().nodes.clone()
    }

    /// Bytes of its columns.
    pub(crate) fn column_bytes(&self) -> usize {
        self.snapshot.load().nodes.0.columns().bytes()
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
        let nodes = objects.iter().enumerate().map(|(at, object)| current.nodes.read(at, object));
        let nodes: Vec<Arc<Node>> = nodes.collect::<Result<_, _>>()?;
        let is_current = current.shows(seen) && current.nodes.0.facts().is_some_and(|known| Arc::ptr_eq(known, facts));
        if is_current && let Some(slots) = current.slots(&nodes) {
            return Ok((Arc::clone(&current.nodes.0), slots));
        }
        Ok(self.take_in(&nodes, seen, facts).unwrap_or_else(|| apart(nodes, seen, facts)))
    }

    /// Puts a snapshot with these nodes in force; none if they are too many to keep, or if two that differ have one
    /// name, of which it has the last.
    fn take_in(&self, nodes: &[Arc<Node>], seen: Option<&Arc<Cluster>>, facts: &Arc<Facts>) -> Option<Resolved> {
        let _one_at_a_time = self.changing.lock();
        let mut next = self.snapshot.load().with(nodes, seen, facts);
        if next.bytes > self.max_bytes {
            // Names that come no more would stay for ever.
            next = NodeSnapshot::default().with(nodes, seen, facts);
        }
        if next.bytes > self.max_bytes {
            return None;
        }
        next.nodes.0.columns().set_limit(self.max_column_bytes);
        let resolved = next.slots(nodes).map(|slots| (Arc::clone(&next.nodes.0), slots));
        self.snapshot.store(Arc::new(next));
        resolved
    }
}

/// A snapshot of these nodes alone, each in its slot.
fn apart(nodes: Vec<Arc<Node>>, seen: Option<&Arc<Cluster>>, facts: &Arc<Facts>) -> Resolved {
    let all = (0..nodes.len() as u32).collect();
    let slots: Slots = nodes.into_iter().map(|node| slot(node, seen)).collect();
    (Arc::new(with_state_of(Cluster::new(slots), seen).with_facts(Arc::clone(facts))), all)
}

// === impl NodeSnapshot ===

impl NodeSnapshot {
    /// Whether its pods are those of this cluster.
    fn shows(&self, seen: Option<&Arc<Cluster>>) -> bool {
        // A weak pointer keeps the address from being given to another.
        self.seen.as_ref().map(Weak::as_ptr) == seen.map(Arc::as_ptr)
    }

    /// The slots of these nodes, if it has all of them.
    fn slots(&self, nodes: &[Arc<Node>]) -> Option<Vec<u32>> {
        let slot = |node: &Arc<Node>| {
            let slot = self.nodes.0.find(node.name())?;
            self.nodes.node(slot).is_some_and(|known| is_same(known, node)).then_some(slot)
        };
        nodes.iter().map(slot).collect()
    }

    /// The snapshot after this one: it has these nodes too, instead of others of their names.
    fn with(&self, nodes: &[Arc<Node>], seen: Option<&Arc<Cluster>>, facts: &Arc<Facts>) -> Self {
        let before = &self.nodes.0;
        let (mut slots, mut bytes) = (before.slots().to_vec(), self.bytes);
        let mut added: HashMap<&str, usize> = HashMap::new();
        for node in nodes {
            let known = before.find(node.name()).map(|slot| slot as usize);
            let at = known.unwrap_or_else(|| *added.entry(node.name().as_ref()).or_insert(slots.len()));
            match slots.get_mut(at) {
                Some(slot) if is_same(&slot.node, node) => continue,
                Some(slot) => {
                    bytes -= weight(&slot.node);
                    slot.node = Arc::clone(node);
                }
                None => slots.push(Slot { node: Arc::clone(node), placed: None }),
            }
            bytes += weight(node);
        }
        let shown = if self.shows(seen) { before.slots().len() } else { 0 };
        for each in &mut slots[shown..] {
            *each = slot(Arc::clone(&each.node), seen);
        }
        let cluster = with_state_of(before.successor(slots), seen).with_facts(Arc::clone(facts));
        // The next request must not wait for them.
        cluster.names();
        cluster.follow(before);
        Self { nodes: KnownNodes(Arc::new(cluster)), bytes, seen: seen.map(Arc::downgrade) }
    }
}

/// A node with the pods that a cluster has on it.
fn slot(node: Arc<Node>, seen: Option<&Arc<Cluster>>) -> Slot {
    Slot { placed: seen.and_then(|seen| seen.placed_on(node.name())), node }
}

/// The snapshot with the places that the cluster in force has reserved, and with its DeviceClasses.
fn with_state_of(snapshot: Cluster, seen: Option<&Arc<Cluster>>) -> Cluster {
    let Some(seen) = seen else { return snapshot };
    snapshot.with_reserved(Arc::clone(seen.reserved())).with_device_classes(Arc::clone(seen.device_classes()))
}

/// Bytes that a node takes.
fn weight(node: &Node) -> usize {
    node.heap_bytes() + NODE_BYTES
}

fn is_same(one: &Arc<Node>, other: &Arc<Node>) -> bool {
    Arc::ptr_eq(one, other) || one.json() == other.json()
}

// === impl KnownNodes ===

impl KnownNodes {
    /// The nodes as a snapshot of a cluster.
    pub const fn cluster(&self) -> &Arc<Cluster> {
        &self.0
    }

    /// The node of a slot.
    #[inline]
    pub fn node(&self, slot: u32) -> Option<&Arc<Node>> {
        self.0.slots().get(slot as usize).map(|slot| &slot.node)
    }

    /// The node that was last seen under a name.
    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<Node>> {
        self.node(self.0.find(name)?)
    }

    /// The slot of the node that most likely has this JSON, by its name.
    pub fn find(&self, json: &[u8]) -> Option<u32> {
        if self.0.slots().is_empty() {
            return None;
        }
        self.0.find(name_in(json)?)
    }

    /// The node with this JSON.
    pub fn by_json(&self, json: &[u8]) -> Option<&Arc<Node>> {
        // The name only finds the place: the bytes decide.
        self.node(self.find(json)?).filter(|node| node.json() == json)
    }

    /// A node of a request, by its index there: the known one, or a new one.
    fn read(&self, at: usize, object: &NodeObject) -> Result<Arc<Node>, ObjectError> {
        let json = match object {
            NodeObject::Known(node) => return Ok(Arc::clone(node)),
            NodeObject::Json(json) => json,
        };
        if let Some(node) = self.by_json(json) {
            return Ok(Arc::clone(node));
        }
        // A copy: a kept slice would hold the whole request.
        let named = |error: ObjectError| ObjectError::new(error.kind, format!("{at} of the request{}", error.detail));
        Node::from_json(Bytes::copy_from_slice(json)).map(Arc::new).map_err(named)
    }
}

/// The text that is most likely the name of a node.
fn name_in(json: &[u8]) -> Option<&str> {
    let start = &json[..json.len().min(NAME_WITHIN)];
    let at = start.windows(BEFORE_NAME.len()).position(|window| window == BEFORE_NAME)? + BEFORE_NAME.len();
    let name = &json[at..];
    std::str::from_utf8(name.split(|byte| *byte == b'"').next()?).ok()
}

#[cfg(test)]
mod tests;
