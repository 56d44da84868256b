//! Pods without a node, as their watch shows them.

use std::sync::Arc;

use crate::model::Pod;

/// A pod without a node, as its watch shows it.
#[derive(Debug, Clone)]
pub struct WaitingPod {
    /// The pod; it answers every read.
    pub pod: Arc<Pod>,
    /// The node of `status.nominatedNodeName`.
    pub nominated: Option<NominatedFor>,
}

/// The node that a pod is nominated for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NominatedFor {
    /// Its name.
    pub node: Arc<str>,
    /// Whether plimsoll has nominated it.
    pub is_own: bool,
}

/// What a watch of pods without a node shows.
#[derive(Debug, Clone)]
pub enum WaitingChange {
    /// A pod as it is now.
    Shown(WaitingPod),
    /// The pod with this UID has a node, has ended or is gone.
    Gone(Box<str>),
    /// A list is complete.
    Listed,
}
