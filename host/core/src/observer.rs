//! What core tells the outside about its calls: for metrics and logs.

use std::time::Duration;

use crate::{BindOutcome, BindQuery, DecideError, Disabled, Fault, Member, Pod, ReadLine, RequestId, Verb};

/// One call of a policy, as an [`Observer`](crate::Observer) may log it.
#[derive(Debug, Clone, Copy)]
pub struct CallOf<'c> {
    /// The request that it was made for.
    pub request: &'c RequestId,
    /// The pod in question.
    pub pod: &'c Pod,
    /// Who was asked.
    pub member: &'c Member,
    /// What it was asked.
    pub verb: Verb,
}

/// How one call of a policy ended.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// It answered.
    Answered {
        /// Nodes or candidates that it was asked about.
        asked: usize,
        /// How many of them it turned down.
        rejected: usize,
        /// How many answers the guest itself gave; the others were cached.
        evaluated: usize,
    },
    /// It failed.
    Fault(&'a Fault),
}

/// A bind request, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct BindReport<'a> {
    /// The group that was asked.
    pub group: &'a str,
    /// The request.
    pub query: &'a BindQuery<'a>,
    /// Its outcome.
    pub outcome: Result<&'a BindOutcome, &'a DecideError>,
    /// The IDs of the policies that gave the pod annotations.
    pub authors: &'a [Box<str>],
    /// The time since the request came in.
    pub elapsed: Duration,
}

/// Hears of every call of a policy, on the request path: it must be quick.
pub trait Observer: Send + Sync {
    /// A policy was asked.
    fn called(&self, member: &Member, verb: Verb, outcome: Outcome<'_>, elapsed: Duration);
    /// A call failed; [`Observer::called`] hears of it too. This is for a log.
    fn failed(&self, _: CallOf<'_>, _: &Fault) {}
    /// A policy in shadow mode would have turned nodes down.
    fn would_reject(&self, _: CallOf<'_>, _: &ShadowRejections<'_>) {}
    /// A fault opened the policy's circuit.
    fn circuit_opened(&self, member: &Member);
    /// A group was asked to bind a pod, and this is what came of it.
    fn bound(&self, _: &BindReport<'_>) {}
    /// The decision cache was disabled for this verb of the policy.
    fn cache_disabled(&self, _: &Member, _: Verb, _: Disabled) {}
    /// A cached answer was evaluated again, and was the same or not.
    fn rechecked(&self, _: &Member, _: Verb, _is_same: bool) {}
    /// The two answers differed.
    fn differed(&self, _: &Member, _: Verb, _: &Difference) {}
}

/// What a policy in shadow mode would have turned down.
#[derive(Debug, Clone, Copy)]
pub struct ShadowRejections<'r> {
    /// How many nodes it was asked about.
    pub asked: usize,
    /// How many of them it would have turned down.
    pub rejected: usize,
    /// The name of the first of them.
    pub node: &'r str,
    /// Why that one.
    pub reason: &'r str,
}

/// A cached answer, and a different one from a fresh instance that read the same values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The node.
    pub node: String,
    /// The cached answer.
    pub cached: String,
    /// The answer of a fresh instance.
    pub evaluated: String,
    /// The values that this instance read.
    pub reads: Vec<ReadLine>,
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn called(&self, _: &Member, _: Verb, _: Outcome<'_>, _: Duration) {}
    fn circuit_opened(&self, _: &Member) {}
}
