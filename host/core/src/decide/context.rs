//! The subject of one request: the pod, and its nodes as slots of a cluster.

use std::sync::Arc;

use crate::{
    decide::node_cache::NodeCache,
    model::{
        Candidate, Cluster, Pod, View,
        cluster::{OwnPlace, WholeCluster},
        facts::Moment,
    },
};

use super::{DecideError, Nodes, Query};

/// The pod and the nodes of a filter or prioritize request.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(super) node_set: NodeSet,
    /// The index in the request of each node of the set; none where that has every node of the request.
    request_indices: Option<Vec<u32>>,
    /// The indices of names that the cluster does not know, ascending.
    pub(super) unknown: Vec<u32>,
}

/// Nodes that policies can be asked about, and views of some of them.
#[derive(Debug)]
pub(crate) struct NodeSet {
    pub(super) pod: Arc<Pod>,
    pub(super) cluster: Arc<Cluster>,
    /// Answers the reads about the whole cluster.
    pub(super) whole: WholeCluster,
    pub(super) slots: Arc<[u32]>,
    pub(super) now: u64,
}

// === impl RequestContext ===

impl RequestContext {
    /// The pod is not where it is placed already, and nominated pods that it outranks are not on their nodes: they must not
    /// stand in its way.
    pub(crate) fn new(
        query: &Query<'_>,
        in_force: Option<&Arc<Cluster>>,
        node_cache: &NodeCache,
        moment: &Moment,
        own: OwnPlace,
    ) -> Result<Self, DecideError> {
        let pod = Arc::clone(&query.pod);
        let of = |cluster: Option<&Arc<Cluster>>| cluster.cloned().ok_or(DecideError::NoCluster);
        let (cluster, in_force, slots): (_, _, Arc<[u32]>) = match query.nodes {
            Nodes::Names(names) => {
                let cluster = of(in_force)?;
                let slots = names.iter().map(|name| cluster.find(name).unwrap_or(Nodes::UNKNOWN)).collect();
                (Arc::clone(&cluster), Some(cluster), slots)
            }
            Nodes::Slots { cluster, slots } => (of(cluster)?, cluster.cloned(), Arc::clone(slots)),
            Nodes::Objects(objects) => {
                let (nodes, slots) = node_cache.resolve(objects, in_force, &moment.facts)?;
                (nodes, in_force.cloned(), slots.into())
            }
        };
        let is_known = |slot: &u32| *slot != Nodes::UNKNOWN;
        let (slots, request_indices, unknown) = if slots.iter().all(is_known) {
            (slots, None, vec![])
        } else {
            let (known, unknown) = (0..slots.len() as u32).partition(|at| is_known(&slots[*at as usize]));
            (slots.iter().copied().filter(is_known).collect(), Some(known), unknown)
        };
        let whole = WholeCluster::of(in_force, &pod, own);
        let without = match whole.cluster() {
            Some(in_force) if Arc::ptr_eq(in_force, &cluster) => cluster.without_all(whole.hidden()),
            _ => cluster.without_all(&cluster.not_counted(&pod, own)),
        };
        let cluster = without.map_or(cluster, Arc::new);
        let node_set = NodeSet { pod, cluster, whole, slots, now: moment.now };
        Ok(Self { node_set, request_indices, unknown })
    }

    /// A request about some nodes of the set.
    pub(super) fn of_nodes(&self, nodes: &[u32]) -> Self {
        self.of_slots(nodes.iter().map(|node| self.node_set.slots[*node as usize]).collect())
    }

    /// The nodes of the cluster that are not in the set.
    pub(super) fn slots_not_asked_about(&self) -> Arc<[u32]> {
        let mut is_asked_about = vec![false; self.cluster().slots().len()];
        self.node_set.slots.iter().for_each(|slot| is_asked_about[*slot as usize] = true);
        (0..).zip(is_asked_about).filter(|(_, is)| !is).map(|(slot, _)| slot).collect()
    }

    /// The slots of the set.
    pub(crate) fn slots(&self) -> &Arc<[u32]> {
        &self.node_set.slots
    }

