//! The host's reasons to end a call.

use std::time::Duration;

use plimsoll_core::ReadError;

use crate::shares::Full;

/// Why the host itself ended a call, from within an import or after an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("{0}")]
    Panic(String),
    #[error("the guest's runtime gave up with exit code {0}")]
    Exit(u32),
    #[error("it ended with exit code {0}; expected 0")]
    Status(u32),
    // In whole milliseconds: what is left of a request's time is never a round number.
    #[error("its time of {:?} is over", Duration::from_millis(.0.as_micros().div_ceil(1_000) as u64))]
    Deadline(Duration),
    #[error("{0}")]
    Output(String),
    /// A function of WASI that has no answer here.
    #[error("it called {0}, which policies do not have")]
    NotProvided(String),
    #[error("{0}")]
    Host(&'static str),
    /// `is_much`: it held or requested more than half of its limit.
    #[error("{full}")]
    Full { full: Full, is_much: bool },
    /// The start of a warm instance read or logged something, which needs a call.
    #[error("unasked")]
    Unasked,
}
