//! Every value that a policy can learn is the answer to one [`Read`], which `make generate` writes from the contract.

mod generated;
mod set;
mod shown;

use std::{borrow::Cow, sync::Arc};

pub(crate) use self::generated::{ReadOf, ReadScope};
pub use self::{
    generated::{CandidateRead, NodeRead, PlacedRead, PodRead},
    set::ReadSet,
    shown::Shown,
};
use crate::model::{
    LabelValues, MAX_KEPT_ANNOTATION_BYTES, MAX_LABEL_VALUES, Owner, Real, Selector, Taint,
    tally::{MAX_KEY_BYTES, MAX_SHAPES},
};

/// One question of a guest about the world.
pub type Read<'a> = ReadOf<&'a str>;

/// The answer to a [`Read`]; each read has one shape, given in the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'v> {
    /// There is none.
    Absent,
    /// Text, or JSON text for `Field`.
    Text(Cow<'v, str>),
    /// A count, quantity, priority, size or time; 0 or 1 for no or yes.
    Number(i64),
    /// A number with a fraction.
    Real(Real),
    /// Texts.
    Texts(&'v [Box<str>]),
    /// Indices.
    Indices(&'v [u32]),
    /// Taints.
    Taints(&'v [Taint]),
    /// The controller of a pod.
    Owner(&'v Owner),
    /// Nodes by a value.
    Grouping(Grouping<'v>),
    /// A count for each node.
    Counts(Vec<u32>),
    /// Values of a label, each with a count of nodes.
    LabelValues(Arc<LabelValues>),
}

/// The nodes of a request by the value of one label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grouping<'v> {
    /// Each value once, in the order of the first node that has it.
    pub values: Vec<&'v str>,
    /// By node the index of its value; the number of values where the node does not have the label.
    pub groups: Vec<u32>,
}

/// Why a read has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It asks for something that does not exist in the request.
    #[error("there is no {what} {index}; the request has {count}")]
    Missing {
        /// node, placed pod or candidate.
        what: &'static str,
        /// The index that was asked for.
        index: u32,
        /// The number of elements that exist.
        count: usize,
    },
    /// It asks for an annotation whose value was too large to be kept.
    #[error(
        "placed pod {0} has the annotation, but its value is not kept: of the annotations of a placed pod at most \
         {MAX_KEPT_ANNOTATION_BYTES} bytes are"
    )]
    NotKept(u32),
    /// It asks for the values of a label that has too many.
    #[error("the nodes' label has more than {MAX_LABEL_VALUES} values; cluster.label-values lists at most that many")]
    TooManyValues,
    /// It asks for a total of the whole cluster by more sets of keys than one policy may name.
    #[error("the policy reads the whole cluster by more than {MAX_SHAPES} sets of keys: keys must not come from data")]
    TooManyShapes,
    /// It asks for a total by a key that no object can have.
    #[error("a key of {0} bytes; Kubernetes allows {MAX_KEY_BYTES}")]
    LongKey(usize),
    /// It asks for a source of facts that the policy's sidecar, or its test case, does not name.
    #[error("the policy reads the source of facts '{0}', which is not named under `facts` of its sidecar or test case")]
    UndeclaredSource(Box<str>),
    /// It asks for a value whose function the policy did not name as it was loaded.
    #[error("the policy reads {0}, and did not say so as it was loaded")]
    Undescribed(Box<str>),
    /// A filter asks for a value that changes when a pod is bound, and its sidecar says that it does not.
    #[error(
        "the filter counts pods, or reads those on a node ({0}), and its sidecar says `counts: false`: remove that line"
    )]
    Counts(Box<str>),
    /// It asks for a fact that is not there, and the sidecar says that this ends the call.
    #[error("the source '{0}' does not have the fact that the policy reads, or not as a number")]
    AbsentFact(Box<str>),
}

// === impl Read ===

impl<T> ReadOf<T> {
    /// Whether it is of the cluster as a whole, or a fact by its key: the first such read with new keys may go over all pods.
    pub fn is_of_cluster(&self) -> bool {
        self.scope() == ReadScope::Cluster
    }

    /// Whether its value is a yes or a no.
    pub(crate) const fn is_flag(&self) -> bool {
        matches!(
            self,
            Self::Pod(PodRead::NamespaceKnown)
                | Self::Node(_, NodeRead::Unschedulable | NodeRead::ResourceKnown(_))
                | Self::Placed(_, _, PlacedRead::Terminating)
                | Self::PlacedKnown(_)
                | Self::ClusterAtLeast { .. }
        )
    }

    /// The source of facts that it reads.
    pub(crate) const fn fact_source(&mut self) -> Option<&mut T> {
        match self {
            Self::FactsText { source, .. }
            | Self::FactsNumber { source, .. }
            | Self::FactsNodeText { source, .. }
            | Self::FactsNodeNumber { source, .. } => Some(source),
            _ => None,
        }
    }
}

// === impl Value ===

impl<'v> Value<'v> {
    /// Text that is there, borrowed.
    pub fn text(text: &'v str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// Text that may be absent.
    pub fn optional(text: Option<&'v str>) -> Self {
        text.map_or(Self::Absent, Self::text)
    }

    /// A controller that may be absent.
    pub fn owner(owner: Option<&'v Owner>) -> Self {
        owner.map_or(Self::Absent, Self::Owner)
    }

    /// A number with a fraction that may be absent.
    pub fn real(real: Option<Real>) -> Self {
        real.map_or(Self::Absent, Self::Real)
    }

    /// Yes or no.
    pub fn flag(flag: bool) -> Self {
        Self::Number(i64::from(flag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each function of the contract whose result is a bool, so that a new one is not shown as 0 or 1.
    #[test]
    fn the_reads_that_the_contract_answers_with_yes_or_no_are_flags() {
        let contract = include_str!("../../../../plugin-sdk/wit/v0.1.0/policy.wit");
        let is_flag = |line: &&str| line.contains("func(") && line.contains("bool");
        let names: Vec<&str> =
            contract.lines().filter(is_flag).filter_map(|line| line.trim().split(':').next()).collect();
        assert_eq!(names, ["namespace-known", "resource-known", "unschedulable", "known", "terminating", "at-least"]);
        let selector = Selector { namespace: None, label: None, annotation: None, node_label: None };
        for read in [
            Read::Pod(PodRead::NamespaceKnown),
            Read::Node(0, NodeRead::ResourceKnown("cpu")),
            Read::Node(0, NodeRead::Unschedulable),
            Read::PlacedKnown(0),
            Read::Placed(0, 0, PlacedRead::Terminating),
            Read::ClusterAtLeast { selector, n: 1 },
        ] {
            assert!(read.is_flag(), "{read}");
        }
        assert!(!Read::PlacedCount(0).is_flag());
    }
}
