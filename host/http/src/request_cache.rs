//! The parts of requests that the wire keeps, to read the next ones faster: names, their order and lists, and pods.

mod name_index;
mod name_lists;
mod pods;
mod successors;

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_core::{Cluster, Gateway, KnownNodes, ObjectError, Pod, Sender};

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
    /// The order of no nodes.
    no_order: Arc<SuccessorTable>,
    pods: RecentPods,
}

// === impl RequestCache ===

impl RequestCache {
    /// Builds the index of names when a cluster is set, so that no request does. It is kept while no node comes or goes.
    pub(crate) fn follow(self: &Arc<Self>, gateway: &Gateway) {
        let cache = Arc::clone(self);
        gateway.follow_clusters(move |cluster| drop(cache.names(Some(cluster))));
    }

    /// The names of the cluster in force.
    pub(crate) fn names(&self, cluster: Option<&Cluster>) -> Arc<NameIndex> {
        cluster.map_or_else(|| Arc::clone(&self.nothing), |cluster| self.indexes.of_cluster(cluster))
    }

    /// The whole nodes that a sender has brought, with their order.
    pub(crate) fn known_nodes(&self, sender: Sender, nodes: KnownNodes) -> KnownNodeOrder {
        let is_empty = nodes.cluster().slots().is_empty();
        let order = if is_empty { Arc::clone(&self.no_order) } else { self.indexes.of_sender(sender, nodes.cluster()) };
        KnownNodeOrder { nodes, order }
    }

    /// Parses a pod, unless one of the last requests has brought the same.
    ///
    /// # Errors
    /// As for [`Pod::from_json`].
    pub(crate) fn pod(&self, json: Bytes) -> Result<Arc<Pod>, ObjectError> {
        self.pods.read(json)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_core::{NoObserver, Node, Slot, SystemClock};

    use super::*;

    fn cluster(names: &[&str]) -> Arc<Cluster> {
        let node = |name: &&str| Node::from_json(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#).into()).unwrap();
        let slot = |name: &&str| Slot { node: Arc::new(node(name)), placed: None };
        Arc::new(Cluster::new(names.iter().map(slot).collect::<Vec<_>>()))
    }

    #[test]
    fn the_names_of_a_cluster_are_ready_before_the_first_request_and_again_after_each_change() {
        let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(1));
        let (before, cache) = (cluster(&["a"]), Arc::new(RequestCache::default()));
        gateway.set_cluster(Arc::clone(&before));
        cache.follow(&gateway);
        assert!(cache.indexes.has(&before), "that cluster was set before anyone followed");
        for names in [&["a", "b"][..], &["b"]] {
            let next = cluster(names);
            gateway.set_cluster(Arc::clone(&next));
            assert!(cache.indexes.has(&next), "{names:?}");
        }
    }
}
