//! Every fact that a policy can learn is the answer to one [`Read`], which `make generate` writes from the contract.

mod generated;
mod shown;

use std::{borrow::Cow, sync::Arc};

pub(crate) use self::generated::{ReadAttribute, ReadScope};
pub use self::{
    generated::{CandidateRead, NodeRead, PlacedRead, PodRead, Read},
    shown::Shown,
};
use crate::{LabelValues, MAX_KEPT_ANNOTATION_BYTES, MAX_LABEL_VALUES, Selector, Taint};

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
    /// It asks for the values of a label that has too many.
    #[error("the nodes' label has more than {MAX_LABEL_VALUES} values; cluster.label-values lists at most that many")]
    TooManyValues,
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
