//! The standard input of a program: `ExtenderArgs` with the pod and whole nodes.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use plimsoll_core::{NodeRead, PodRead, Read, Value, View};

/// Maximum bytes of one read.
const MAX_READ: usize = 1 << 20;

const HEAD: &str = r#"{"Pod":"#;
const NODES: &str = r#","Nodes":{"metadata":{},"items":["#;
const TAIL: &str = r#"]},"NodeNames":null}"#;

/// The number of parts before the nodes.
const PARTS_BEFORE: usize = 3;

/// A position in the JSON of a request. The objects are in the view as JSON already, so nothing is encoded or copied
/// before it is read.
pub(super) struct Input {
    view: Arc<View>,
    /// The nodes of the view, the first of each name.
    nodes: Vec<u32>,
    /// The part of [`part`] that is read next, and the bytes of it that were read.
    part: usize,
    offset: usize,
    /// All bytes that are left.
    left: usize,
}

// === impl Input ===

impl Input {
    /// Reads the pod and each node of the view once, in the way in which all policies read. A node that the request names
    /// twice is there once, because an answer names a node once.
    pub(super) fn of(view: &Arc<View>) -> Self {
        // That there are these nodes and no others is read as well.
        let _ = view.read(Read::NodesCount);
        let nodes = distinct_nodes(view);
        let left = parts(view, &nodes).map(|text| text.len()).sum();
        Self { view: Arc::new(View::clone(view).unrecorded()), nodes, part: 0, offset: 0, left }
    }

    /// Bytes that are left to read.
    pub(super) const fn len(&self) -> usize {
        self.left
    }

    /// The next bytes; none at the end.
    pub(super) fn read(&mut self, most: usize) -> Vec<u8> {
        let most = most.min(MAX_READ).min(self.left);
        let mut bytes = Vec::with_capacity(most);
        while bytes.len() < most {
            let Some(text) = part(&self.view, &self.nodes, self.part) else { break };
            let rest = text.as_bytes().get(self.offset..).unwrap_or_default();
            let taken = rest.len().min(most - bytes.len());
            bytes.extend_from_slice(&rest[..taken]);
            (self.part, self.offset) =
                if taken == rest.len() { (self.part + 1, 0) } else { (self.part, self.offset + taken) };
        }
        self.left -= bytes.len();
        bytes
    }
}

/// The first node of each name.
fn distinct_nodes(view: &View) -> Vec<u32> {
    let mut names = HashSet::with_capacity(view.node_count());
    (0..view.node_count() as u32).filter(|node| names.insert(view.node_name(*node))).collect()
}

fn parts<'v>(view: &'v View, nodes: &[u32]) -> impl Iterator<Item = Cow<'v, str>> {
    (0..).map_while(|number| part(view, nodes, number))
}

/// One part of the JSON; `None` after the last one. Each node is two parts: a comma, and the node.
fn part<'v>(view: &'v View, nodes: &[u32], number: usize) -> Option<Cow<'v, str>> {
    let constant = |text: &'static str| Some(Cow::Borrowed(text));
    match number {
        0 => return constant(HEAD),
        1 => return Some(object(view, Read::Pod(PodRead::Field("")))),
        2 => return constant(NODES),
        _ => {}
    }
    let (at, is_object) = ((number - PARTS_BEFORE) / 2, (number - PARTS_BEFORE) % 2 == 1);
    match nodes.get(at) {
        Some(node) if is_object => Some(object(view, Read::Node(*node, NodeRead::Field("")))),
        Some(_) => constant(if at == 0 { "" } else { "," }),
        None if at == nodes.len() && !is_object => constant(TAIL),
        None => None,
    }
}

/// The JSON of an object; an empty one where a test has made a pod without any.
fn object<'v>(view: &'v View, read: Read<'_>) -> Cow<'v, str> {
    match view.read(read) {
        Ok(Value::Text(text)) => text,
        _ => Cow::Borrowed("{}"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{Cluster, Node, Pod};

    use super::*;

    fn view(nodes: u32) -> Arc<View> {
        let pod = Pod::from_json(r#"{"metadata":{"name":"p"}}"#.into()).unwrap();
        let node = |n: u32| {
            let json = format!(r#"{{"kind":"Node","metadata":{{"name":"n{n}","resourceVersion":"{n}"}}}}"#);
            Node::from_json(json.into()).unwrap()
        };
        let cluster = Cluster::from_objects((0..nodes).map(node).collect(), vec![]);
        Arc::new(View::new(Arc::new(pod), Arc::new(cluster), (0..nodes).collect(), 0))
    }

    fn whole(mut input: Input, step: usize) -> String {
        let expected = input.len();
        let mut bytes = Vec::new();
        loop {
            let read = input.read(step);
            assert!(read.len() <= step);
            if read.is_empty() {
                assert_eq!((bytes.len(), input.len()), (expected, 0));
                return String::from_utf8(bytes).unwrap();
            }
            bytes.extend(read);
        }
    }

    #[test]
    fn a_node_that_is_named_twice_is_in_the_request_once() {
        let node = |name: &str, label: &str| {
            let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"l":"{label}"}}}}}}"#);
            Node::from_json(json.into()).unwrap()
        };
        let nodes = vec![node("a", "1"), node("b", "2"), node("a", "3")];
        let cluster = Arc::new(Cluster::from_objects(nodes, vec![]));
        let view = |slots: &[u32]| Arc::new(View::new(Arc::new(Pod::default()), Arc::clone(&cluster), slots.into(), 0));
        let once = whole(Input::of(&view(&[0, 1])), usize::MAX);
        for slots in [&[0, 0, 1][..], &[0, 1, 1, 0], &[0, 1, 2]] {
            assert_eq!(whole(Input::of(&view(slots)), 7), once, "{slots:?}");
        }
    }

    #[test]
    fn a_request_is_what_kube_scheduler_sends_without_the_fields_of_a_heartbeat() {
        let nodes = r#"{"metadata":{"name":"n0"}},{"metadata":{"name":"n1"}}"#;
        let expected = |nodes: &str| {
            format!(
                r#"{{"Pod":{{"metadata":{{"name":"p"}}}},"Nodes":{{"metadata":{{}},"items":[{nodes}]}},"NodeNames":null}}"#
            )
        };
        for step in [1, 7, 4096, usize::MAX] {
            assert_eq!(whole(Input::of(&view(2)), step), expected(nodes));
            assert_eq!(whole(Input::of(&view(0)), step), expected(""));
        }
    }
}
