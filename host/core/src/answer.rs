//! What every answer of a policy is checked for.

use crate::{Annotation, MAX_REASON_BYTES, MAX_SCORE, Preemption, Verdict, annotation};

/// An answer about one node or candidate.
pub(crate) trait Answer {
    /// Why the answer breaks the contract.
    fn breach(&self) -> Option<String>;
    /// Whether it turns the node or candidate down.
    fn rejects(&self) -> bool;
}

fn reason_breach(reason: &str) -> Option<String> {
    let length = reason.len();
    (length > MAX_REASON_BYTES).then(|| format!("a reason of {length} bytes; at most {MAX_REASON_BYTES} are allowed"))
}

impl Answer for Verdict {
    fn breach(&self) -> Option<String> {
        match self {
            Self::Fits => None,
            Self::Unschedulable(reason) | Self::Unresolvable(reason) => reason_breach(reason),
        }
    }

    fn rejects(&self) -> bool {
        *self != Self::Fits
    }
}

impl Answer for u32 {
    fn breach(&self) -> Option<String> {
        (*self > MAX_SCORE).then(|| format!("a score of {self}; at most {MAX_SCORE} is allowed"))
    }

    fn rejects(&self) -> bool {
        false
    }
}

impl Answer for Result<Vec<Annotation>, String> {
    fn breach(&self) -> Option<String> {
        match self {
            Ok(annotations) => annotation::breach(annotations),
            Err(reason) => reason_breach(reason),
        }
    }

    fn rejects(&self) -> bool {
        self.is_err()
    }
}

impl Answer for Preemption {
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
}
