//! What core tells the outside about its calls: for metrics and logs.

use std::time::Duration;

use crate::{BindOutcome, DecideError, Fault, Member, Verb};

/// How one call of a policy ended.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// It answered.
    Answered {
        /// Nodes or candidates that it was asked about.
        asked: usize,
        /// How many of them it turned down.
        rejected: usize,
    },
    /// It failed.
    Fault(&'a Fault),
}

/// Hears of every call of a policy, on the request path: it must be quick.
pub trait Observer: Send + Sync {
    /// A policy was asked.
    fn called(&self, member: &Member, verb: Verb, outcome: Outcome<'_>, elapsed: Duration);
    /// A fault opened the policy's circuit.
    fn circuit_opened(&self, member: &Member);
    /// A group was asked to bind a pod, and this is what came of it.
    fn bound(&self, _group: &str, _outcome: Result<&BindOutcome, &DecideError>, _elapsed: Duration) {}
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn called(&self, _: &Member, _: Verb, _: Outcome<'_>, _: Duration) {}
    fn circuit_opened(&self, _: &Member) {}
}