    /// A request about these nodes of the cluster.
    pub(crate) fn of_slots(&self, slots: Arc<[u32]>) -> Self {
        let NodeSet { pod, cluster, whole, now, .. } = &self.node_set;
        let (pod, cluster, whole) = (Arc::clone(pod), Arc::clone(cluster), whole.clone());
        let node_set = NodeSet { pod, cluster, whole, slots, now: *now };
        Self { node_set, request_indices: None, unknown: vec![] }
    }

    /// The cluster in force without the pods whose bind another replica decides; none if there are none.
    pub(crate) fn without_forwarded(&self) -> Option<Arc<Cluster>> {
        self.node_set.whole.cluster()?.without_forwarded().map(Arc::new)
    }

    /// The cluster in force.
    pub(crate) fn whole(&self) -> Option<&Arc<Cluster>> {
        self.node_set.whole.cluster()
    }

    pub(crate) fn pod(&self) -> &Pod {
        &self.node_set.pod
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.node_set.cluster
    }

    /// The snapshot of the whole cluster, which knows namespaces; the nodes of the request may come with it.
    pub(crate) fn in_force(&self) -> Option<&Cluster> {
        self.node_set.whole.cluster().map(AsRef::as_ref)
    }

    /// The number of nodes in the request.
    pub(crate) fn len(&self) -> usize {
        self.node_set.slots.len() + self.unknown.len()
    }

    /// The index in the request of a node of the set.
    pub(crate) fn request_index(&self, node: u32) -> u32 {
        self.request_indices.as_ref().map_or(node, |indices| indices[node as usize])
    }

    /// The index in the request of the node with this name.
    pub(crate) fn request_index_of(&self, name: &str) -> Option<u32> {
        let slot = self.cluster().find(name)?;
        let node = self.node_set.slots.iter().position(|asked| *asked == slot)?;
        Some(self.request_index(node as u32))
    }

    /// The slot of the node with this index in the request; [`Nodes::UNKNOWN`] where the cluster does not know it.
    pub(crate) fn slot_of(&self, index: u32) -> u32 {
        let node = match &self.request_indices {
            Some(indices) => indices.binary_search(&index).unwrap_or(usize::MAX),
            None => index as usize,
        };
        self.node_set.slots.get(node).copied().unwrap_or(Nodes::UNKNOWN)
    }

    /// The name of the node with this index in the request; none where the cluster does not know it.
    pub(crate) fn node_name(&self, index: u32) -> Option<Arc<str>> {
        Some(Arc::clone(self.cluster().slots().get(self.slot_of(index) as usize)?.node.name()))
    }

    /// The values of the nodes of the set, in the order of the request; 0 for nodes that are not known.
    pub(super) fn by_request(&self, by_node: Vec<u32>) -> Vec<u32> {
        let Some(indices) = &self.request_indices else { return by_node };
        let mut by_request = vec![0; self.len()];
        for (at, value) in indices.iter().zip(by_node) {
            by_request[*at as usize] = value;
        }
        by_request
    }
}

// === impl NodeSet ===

impl NodeSet {
    /// A view of every node of the set.
    pub(super) fn whole_view(&self) -> View {
        self.view_of(Arc::clone(&self.slots))
    }

    /// A view of some nodes, in their order.
    pub(super) fn view(&self, nodes: &[u32]) -> View {
        if nodes.len() == self.slots.len() {
            return self.whole_view();
        }
        self.view_of(nodes.iter().map(|node| self.slots[*node as usize]).collect())
    }

    fn view_of(&self, slots: Arc<[u32]>) -> View {
        let view = View::new(Arc::clone(&self.pod), Arc::clone(&self.cluster), slots, self.now);
        view.with_whole(self.whole.clone())
    }

    /// The same, as if the victims of the candidates (one for each node of the set) were gone.
    pub(super) fn view_without(&self, nodes: &[u32], candidates: &[Candidate]) -> View {
        let gone = nodes.iter().map(|node| {
            let mut victims = candidates[*node as usize].victims.clone();
            victims.sort_unstable();
            victims
        });
        self.view(nodes).without(gone.collect())
    }
}
