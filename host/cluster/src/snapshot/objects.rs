//! The objects of a snapshot file, and the cluster that they make.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use bytes::Bytes;
use hashbrown::HashMap;
use plimsoll_core::{Cluster, DeviceClass, DeviceClasses, Namespace, Node, Pod};

use crate::document::DocumentObject;

/// The objects of a snapshot, by unique names: the later of two objects with one name counts.
#[derive(Default)]
pub(super) struct SnapshotObjects {
    /// In the order of the file.
    pub(super) nodes: Vec<Node>,
    node_at: HashMap<Arc<str>, usize>,
    pods: BTreeMap<(Box<str>, Box<str>), Pod>,
    namespaces: HashMap<Arc<str>, Arc<Namespace>>,
    device_classes: BTreeMap<Arc<str>, DeviceClass>,
}

// === impl SnapshotObjects ===

impl SnapshotObjects {
    pub(super) fn add(&mut self, object: &DocumentObject<'_>) -> Result<(), String> {
        match object.kind.as_deref() {
            Some("Node") => {
                // A copy: a part of the file would keep all of it in memory.
                let json = Bytes::copy_from_slice(object.with_defaults()?.as_bytes());
                let node = Node::from_json(json).map_err(|error| object.wrong(error))?.prepared();
                if let Some(earlier) = self.node_at.get(node.name()).and_then(|at| self.nodes.get_mut(*at)) {
                    *earlier = node;
                } else {
                    self.node_at.insert(Arc::clone(node.name()), self.nodes.len());
                    self.nodes.push(node);
                }
            }
            Some("Pod") => {
                let pod =
                    Pod::placed_from_json(object.with_defaults()?.as_bytes()).map_err(|error| object.wrong(error))?;
                self.pods.insert((pod.namespace().into(), pod.name().into()), pod);
            }
            Some("Namespace") => {
                let namespace = Namespace::from_json(object.with_defaults()?.as_bytes());
                let namespace = namespace.map_err(|error| object.wrong(error))?;
                self.namespaces.insert(Arc::clone(namespace.name()), Arc::new(namespace));
            }
            Some("DeviceClass") => {
                let class = DeviceClass::from_json(object.with_defaults()?.as_bytes());
                let class = class.map_err(|error| object.wrong(error))?;
                self.device_classes.insert(Arc::clone(class.name()), class);
            }
            Some(_) => {}
            None => return Err(object.wrong("the key 'kind' is missing: expected a Node, a Pod or a List")),
        }
        Ok(())
    }

    /// The cluster, and the pods that wait for a node.
    pub(super) fn into_cluster(self, path: &Path) -> (Cluster, Vec<Pod>) {
        let is_lost = |pod: &&Pod| pod.node().is_some_and(|node| !self.node_at.contains_key(node)) && !pod.finished();
        let lost = self.pods.values().filter(is_lost).count();
        if lost > 0 {
            tracing::warn!("{}: {lost} pods are placed on nodes that are not in the file", path.display());
        }
        // A file without any was made without them, and says nothing about them.
        let namespaces = (!self.namespaces.is_empty()).then(|| Arc::new(self.namespaces));
        let classes = Arc::new(DeviceClasses::new(self.device_classes.values()));
        let (waiting, placed) =
            self.pods.into_values().filter(|pod| !pod.finished()).partition(|pod| pod.node().is_none());
        let cluster = Cluster::from_objects(self.nodes, placed).with_namespaces(namespaces);
        (cluster.with_device_classes(classes), waiting)
    }
}
