//! What the wire keeps of requests, to read the next ones faster: names, their order and lists, and pods.

mod name_index;
mod name_lists;
mod pods;
mod successors;

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_core::{Cluster, KnownNodes, ObjectError, Pod, Sender};

use self::{name_index::NameIndexes, pods::RecentPods};
pub(crate) use self::{
    name_index::{KnownNodeOrder, NameIndex},
    name_lists::Elements,
    successors::SuccessorTable,
};

/// Parsed parts of the last requests. One serves a whole server.
#[derive(Debug, Default)]
pub struct RequestCache {
    indexes: NameIndexes,
    /// The index of no names.
    nothing: Arc<NameIndex>,
    pods: RecentPods,
}

// === impl RequestCache ===

impl RequestCache {
    /// The names of the cluster in force.
    pub(crate) fn names(&self, cluster: Option<&Cluster>) -> Arc<NameIndex> {
        cluster.map_or_else(|| Arc::clone(&self.nothing), |cluster| self.indexes.of(None, cluster))
    }

    /// The whole nodes that a sender has brought, with their order.
    pub(crate) fn known_nodes(&self, sender: Sender, nodes: KnownNodes) -> KnownNodeOrder {
        let is_empty = nodes.cluster().slots().is_empty();
        let index = if is_empty { Arc::clone(&self.nothing) } else { self.indexes.of(Some(sender), nodes.cluster()) };
        KnownNodeOrder { nodes, index }
    }

    /// Parses a pod, unless one of the last requests has brought the same.
    ///
    /// # Errors
    /// As for [`Pod::from_json`].
    pub(crate) fn pod(&self, json: Bytes) -> Result<Arc<Pod>, ObjectError> {
        self.pods.read(json)
    }
}
