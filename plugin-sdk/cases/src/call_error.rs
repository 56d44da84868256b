//! Why a call has no answers to compare.

use plimsoll_core::{Fault, Verb};

use crate::WorldError;

/// Why a caller has no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    World(WorldError),
    Fault(Verb, Fault),
    /// The answers that are kept have too many bytes.
    TooLarge,
}
