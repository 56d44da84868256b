use super::{Candidate, Node, Nodes};
use crate::host_calls::HostCalls;

/// All nodes and pods that the gateway knows, those outside of the request included.
///
/// A pod counts from the moment it is being bound until it has succeeded or failed, or is deleted: so a pod that
/// terminates still counts, and one that waits for a node only where it is nominated. The pod being scheduled never counts.
/// Every answer is none where the gateway has no view of the cluster.
///
/// Read it again for each node: the host keeps answers by the values that were read for that node, so a value that is
/// kept from one call to the next makes cached answers wrong.
#[derive(Debug, Clone, Copy)]
pub struct Cluster<'a> {
    pub(super) host: HostCalls<'a>,
}

// === impl Node, Nodes, Candidate ===

impl<'a> Node<'a> {
    /// The cluster that the node is part of.
    pub fn cluster(&self) -> Cluster<'a> {
        Cluster { host: self.host }
    }
}

impl<'a> Nodes<'a> {
    /// The cluster that the nodes are part of.
    pub fn cluster(&self) -> Cluster<'a> {
        Cluster { host: self.host }
    }
}

impl<'a> Candidate<'a> {
    /// The cluster that the candidate is part of, its victims included.
    pub fn cluster(&self) -> Cluster<'a> {
        Cluster { host: self.host }
    }
}
