//! The answer about the nodes that kube-scheduler did not offer: it offers an extender a sample of the nodes that its own
//! filters accept, and takes a status for every node that the extender names.
//!
//! Source: `findNodesThatPassExtenders` and `numFeasibleNodesToFind` in `pkg/scheduler/schedule_one.go` of Kubernetes
//! 1.37 (1.33 to 1.37 alike).

use super::{
    Caller, DecideError, FilterOutcome, Group, Reason, RejectedBy, Rejection, RequestContext, filter,
    model_watch::{ModelVerdict, TrustedFilters},
    outcome::Reasons,
};
use crate::model::Slot;

/// kube-scheduler names all nodes that its own filters accept, unless they are this many or more: then the names may be a
/// sample, another one in each attempt (its `minFeasibleNodesToFind`).
pub(crate) const MIN_SAMPLE: usize = 100;

/// Of a cluster with more nodes, a reply names those that kube-scheduler's own filters reject, each with its text, and has
/// one text for the offered ones. A reply about 5,000 nodes takes kube-scheduler 8 ms in its serial cycle, one about 1,000
/// less than 2 ms.
pub(crate) const MAX_NAMED: usize = 1_000;

/// The reason for a node that all filters accept.
const NOT_OFFERED: &str = "fits, but kube-scheduler has not looked at it";

/// The nodes that would keep the pod, by slot.
#[derive(Debug, Default)]
pub(crate) struct FreeNodes {
    /// Those that kube-scheduler may be told to try.
    pub(crate) untried: Vec<u32>,
}

/// Adds the nodes that the request does not name to the outcome of a filter that leaves no node, and returns those that
/// would keep the pod. `is_vain` says whether kube-scheduler has tried a node in vain.
///
/// A node that a policy and kube-scheduler's own filters reject has the policy's reason. In a cluster that is not named as
/// a whole it has kube-scheduler's: its own status is counted where it has looked at the node.
pub(crate) fn complete(
    caller: &Caller,
    groups: &[Group],
    context: &RequestContext,
    filters: &TrustedFilters<'_>,
    is_vain: &dyn Fn(&Slot) -> bool,
    outcome: &mut FilterOutcome,
) -> FreeNodes {
    let others = context.of_slots(context.slots_not_asked_about());
    // A fault leaves out what only policies know.
    let judged = filter_all(caller, groups, &others).ok();
    let mut rejections = judged.iter().flat_map(|judged| &judged.rejected).peekable();
    let mut reasons = Reasons::of(std::mem::take(&mut outcome.reasons));
    let (mut free, cluster) = (FreeNodes::default(), context.cluster());
    let is_large = cluster.slots().len() > MAX_NAMED;
    for (node, slot) in (0..).zip(others.slots().iter().copied()) {
        let rejection = rejections.next_if(|rejection| rejection.node == node).copied();
        let of_policy = rejection.zip(judged.as_ref()).map(|(one, judged)| (judged.reason(one), one.unresolvable));
        let Some(known) = cluster.slots().get(slot as usize) else { continue };
        let (reason, unresolvable) = match (of_policy, filters.verdict(known)) {
            (of_policy, ModelVerdict::Rejects { text, unresolvable }) if is_large || of_policy.is_none() => {
                let number = reasons.number(&RejectedBy::KubeScheduler, &text);
                (number, unresolvable || of_policy.is_some_and(|(_, unresolvable)| unresolvable))
            }
            (Some((Reason { by, text }, unresolvable)), own) => {
                let helps = !unresolvable && matches!(own, ModelVerdict::Rejects { unresolvable: false, .. });
                (reasons.number(by, text), !helps)
            }
            // Where it was tried in vain, kube-scheduler's own status stands: it may say that preemption helps.
            (None, ModelVerdict::Accepts) if judged.is_some() && !is_vain(known) => {
                free.untried.push(slot);
                (reasons.number(&RejectedBy::Plimsoll, &filters.why_not_offered(NOT_OFFERED)), true)
            }
            _ => continue,
        };
        outcome.others.push(Rejection { node: slot, reason, unresolvable });
    }
    if !free.untried.is_empty() {
        // Nobody is evicted beside a free node.
        outcome.others.iter_mut().for_each(|rejection| rejection.unresolvable = true);
    }
    outcome.reasons = reasons.into_all();
    outcome.answers.extend(judged.into_iter().flat_map(|judged| judged.answers));
    free
}

/// Gives all nodes that policies reject one reason, and names only the offered ones of them if `is_small`.
pub(crate) fn unite(outcome: &mut FilterOutcome, text: &str, is_small: bool) {
    let is_of_policy: Vec<bool> =
        outcome.reasons.iter().map(|reason| matches!(reason.by, RejectedBy::Policy(_))).collect();
    let united = outcome.reasons.len() as u32;
    outcome.reasons.push(Reason { by: RejectedBy::Policies, text: text.into() });
    if is_small {
        outcome.others.retain(|rejection| !is_of_policy[rejection.reason as usize]);
    }
    let of_policies = outcome.rejected.iter_mut().chain(&mut outcome.others);
    for rejection in of_policies.filter(|rejection| is_of_policy[rejection.reason as usize]) {
        rejection.reason = united;
    }
}

/// The nodes that each group leaves of those that the groups before it have left.
pub(crate) fn filter_all(
    caller: &Caller,
    groups: &[Group],
    context: &RequestContext,
) -> Result<FilterOutcome, DecideError> {
    let Some((first, rest)) = groups.split_first() else { return Ok(FilterOutcome::default()) };
    let mut outcome = filter(caller, first, context)?;
    for group in rest {
        let left = outcome.kept(context.len());
        let next = filter(caller, group, &context.of_nodes(&left))?;
        let mut reasons = Reasons::of(std::mem::take(&mut outcome.reasons));
        outcome.rejected.extend(next.rejected.iter().map(|rejection| {
            let Reason { by, text } = next.reason(*rejection);
            Rejection { node: left[rejection.node as usize], reason: reasons.number(by, text), ..*rejection }
        }));
        outcome.rejected.sort_unstable_by_key(|rejection| rejection.node);
        outcome.reasons = reasons.into_all();
        outcome.answers.extend(next.answers);
    }
    Ok(outcome)
}
