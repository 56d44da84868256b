//! Reports of core's calls to the outside: for metrics and logs.

use std::time::Duration;

use crate::{
    cache::Disabled,
    decide::{BindCallWait, BindOutcome, DecideError, Member, ModelDifference, RejectedNodes},
    model::{BindQuery, Fault, Pod, RequestId, Verb},
};

/// One call of a policy, as an [`Observer`](crate::Observer) may log it.
#[derive(Debug, Clone, Copy)]
pub struct CallOf<'c> {
    /// The request that it was made for.
    pub request: &'c RequestId,
    /// The pod in question.
    pub pod: &'c Pod,
    /// The policy that was asked.
    pub member: &'c Member,
    /// The verb that it was asked.
    pub verb: Verb,
}

/// The outcome of one call of a policy.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// It answered.
    Answered {
        /// Nodes or candidates that it was asked about.
        asked: usize,
        /// The number of nodes or candidates that it rejected.
        rejected: usize,
        /// The number of answers that the guest itself gave; the others were cached.
        evaluated: usize,
    },
    /// It failed.
    Fault(&'a Fault),
}

/// A bind request, and its result.
#[derive(Debug, Clone, Copy)]
pub struct BindReport<'a> {
    /// The group that was asked.
    pub group: &'a str,
    /// The request.
    pub query: &'a BindQuery<'a>,
    /// Its outcome.
    pub outcome: Result<&'a BindOutcome, &'a DecideError>,
    /// The time since the request came in.
    pub elapsed: Duration,
}

/// A filter request that left its pod without a node.
#[derive(Debug, Clone, Copy)]
pub struct LeftWithoutNode<'a> {
    /// The group that was asked.
    pub group: &'a str,
    /// The pod.
    pub pod: &'a Pod,
    /// Why.
    pub rejected: &'a RejectedNodes,
    /// The node that the pod is nominated for.
    pub nominated: Option<&'a str>,
}

/// Hears of every call of a policy, on the request path: it must be quick.
pub trait Observer: Send + Sync {
    /// A policy was asked.
    fn called(&self, _: CallOf<'_>, _: Outcome<'_>, _elapsed: Duration) {}
    /// A policy in shadow mode would have turned nodes down.
    fn would_reject(&self, _: CallOf<'_>, _: &ShadowRejections<'_>) {}
    /// A call that no request asks for has failed. It has no other effect.
    fn failed_unasked(&self, _: &Member, _: Verb) {}
    /// A pod was left without a node: for the first time, or for other reasons than before.
    fn left_without_node(&self, _: &LeftWithoutNode<'_>) {}
    /// The policies of a group have rejected the same nodes for a pod as a moment before, for other reasons.
    fn unstable_reasons(&self, _group: &str, _: &Pod) {}
    /// The model of kube-scheduler's filters rejects nodes that kube-scheduler accepts.
    fn model_differs(&self, _: &ModelDifference, _: &Pod) {}
    /// A fault opened the policy's circuit for this verb.
    fn circuit_opened(&self, _: &Member, _: Verb) {}
    /// A group was asked to bind a pod, with this result.
    fn bound(&self, _: &BindReport<'_>) {}
    /// The policies are asked again about a bind: values that they had read changed before the place was reserved.
    fn bind_asked_again(&self, _: &BindQuery<'_>) {}
    /// A filter of a group has waited for the bind calls of pods that were decided before.
    fn waited_for_bind_calls(&self, _group: &str, _: BindCallWait) {}
    /// The decision cache was disabled for this verb of the policy.
    fn cache_disabled(&self, _: &Member, _: Verb, _: Disabled) {}
}

/// The nodes that a policy in shadow mode would have rejected.
#[derive(Debug, Clone, Copy)]
pub struct ShadowRejections<'r> {
    /// The number of nodes that it was asked about.
    pub asked: usize,
    /// The number of nodes that it would have rejected.
    pub rejected: usize,
    /// The name of the first of them.
    pub node: &'r str,
    /// Why that one.
    pub reason: &'r str,
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
