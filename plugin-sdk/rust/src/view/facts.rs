use super::{Candidate, Node, Nodes};
use crate::host_calls::HostCalls;

/// Facts from outside the cluster by their keys, in sources that the policy's sidecar names: prices, budgets, calendars.
/// Those about a node are read of the [`Node`].
///
/// Read them again for each node: the host keeps answers by the values that were read for that node, so a value that is
/// kept from one call to the next makes cached answers wrong.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub(super) host: HostCalls<'a>,
}

// === impl Node, Nodes, Candidate ===

impl<'a> Node<'a> {
    /// The facts that are about no single node.
    pub fn facts(&self) -> Facts<'a> {
        Facts { host: self.host }
    }
}

impl<'a> Nodes<'a> {
    /// The facts that are about no single node.
    pub fn facts(&self) -> Facts<'a> {
        Facts { host: self.host }
    }
}

impl<'a> Candidate<'a> {
    /// The facts that are about no single node.
    pub fn facts(&self) -> Facts<'a> {
        Facts { host: self.host }
    }
}
