//! The narrow door: every fact that a policy can learn is the answer to one [`Read`].

mod display;
mod shown;

use std::borrow::Cow;

pub(crate) use self::display::placed;
pub use self::shown::Shown;
use crate::{MAX_KEPT_ANNOTATION_BYTES, Taint};

/// One question of a guest about the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Read<'a> {
    /// Of the pod being scheduled.
    Pod(PodRead<'a>),
    /// How many nodes the request has.
    NodeCount,
    /// Of one node, by its index in the request.
    Node(u32, NodeRead<'a>),
    /// How many pods are placed on a node.
    PlacedCount(u32),
    /// How many pods of a namespace, with a label of this value, are placed on a node.
    PlacedLabelled {
        /// Index of the node.
        node: u32,
        /// The namespace of the pods that count.
        namespace: &'a str,
        /// The label's key.
        key: &'a str,
        /// The label's value.
        value: &'a str,
    },
    /// All nodes by the value of one label.
    NodesByLabel(&'a str),
    /// As [`Read::PlacedLabelled`], of each node.
    NodesLabelled {
        /// The namespace of the pods that count.
        namespace: &'a str,
        /// The label's key.
        key: &'a str,
        /// The label's value.
        value: &'a str,
    },
    /// Of one pod placed on a node, by both indices.
    Placed(u32, u32, PlacedRead<'a>),
    /// How many preemption candidates there are.
    CandidateCount,
    /// The node of a candidate.
    CandidateNode(u32),
    /// The pods that would be evicted, as indices of pods placed on the candidate's node.
    CandidateVictims(u32),
    /// How many `PodDisruptionBudget`s the eviction would violate.
    CandidatePdbViolations(u32),
    /// The policy's settings as JSON.
    Settings,
    /// Unix seconds, rounded down to a multiple of this many seconds.
    Now(u32),
}

/// A fact about the pod being scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PodRead<'a> {
    /// `metadata.name`.
    Name,
    /// `metadata.namespace`.
    Namespace,
    /// `metadata.uid`.
    Uid,
    /// One label.
    Label(&'a str),
    /// One annotation.
    Annotation(&'a str),
    /// `spec.priority`, 0 if absent.
    Priority,
    /// Effective request of one resource.
    Request(&'a str),
    /// The images of its containers.
    Images,
    /// JSON at an RFC 6901 pointer.
    Field(&'a str),
}

/// A fact about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeRead<'a> {
    /// `metadata.name`.
    Name,
    /// One label.
    Label(&'a str),
    /// One annotation.
    Annotation(&'a str),
    /// `spec.taints`.
    Taints,
    /// One resource of `status.allocatable`.
    Allocatable(&'a str),
    /// What the placed pods request of one resource.
    Requested(&'a str),
    /// Bytes of a pulled image.
    ImageSize(&'a str),
    /// JSON at an RFC 6901 pointer.
    Field(&'a str),
}

/// A fact about a pod placed on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlacedRead<'a> {
    /// `metadata.name`.
    Name,
    /// `metadata.namespace`.
    Namespace,
    /// One label.
    Label(&'a str),
    /// One annotation.
    Annotation(&'a str),
    /// `spec.priority`, 0 if absent.
    Priority,
    /// Effective request of one resource.
    Request(&'a str),
    /// `metadata.creationTimestamp` in Unix seconds.
    Created,
}

/// The answer to a [`Read`]; each read has one shape, given in the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'v> {
    /// There is none.
    Absent,
    /// Text, or JSON text for `Field`.
    Text(Cow<'v, str>),
    /// A count, quantity, priority, size or time.
    Number(i64),
    /// Texts.
    Texts(&'v [Box<str>]),
    /// Indices.
    Indices(&'v [u32]),
    /// Taints.
    Taints(&'v [Taint]),
    /// Nodes by a value.
    Grouping(Grouping<'v>),
    /// A count for each node.
    Counts(Vec<u32>),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It asks for something that does not exist in the request.
    #[error("there is no {what} {index}; the request has {count}")]
    Missing {
        /// node, placed pod or candidate.
        what: &'static str,
        /// What was asked for.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// It asks for an annotation whose value was too large to be kept.
    #[error(
        "placed pod {0} has the annotation, but its value is not kept: of the annotations of a placed pod at most \
         {MAX_KEPT_ANNOTATION_BYTES} bytes are"
    )]
    NotKept(u32),
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
}
