//! The answers of policies, and the checks of each.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::model::{BindMetadata, Fault, FaultKind, annotation};

/// The most bytes that one reason may have; a longer one is a fault. kube-scheduler cuts events at 1,024.
pub const MAX_REASON_BYTES: usize = 1024;

/// The most bytes that the different reasons of one call may have together. It is enough for
/// 60,000 different reasons of 60 bytes.
pub const MAX_REASONS_BYTES: usize = 4 << 20;

/// The highest score that a policy may give a node.
pub const MAX_SCORE: u32 = 100;

/// May the pod run on the node?
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It may.
    Fits,
    /// Not now; it may once pods are gone.
    Unschedulable(Arc<str>),
    /// Not whatever pods are gone.
    Unresolvable(Arc<str>),
}

/// The decision about one preemption candidate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Preemption {
    /// Evict the pods that kube-scheduler proposed.
    Keep,
    /// Do not preempt on this node.
    Reject(Arc<str>),
    /// Evict these pods of the node instead, by index.
    Replace(Vec<u32>),
}

/// An answer to bind: the metadata that the pod gets, or the reason why it is not bound.
pub type BindAnswer = Result<BindMetadata, NotBound>;

/// Why a policy does not let a pod be bound to a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotBound {
    /// Not to this node as it is.
    Refused(String),
    /// Not yet: it is to be asked again when the cluster has changed.
    Retry(String),
}

/// An answer to any verb about one node, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SurveyAnswer {
    /// To filter.
    Verdict(Verdict),
    /// To score and rank, 0 to 100.
    Score(u32),
    /// To bind: the metadata that the pod would get, or the reason why it is not bound.
    Bind(BindAnswer),
}

/// The different reasons of one call, each kept once.
#[derive(Debug, Default)]
pub(crate) struct DistinctReasons {
    texts: HashSet<Arc<str>>,
    bytes: usize,
}

/// An answer about one node or candidate.
pub trait VerbAnswer {
    /// Why the answer breaks the contract.
    fn breach(&self) -> Option<String>;
    /// Whether it rejects the node or candidate.
    fn rejects(&self) -> bool;
    /// The reason that is kept with the answer.
    fn reason(&mut self) -> Option<&mut Arc<str>> {
        None
    }
}

/// Checks that the answers of a call keep to the contract, and that there is one for each node.
///
/// # Errors
/// The fault that the call ends with.
pub fn check<A: VerbAnswer>(answers: &[A], asked: usize) -> Result<(), Fault> {
    if answers.len() != asked {
        return Err(Fault::miscounted(answers.len(), asked));
    }
    let breach = answers.iter().find_map(VerbAnswer::breach);
    breach.map_or(Ok(()), |detail| Err(Fault::new(FaultKind::Output, detail)))
}

// === impl DistinctReasons ===

impl DistinctReasons {
    /// Lets an answer share its reason with an equal one before it.
    ///
    /// # Errors
    /// If all reasons together are too large: how the contract is broken.
    pub(crate) fn share(&mut self, answer: &mut impl VerbAnswer) -> Result<(), String> {
        let Some(reason) = answer.reason() else { return Ok(()) };
        if let Some(known) = self.texts.get(reason) {
            *reason = Arc::clone(known);
            return Ok(());
        }
        self.bytes += reason.len();
        if self.bytes > MAX_REASONS_BYTES {
            let limit = MAX_REASONS_BYTES >> 20;
            return Err(format!(
                "different reasons of more than {limit} MiB in one call; a reason must not contain details of one node"
            ));
        }
        self.texts.insert(Arc::clone(reason));
        Ok(())
    }
}

impl From<Verdict> for SurveyAnswer {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

impl From<u32> for SurveyAnswer {
    fn from(score: u32) -> Self {
        Self::Score(score)
    }
}

impl From<BindAnswer> for SurveyAnswer {
    fn from(bind: BindAnswer) -> Self {
        Self::Bind(bind)
    }
}

// === impl NotBound ===

impl NotBound {
    /// The policy's reason.
    pub fn reason(&self) -> &str {
        match self {
            Self::Refused(reason) | Self::Retry(reason) => reason,
        }
    }
}

impl From<String> for NotBound {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

fn reason_breach(reason: &str) -> Option<String> {
    let length = reason.len();
    (length > MAX_REASON_BYTES).then(|| format!("a reason of {length} bytes; at most {MAX_REASON_BYTES} are allowed"))
}

impl VerbAnswer for Verdict {
    fn breach(&self) -> Option<String> {
        match self {
            Self::Fits => None,
            Self::Unschedulable(reason) | Self::Unresolvable(reason) => reason_breach(reason),
        }
    }

    fn rejects(&self) -> bool {
        *self != Self::Fits
    }

    fn reason(&mut self) -> Option<&mut Arc<str>> {
        match self {
            Self::Fits => None,
            Self::Unschedulable(reason) | Self::Unresolvable(reason) => Some(reason),
        }
    }
}

impl VerbAnswer for u32 {
    fn breach(&self) -> Option<String> {
        (*self > MAX_SCORE).then(|| format!("a score of {self}; at most {MAX_SCORE} is allowed"))
    }

    fn rejects(&self) -> bool {
        false
    }
}

impl VerbAnswer for BindAnswer {
    fn breach(&self) -> Option<String> {
        match self {
            Ok(metadata) => annotation::breach(metadata),
            Err(not_bound) => reason_breach(not_bound.reason()),
        }
    }

    fn rejects(&self) -> bool {
        self.is_err()
    }
}

impl VerbAnswer for Preemption {
    fn breach(&self) -> Option<String> {
        match self {
            Self::Keep => None,
            Self::Reject(reason) => reason_breach(reason),
            Self::Replace(victims) => victims.is_empty().then(|| "a replacement without victims".to_owned()),
        }
    }

    fn rejects(&self) -> bool {
        matches!(self, Self::Reject(_))
    }

    fn reason(&mut self) -> Option<&mut Arc<str>> {
        if let Self::Reject(reason) = self { Some(reason) } else { None }
    }
}
