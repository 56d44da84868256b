use super::{Node, Placed};
use crate::host_calls::HostCalls;

/// A node on which kube-scheduler could make room, and the pods that it would evict.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub(super) host: HostCalls<'a>,
    pub(super) candidate: u32,
}

/// All candidates of the request.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    host: HostCalls<'a>,
    count: u32,
}

// === impl Candidate ===

impl<'a> Candidate<'a> {
    pub(crate) fn new(host: HostCalls<'a>, candidate: u32) -> Self {
        Self { host, candidate }
    }

    /// The node where room would be made.
    pub fn node(&self) -> Node<'a> {
        Node::new(self.host, self.host.candidates_node(self.candidate))
    }

    /// The pods that would be evicted, by descending priority.
    pub fn victims(&self) -> Vec<Placed<'a>> {
        let node = self.host.candidates_node(self.candidate);
        let victims = self.host.candidates_victims(self.candidate);
        victims.iter().map(|pod| Placed::new(self.host, node, *pod)).collect()
    }

    /// All candidates of the request, this one among them.
    pub fn all(&self) -> Candidates<'a> {
        Candidates { host: self.host, count: self.host.candidates_count() }
    }
}

// === impl Candidates ===

impl<'a> Candidates<'a> {
    /// The number of candidates.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Candidate<'a>> + use<'a> {
        let host = self.host;
        (0..self.len()).map(move |candidate| Candidate::new(host, candidate as u32))
    }
}
