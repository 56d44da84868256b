//! Nodes that requests brought: one whose bytes have not changed is not parsed again.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use bytes::Bytes;
use hashbrown::HashMap;

use crate::{Node, ObjectError};

/// The most bytes of node JSON that are kept.
const MAX_BYTES: usize = 512 << 20;

/// What stands before a node's name, and how far into its JSON that is looked for: Go writes `metadata`
/// first and `name` first in it; others sort the keys, and labels and annotations come before.
const BEFORE_NAME: &[u8] = b"\"name\":\"";
const NAME_WITHIN: usize = 4096;

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
    by_name: HashMap<Arc<str>, Arc<Node>, foldhash::fast::RandomState>,
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
        self.table.load().by_name.get(name).cloned()
    }

    /// Keeps the nodes of a request for the next one; call it when the reply is out.
    pub fn learn(&self, nodes: &[Arc<Node>]) {
        let _one_at_a_time = self.learning.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.table.load();
        let unknown: Vec<&Arc<Node>> = nodes.iter().filter(|node| !current.has(node)).collect();
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
        // The name only finds the place: the bytes decide.
        self.by_name.get(name_in(json)?).filter(|node| node.json() == json)
    }

    fn has(&self, node: &Arc<Node>) -> bool {
        let same = |own: &Arc<Node>| Arc::ptr_eq(own, node) || own.json() == node.json();
        self.by_name.get(node.name()).is_some_and(same)
    }

    fn insert(&mut self, node: Arc<Node>) {
        self.bytes += node.json().len();
        let before = self.by_name.insert(Arc::clone(node.name()), node);
        self.bytes -= before.map_or(0, |before| before.json().len());
    }
}

/// What is most likely the name of a node.
fn name_in(json: &[u8]) -> Option<&str> {
    let start = &json[..json.len().min(NAME_WITHIN)];
    let at = start.windows(BEFORE_NAME.len()).position(|window| window == BEFORE_NAME)? + BEFORE_NAME.len();
    let name = &json[at..];
    std::str::from_utf8(name.split(|byte| *byte == b'"').next()?).ok()
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
        assert_eq!(memory.table.load().by_name.len(), 2);
    }

    #[test]
    fn the_name_is_found_where_kube_scheduler_writes_it() {
        let table = [
            (r#"{"metadata":{"name":"n1","uid":"u"}}"#, Some("n1")),
            (r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}"#, Some("n1")),
            (r#"{"metadata":{"labels":{"a":"b"},"name":"n1"}}"#, Some("n1")),
            (r#"{"metadata":{"name":""#, Some("")),
            (r"{}", None),
            ("", None),
        ];
        for (json, expected) in table {
            assert_eq!(name_in(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn a_node_whose_name_is_not_found_is_read_each_time_and_rightly() {
        let memory = NodeMemory::default();
        let [odd, trap] =
            [r#"{"metadata":{"name" : "a"}}"#, r#"{"x":{"metadata":{"name":"a"}},"metadata":{"name":"b"}}"#]
                .map(|json| Bytes::from_static(json.as_bytes()));
        for _ in 0..2 {
            let nodes = memory.resolve(&[odd.clone(), trap.clone()]).unwrap();
            assert_eq!(nodes.iter().map(|node| node.name().as_ref()).collect::<Vec<_>>(), ["a", "b"]);
            memory.learn(&nodes);
        }
        assert_eq!(memory.find("a").unwrap().json(), &odd);
    }

    #[test]
    fn the_size_of_what_is_kept_is_counted() {
        let memory = NodeMemory::default();
        for zone in ["1", "1", "22", "333"] {
            memory.learn(&memory.resolve(&[json("a", zone), json("a", zone), json("b", "1")]).unwrap());
        }
        assert_eq!(memory.table.load().bytes, json("a", "333").len() + json("b", "1").len());
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
