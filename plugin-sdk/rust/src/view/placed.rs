use crate::host_calls::HostCalls;

/// A pod placed on a node, or being bound to it.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'a> {
    pub(super) host: HostCalls<'a>,
    pub(super) node: u32,
    pub(super) pod: u32,
}

// === impl Placed ===

impl<'a> Placed<'a> {
    pub(crate) fn new(host: HostCalls<'a>, node: u32, pod: u32) -> Self {
        Self { host, node, pod }
    }

    /// Its index among the pods of its node.
    pub(crate) fn index(&self) -> u32 {
        self.pod
    }

    /// When the pod was created, in Unix seconds; none if that is unknown.
    pub fn created(&self) -> Option<u64> {
        Some(self.host.placed_created(self.node, self.pod)).filter(|created| *created != 0)
    }
}
