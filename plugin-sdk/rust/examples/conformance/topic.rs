//! The topics.

use serde::Deserialize;

/// One for each part of the contract, and for each way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Topic {
    Pod,
    Node,
    Placed,
    Cluster,
    Namespace,
    Facts,
    Field,
    Large,
    Time,
    Pool,
    Refused,
    Panic,
    Trap,
    Recursion,
    Loop,
    Memory,
    LongReason,
    HighScore,
    NoVictims,
    MissingNode,
    MissingPod,
    MissingCandidate,
    ForeignSource,
    Log,
    LogFlood,
}
