//! The port behind which tentative places are kept: pods that have a node before their bind.

use std::{sync::Arc, time::Instant};

use crate::model::Pod;

/// Keeps the tentative places of pods.
pub trait Places: Send + Sync {
    /// Counts the pod on the node that it names (see [`Pod::placed_on`]) from now on: until its watch shows it on a node or
    /// nominated for one, it is gone, a bind reserves its place, [`leave`](Self::leave) ends it, or the time is over. A
    /// second call replaces the place.
    fn hold(&self, pod: Arc<Pod>, until: Instant);

    /// Ends the pod's place, if it has one.
    fn leave(&self, uid: &str);
}
