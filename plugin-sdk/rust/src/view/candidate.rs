use super::{Node, Placed};
use crate::door::Door;

/// A node on which kube-scheduler could make room, and whom it would evict.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    door: Door<'a>,
    index: u32,
}

/// All candidates of the request.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    door: Door<'a>,
    count: u32,
}

// === impl Candidate ===

impl<'a> Candidate<'a> {
    pub(crate) fn new(door: Door<'a>, index: u32) -> Self {
        Self { door, index }
    }

    /// The node where room would be made.
    pub fn node(&self) -> Node<'a> {
        Node::new(self.door, self.door.candidate_node(self.index))
    }

    /// The pods that would be evicted, by descending priority.
    pub fn victims(&self) -> Vec<Placed<'a>> {
        let node = self.door.candidate_node(self.index);
        let victims = self.door.candidate_victims(self.index);
        victims.iter().map(|pod| Placed::new(self.door, node, *pod)).collect()
    }

    /// How many `PodDisruptionBudget`s the eviction would violate.
    pub fn pdb_violations(&self) -> u32 {
        self.door.candidate_pdb_violations(self.index)
    }

    /// All candidates of the request, this one among them.
    pub fn all(&self) -> Candidates<'a> {
        Candidates { door: self.door, count: self.door.candidate_count() }
    }
}

// === impl Candidates ===

impl<'a> Candidates<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Candidate<'a>> + use<'a> {
        let door = self.door;
        (0..self.len()).map(move |candidate| Candidate::new(door, candidate as u32))
    }
}
