//! What one request is about: the pod, and its nodes as slots of a cluster.

use std::sync::Arc;

use crate::{Candidate, Cluster, NodeMemory, Pod, Slot, View};

use super::{DecideError, Nodes, Query};

/// The pod and the nodes of a filter or prioritize request.
#[derive(Debug)]
pub(crate) struct Scene {
    stage: Stage,
    /// The index in the request of each node of the stage.
    known: Vec<u32>,
    /// The indices of names that the cluster does not know, ascending.
    unknown: Vec<u32>,
}

/// Nodes that policies can be asked about, and views of some of them.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(super) pod: Arc<Pod>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) slots: Arc<[u32]>,
    pub(super) now: u64,
}

// === impl Scene ===

impl Scene {
    pub(crate) fn new(
        query: &Query<'_>,
        cluster: Option<Arc<Cluster>>,
        memory: &NodeMemory,
        now: u64,
    ) -> Result<Self, DecideError> {
        let pod = Arc::clone(&query.pod);
        match query.nodes {
            Nodes::Names(names) => {
                let cluster = cluster.ok_or(DecideError::NoCluster)?;
                let (mut slots, mut known, mut unknown) =
                    (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()), vec![]);
                for (at, name) in names.iter().enumerate() {
                    match cluster.find(name) {
                        Some(slot) => {
                            slots.push(slot);
                            known.push(at as u32);
                        }
                        None => unknown.push(at as u32),
                    }
                }
                Ok(Self { stage: Stage { pod, cluster, slots: slots.into(), now }, known, unknown })
            }
            Nodes::Objects(objects) => {
                let nodes = memory.resolve(objects)?;
                let placed = |name: &str| {
                    let cluster = cluster.as_ref()?;
                    cluster.slots().get(cluster.find(name)? as usize)?.placed.clone()
                };
                let slots = nodes.into_iter().map(|node| Slot { placed: placed(node.name()), node }).collect();
                let cluster = Arc::new(Cluster::new(slots));
                let all: Vec<u32> = (0..objects.len() as u32).collect();
                Ok(Self { stage: Stage { pod, cluster, slots: Arc::from(&all[..]), now }, known: all, unknown: vec![] })
            }
        }
    }

    pub(crate) fn pod(&self) -> &Pod {
        &self.stage.pod
    }

    pub(crate) fn cluster(&self) -> &Arc<Cluster> {
        &self.stage.cluster
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// How many nodes the request has.
    pub(super) fn len(&self) -> usize {
        self.known.len() + self.unknown.len()
    }

    /// The index in the request of a node of the stage.
    pub(super) fn request_index(&self, node: u32) -> u32 {
        self.known[node as usize]
    }

    /// The node of the stage with this index in the request.
    pub(super) fn known_index(&self, request: u32) -> Option<u32> {
        self.known.binary_search(&request).ok().map(|node| node as u32)
    }

    pub(super) fn unknown(&self) -> &[u32] {
        &self.unknown
    }
}

// === impl Stage ===

impl Stage {
    /// Every node of the stage.
    pub(super) fn everyone(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).collect()
    }

    /// A view of the nodes that still stand, in their order.
    pub(super) fn view(&self, standing: &[u32]) -> View {
        let slots = if standing.len() == self.slots.len() {
            Arc::clone(&self.slots)
        } else {
            standing.iter().map(|node| self.slots[*node as usize]).collect()
        };
        View::new(Arc::clone(&self.pod), Arc::clone(&self.cluster), slots, self.now)
    }

    /// The same, as if the victims of the candidates (one for each node of the stage) were gone.
    pub(super) fn view_without(&self, standing: &[u32], candidates: &[Candidate]) -> View {
        let gone = standing.iter().map(|node| {
            let mut victims = candidates[*node as usize].victims.clone();
            victims.sort_unstable();
            victims
        });
        self.view(standing).without(gone.collect())
    }
}
