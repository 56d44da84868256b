//! The cluster that a request finds in force, whatever nodes it names.

use std::sync::Arc;

use crate::model::{
    Cluster, Pod,
    cluster::{OwnPlace, PlacedPod},
};

/// The cluster in force as the request found it; none where the gateway has no view of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct WholeCluster {
    cluster: Option<Arc<Cluster>>,
    /// The pod of the request, where it is placed already: it does not count.
    own: Option<PlacedPod>,
}

// === impl WholeCluster ===

impl WholeCluster {
    pub(crate) fn of(cluster: Option<Arc<Cluster>>) -> Self {
        Self { cluster, own: None }
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_deref()
    }

    /// The pod that does not count.
    pub(crate) fn own(&self) -> Option<&PlacedPod> {
        self.own.as_ref()
    }

    /// Leaves out the pod of the request, where it is placed already.
    pub(crate) fn leave_out(&mut self, pod: &Pod, place: OwnPlace) {
        self.own = self.cluster.as_ref().and_then(|cluster| match place {
            OwnPlace::AsThePodSays => cluster.placed_pod(pod),
            OwnPlace::Anywhere => cluster.placed_anywhere(pod),
        });
    }
}
