//! The objects of a snapshot file, and the cluster that they make.

use std::{collections::HashMap, path::Path, sync::Arc};

use bytes::Bytes;
use plimsoll_core::{Cluster, Namespace, Node, Pod};

use crate::document::{DocumentError, DocumentObject};

/// The objects of a snapshot, by unique names.
#[derive(Default)]
pub(super) struct SnapshotObjects {
    pub(super) nodes: Vec<Node>,
    node_at: HashMap<Box<str>, usize>,
    pods: Vec<Pod>,
    pod_at: HashMap<(Box<str>, Box<str>), usize>,
    namespaces: Vec<Namespace>,
    namespace_at: HashMap<Box<str>, usize>,
    repeated: usize,
}

// === impl SnapshotObjects ===

impl SnapshotObjects {
    pub(super) fn add(&mut self, object: &DocumentObject<'_>) -> Result<(), DocumentError> {
        match object.kind.as_deref() {
            Some("Node") => {
                // A copy: a part of the file would keep all of it in memory.
                let json = Bytes::copy_from_slice(object.json.as_bytes());
                let node = Node::from_json(json).map_err(|error| object.wrong(error))?.prepared();
                let name = node.name().as_ref().into();
                self.repeated += put(&mut self.nodes, &mut self.node_at, name, node);
            }
            Some("Pod") => {
                let pod = Pod::placed_from_json(object.json.as_bytes()).map_err(|error| object.wrong(error))?;
                let name = (pod.namespace().into(), pod.name().into());
                self.repeated += put(&mut self.pods, &mut self.pod_at, name, pod);
            }
            Some("Namespace") => {
                let namespace = Namespace::from_json(object.json.as_bytes()).map_err(|error| object.wrong(error))?;
                let name = namespace.name().as_ref().into();
                self.repeated += put(&mut self.namespaces, &mut self.namespace_at, name, namespace);
            }
            Some(_) => {}
            None => return Err(object.wrong("the key 'kind' is missing: expected a Node, a Pod or a List")),
        }
        Ok(())
    }

    pub(super) fn into_cluster(self, path: &Path) -> Cluster {
        if self.repeated > 0 {
            tracing::warn!("{}: {} objects are there twice; the later ones count", path.display(), self.repeated);
        }
        let is_lost = |pod: &&Pod| pod.node().is_some_and(|node| !self.node_at.contains_key(node)) && !pod.finished();
        let lost = self.pods.iter().filter(is_lost).count();
        if lost > 0 {
            tracing::warn!("{}: {lost} pods are placed on nodes that are not in the file", path.display());
        }
        // A file without any was made without them, and says nothing about them.
        let named = |namespace: Namespace| (Arc::clone(namespace.name()), Arc::new(namespace));
        let namespaces =
            (!self.namespaces.is_empty()).then(|| Arc::new(self.namespaces.into_iter().map(named).collect()));
        Cluster::from_objects(self.nodes, self.pods).with_namespaces(namespaces)
    }
}

/// Puts an object in its name's place; 1 if there was one before.
fn put<K: std::hash::Hash + Eq, T>(objects: &mut Vec<T>, at: &mut HashMap<K, usize>, name: K, object: T) -> usize {
    if let Some(slot) = at.get(&name).and_then(|index| objects.get_mut(*index)) {
        *slot = object;
        return 1;
    }
    at.insert(name, objects.len());
    objects.push(object);
    0
}
