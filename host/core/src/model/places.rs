//! The port behind which pods have places before their bind.

use std::{sync::Arc, time::Instant};

use crate::model::Pod;

/// Keeps the places of pods that have a node before their bind. When a call returns, the cluster in force shows it.
pub trait Places: Send + Sync {
    /// The pod counts on the node that it names ([`Pod::placed_on`]) from now on, until the watch shows it on a node, as
    /// newly nominated or as gone, a bind reserves it, [`leave`](Self::leave) is called, or `until` is over. A second call
    /// replaces the place. A pod that is on a node or being bound keeps that place instead.
    fn hold(&self, pod: Arc<Pod>, until: Instant);

    /// Ends the pod's tentative place, whoever has given it.
    fn leave(&self, uid: &str);
}
