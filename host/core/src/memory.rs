//! Nodes that requests brought, kept by content: an unchanged node is not parsed again.

use std::{
    hash::BuildHasher,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use hashbrown::HashMap;

use crate::{Node, ObjectError};

/// The most bytes of node JSON that are kept.
const MAX_BYTES: usize = 512 << 20;

/// Nodes of earlier requests, for schedulers that send full objects (`nodeCacheCapable: false`).
///
/// Readers take a published table; [`NodeMemory::learn`] publishes a new one behind them.
#[derive(Debug, Default)]
pub struct NodeMemory {
    table: ArcSwap<Table>,
    /// Held by writers alone, so that two of them do not lose each other's nodes.
    learning: Mutex<()>,
}

#[derive(Debug, Default, Clone)]
struct Table {
    by_content: HashMap<u64, Arc<Node>, foldhash::fast::RandomState>,
    by_name: HashMap<Arc<str>, u64, foldhash::fast::RandomState>,
    hasher: foldhash::fast::RandomState,
    bytes: usize,
}

// === impl NodeMemory ===

impl NodeMemory {
    /// The nodes of one request: those known by their bytes, the others parsed.
    ///
    /// # Errors
    /// If an object is not a node; the text says which.
    pub fn resolve(&self, objects: &[Bytes]) -> Result<Vec<Arc<Node>>, ObjectError> {
        let table = self.table.load();
        let resolve = |(at, json): (usize, &Bytes)| match table.by_bytes(json) {
            Some(node) => Ok(Arc::clone(node)),
            None => Node::from_json(json.clone())
                .map(Arc::new)
                .map_err(|error| ObjectError::new(error.kind, format!("{at} of the request: {}", error.detail))),
        };
        objects.iter().enumerate().map(resolve).collect()
    }

    /// The node that was last seen under a name.
    pub fn find(&self, name: &str) -> Option<Arc<Node>> {
        let table = self.table.load();
        let node = table.by_name.get(name).and_then(|content| table.by_content.get(content));
        // Two contents with one hash: the later node has the place of both.
        node.filter(|node| **node.name() == *name).cloned()
    }

    /// Keeps the nodes of a request for the next one; call it when the reply is out.
    pub fn learn(&self, nodes: &[Arc<Node>]) {
        let _one_at_a_time = self.learning.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.table.load();
        let unknown: Vec<&Arc<Node>> = nodes.iter().filter(|node| current.by_bytes(node.json()).is_none()).collect();
        if unknown.is_empty() {
            return;
        }
        let mut next = Table::clone(&current);
        for node in unknown {
            if next.bytes + node.json().len() > MAX_BYTES {
                next = Table::default();
            }
            next.insert(Arc::new(node.detached()));
        }
        self.table.store(Arc::new(next));
    }
}

// === impl Table ===

impl Table {
    fn by_bytes(&self, json: &Bytes) -> Option<&Arc<Node>> {
        if self.by_content.is_empty() {
            return None;
        }
        // The hash only finds the place: the bytes decide.
        self.by_content.get(&self.hasher.hash_one(json.as_ref())).filter(|node| node.json() == json)
    }

    fn insert(&mut self, node: Arc<Node>) {
        let content = self.hasher.hash_one(node.json().as_ref());
        self.bytes += node.json().len();
        if let Some(before) = self.by_name.insert(Arc::clone(node.name()), content).filter(|before| *before != content)
        {
            self.bytes -= self.by_content.remove(&before).map_or(0, |node| node.json().len());
        }
        self.bytes -= self.by_content.insert(content, node).map_or(0, |node| node.json().len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(name: &str, zone: &str) -> Bytes {
        Bytes::from(format!(r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"{zone}"}}}}}}"#))
    }

    #[test]
    fn an_unchanged_node_is_the_same_record_and_a_changed_one_is_read_again() {
        let memory = NodeMemory::default();
        let first = memory.resolve(&[json("a", "1"), json("b", "1")]).unwrap();
        memory.learn(&first);
        let second = memory.resolve(&[json("b", "2"), json("a", "1")]).unwrap();
        let again = memory.resolve(&[json("a", "1")]).unwrap();
        assert!(Arc::ptr_eq(&second[1], &again[0]));
        assert_eq!(second[0].labels().get("zone"), Some("2"));
        memory.learn(&second);
        assert_eq!(memory.find("b").unwrap().labels().get("zone"), Some("2"));
        assert!(memory.find("c").is_none());
        assert_eq!(memory.table.load().by_content.len(), 2);
    }

    #[test]
    fn what_is_kept_does_not_hold_the_request() {
        let memory = NodeMemory::default();
        let body = json("a", "1");
        memory.learn(&memory.resolve(std::slice::from_ref(&body)).unwrap());
        assert_ne!(memory.find("a").unwrap().json().as_ptr(), body.as_ptr());
    }

    #[test]
    fn a_bad_node_is_named_by_its_place() {
        let error = NodeMemory::default().resolve(&[json("a", "1"), Bytes::from_static(b"{}")]).unwrap_err();
        assert!(error.to_string().starts_with("Node 1 of the request: "), "{error}");
    }
}
