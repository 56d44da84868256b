//! filter: which nodes may the pod run on? Policies are asked in order, each about the nodes that all earlier ones have
//! accepted.

use std::sync::Arc;

use super::{
    Caller, DecideError, FilterOutcome, RejectedBy, Rejection, RequestContext,
    call::{failed, or_skip},
    lookup::{FeasibleNodes, PolicyAnswers, PolicyLookup},
    outcome::Reasons,
    query::NOT_SEEN,
};
use crate::{
    decide::{Group, Member},
    model::{Mode, Verb, Verdict},
};

/// The reason of a rejected node, by number, and whether preemption cannot help.
#[derive(Clone, Copy)]
pub(super) struct Rejected {
    number: u32,
    unresolvable: bool,
}

pub(crate) fn filter(caller: &Caller, group: &Group, context: &RequestContext) -> Result<FilterOutcome, DecideError> {
    let (all, mut reasons) = (context.node_set.whole_view(), Reasons::default());
    let members = group.answering(Mode::Enforce, Verb::Filter, context.pod(), context.in_force());
    let (lookups, mut nodes) = PolicyLookup::<Verdict>::of_all(members, &group.combined[Verb::Filter as usize], &all);
    let (mut deciding, mut answers) = (lookups.len(), Vec::new());
    for policy in lookups {
        if nodes.is_empty() {
            break;
        }
        let member = policy.member;
        let verdicts = caller.answers(policy, Verb::Filter, &all, &nodes);
        match or_skip(member, Verb::Filter, verdicts)? {
            Some(verdicts) => {
                reject(&mut nodes, member, &verdicts, &mut reasons)?;
                answers.push((Arc::clone(member), verdicts.answers));
            }
            None => deciding -= 1,
        }
    }
    let mut rejected = rejections(&nodes, |node| context.request_index(node));
    // A node that no policy can be asked about is rejected only if a policy decides about this pod.
    if !context.unknown.is_empty() && deciding > 0 {
        let reason = reasons.number(&RejectedBy::Plimsoll, NOT_SEEN);
        rejected.extend(context.unknown.iter().map(|node| Rejection { node: *node, reason, unresolvable: false }));
        rejected.sort_unstable_by_key(|rejection| rejection.node);
    }
    Ok(FilterOutcome { rejected, reasons: reasons.into_all(), answers, ..FilterOutcome::default() })
}

/// Rejects nodes by the verdicts of a policy.
pub(super) fn reject(
    nodes: &mut FeasibleNodes<Option<Rejected>>,
    member: &Arc<Member>,
    verdicts: &PolicyAnswers<Verdict>,
    reasons: &mut Reasons,
) -> Result<(), DecideError> {
    // A policy has few reasons for many nodes: each text is made once.
    let distinct: Vec<&Verdict> = verdicts.answers.iter().collect();
    let mut known: Vec<Option<Rejected>> = vec![None; distinct.len()];
    let verdict = |reason: &mut Option<Rejected>, number: usize| {
        let (text, unresolvable) = match distinct[number] {
            Verdict::Fits => return true,
            Verdict::Unschedulable(text) => (text, false),
            Verdict::Unresolvable(text) => (text, true),
        };
        let new = || Rejected { number: reasons.number(&RejectedBy::Policy(Arc::clone(member)), text), unresolvable };
        *reason = Some(*known[number].get_or_insert_with(new));
        false
    };
    nodes.apply(verdicts, verdict).map_err(failed(member, Verb::Filter))
}

/// The nodes that have a reason, by `index`.
pub(super) fn rejections(nodes: &FeasibleNodes<Option<Rejected>>, index: impl Fn(u32) -> u32) -> Vec<Rejection> {
    if nodes.values.iter().all(Option::is_none) {
        return Vec::new();
    }
    let rejection = |(node, reason): (u32, Option<Rejected>)| {
        let Rejected { number, unresolvable } = reason?;
        Some(Rejection { node: index(node), reason: number, unresolvable })
    };
    (0..).zip(nodes.by_node(&nodes.values)).filter_map(rejection).collect()
}
