//! The verbs that a policy may have: it implements the traits of those that it has.
//!
//! A verb is a function of its reads. The policy value holds its settings and nothing else: it is shared (`&self`), and
//! the host may make a fresh instance, or ask another one, for any call.

use crate::{BindMetadata, Candidate, Node, Nodes, NotBound, Pod, Preemption, Verdict};

/// Says which nodes a pod may run on.
pub trait Filter {
    /// May the pod run on the node?
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict;
}

/// Says how good a node is, each by itself.
pub trait Score {
    /// Gives the node 0 to 100; higher is better. More than 100 is a fault.
    fn score(&self, pod: &Pod, node: &Node) -> u32;
}

/// Says how good the nodes are, seen together.
pub trait Rank {
    /// Gives each node 0 to 100, in the order of the nodes. More than 100, or another count, is a fault.
    fn rank(&self, pod: &Pod, nodes: &Nodes) -> Vec<u32>;
}

/// Says which pods may be evicted for another.
pub trait Preempt {
    /// Keeps the candidate, drops it, or names other victims.
    fn preempt(&self, pod: &Pod, candidate: &Candidate) -> Preemption;
}

/// Chooses the metadata that a pod carries from its binding on.
pub trait Bind {
    /// The annotations and labels to write as the pod is bound to the node.
    ///
    /// # Errors
    /// If the pod cannot be bound there any more, or not yet; the text goes to kube-scheduler.
    fn bind(&self, pod: &Pod, node: &Node) -> Result<BindMetadata, NotBound>;
}

/// Refuses settings that have the right types and still make no sense.
pub trait Validate {
    /// Checks the settings. The gateway calls it as the policy loads, and of most instances before their first call.
    ///
    /// # Errors
    /// If they make no sense; the text goes to the operator.
    fn validate(&self) -> Result<(), String>;
}
