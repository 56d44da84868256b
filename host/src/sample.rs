//! The sample cluster as policies read it.

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_core::{Cluster, Namespace, Node, Pod};
use plimsoll_sample::{NAMESPACES, PODS, node, placed_pod};
use serde_json::{Value, json};

pub(crate) use plimsoll_sample::NODES;

/// The sample cluster.
pub(crate) fn cluster() -> Cluster {
    // Our objects; a test proves that each of them can be read.
    let nodes = (0..NODES).filter_map(|at| Node::from_json(text(&node(at))).ok().map(Node::prepared)).collect();
    let pods = (0..PODS).filter_map(|at| Pod::placed_from_json(&text(&placed_pod(at))).ok()).collect();
    let namespaces = NAMESPACES.into_iter().filter_map(namespace).collect();
    Cluster::from_objects(nodes, pods).with_namespaces(Some(Arc::new(namespaces)))
}

/// With the label that the API server gives every namespace.
fn namespace(name: &str) -> Option<(Arc<str>, Arc<Namespace>)> {
    let object = json!({"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}});
    let namespace = Namespace::from_json(&text(&object)).ok()?;
    Some((Arc::clone(namespace.name()), Arc::new(namespace)))
}

/// A pod to try policies with.
pub(crate) fn pod() -> Pod {
    Pod::from_json(text(&plimsoll_sample::pod("team-a", "api", 0))).unwrap_or_default()
}

fn text(object: &Value) -> Bytes {
    Bytes::from(object.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_of_the_sample_cluster_can_be_read() {
        let cluster = cluster();
        assert_eq!(cluster.slots().len(), NODES as usize);
        assert_eq!(cluster.pod_count(), PODS as usize);
        assert_eq!(pod().namespace(), "team-a");
        assert!(NAMESPACES.into_iter().all(|name| namespace(name).is_some()));
    }
}
