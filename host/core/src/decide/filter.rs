//! filter: which nodes may the pod run on? Policies are asked in order, each about the nodes that all earlier ones have
//! accepted.

use hashbrown::HashMap;

use super::{
    Caller, DecideError, RequestContext,
    call::{failed, or_skip},
    lookup::{FeasibleNodes, PolicyAnswers, PolicyLookup},
    query::NOT_SEEN,
};
use crate::{
    decide::{Group, Member},
    model::{Mode, Verb, Verdict, one_line},
};

/// One rejected node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection {
    /// Its index in the request.
    pub node: u32,
    /// The index of its reason in [`FilterOutcome::reasons`](crate::FilterOutcome::reasons).
    pub reason: u32,
    /// Whether preemption cannot help.
    pub unresolvable: bool,
}

/// The outcome of a filter request: every node of the request that is not listed here stays.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FilterOutcome {
    /// The rejected nodes, by ascending index.
    pub rejected: Vec<Rejection>,
    /// Each reason once.
    pub reasons: Vec<Box<str>>,
}

/// The reasons of one reply: each text once, with its number.
#[derive(Debug, Default)]
pub(super) struct Reasons(HashMap<Box<str>, u32>);

/// Why a node is rejected.
#[derive(Clone, Copy)]
pub(super) struct Reason {
    /// The number of the text.
    number: u32,
    /// Whether preemption cannot help.
    unresolvable: bool,
}

pub(crate) fn filter(caller: &Caller, group: &Group, context: &RequestContext) -> Result<FilterOutcome, DecideError> {
    let (all, mut reasons) = (context.node_set.whole_view(), Reasons::default());
    let members = group.answering(Mode::Enforce, Verb::Filter, context.pod());
    let (lookups, mut nodes) = PolicyLookup::<Verdict>::of_all(members, &group.combined[Verb::Filter as usize], &all);
    let mut deciding = lookups.len();
    for policy in lookups {
        if nodes.is_empty() {
            break;
        }
        let member = policy.member;
        let verdicts = caller.answers(policy, Verb::Filter, &all, &nodes);
        match or_skip(member, Verb::Filter, verdicts)? {
            Some(verdicts) => reject(&mut nodes, member, &verdicts, &mut reasons)?,
            None => deciding -= 1,
        }
    }
    let mut rejected = rejections(&nodes, |node| context.request_index(node));
    // A node that no policy can be asked about is rejected only if a policy decides about this pod.
    if !context.unknown.is_empty() && deciding > 0 {
        let reason = reasons.number(NOT_SEEN.0, NOT_SEEN.1);
        rejected.extend(context.unknown.iter().map(|node| Rejection { node: *node, reason, unresolvable: false }));
        rejected.sort_unstable_by_key(|rejection| rejection.node);
    }
    Ok(FilterOutcome { rejected, reasons: reasons.into_texts() })
}

/// Rejects nodes by the verdicts of a policy.
pub(super) fn reject(
    nodes: &mut FeasibleNodes<Option<Reason>>,
    member: &Member,
    verdicts: &PolicyAnswers<Verdict>,
    reasons: &mut Reasons,
) -> Result<(), DecideError> {
    // A policy has few reasons for many nodes: each text is made once.
    let distinct: Vec<&Verdict> = verdicts.answers.iter().collect();
    let mut known: Vec<Option<Reason>> = vec![None; distinct.len()];
    let verdict = |reason: &mut Option<Reason>, number: usize| {
        let (text, unresolvable) = match distinct[number] {
            Verdict::Fits => return true,
            Verdict::Unschedulable(text) => (text, false),
            Verdict::Unresolvable(text) => (text, true),
        };
        let new = || Reason { number: reasons.number(&member.name, text), unresolvable };
        *reason = Some(*known[number].get_or_insert_with(new));
        false
    };
    nodes.apply(verdicts, verdict).map_err(failed(member, Verb::Filter))
}

/// The nodes that have a reason, by `index`.
pub(super) fn rejections(nodes: &FeasibleNodes<Option<Reason>>, index: impl Fn(u32) -> u32) -> Vec<Rejection> {
    if nodes.values.iter().all(Option::is_none) {
        return Vec::new();
    }
    let rejection = |(node, reason): (u32, Option<Reason>)| {
        let Reason { number, unresolvable } = reason?;
        Some(Rejection { node: index(node), reason: number, unresolvable })
    };
    (0..).zip(nodes.by_node(&nodes.values)).filter_map(rejection).collect()
}

// === impl FilterOutcome ===

impl FilterOutcome {
    /// The reason of a rejection.
    pub fn reason(&self, rejection: Rejection) -> &str {
        &self.reasons[rejection.reason as usize]
    }
}

// === impl Reasons ===

impl Reasons {
    /// The number of `policy: reason`.
    pub(super) fn number(&mut self, policy: &str, reason: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(reason_text(policy, reason)).or_insert(next)
    }

    /// The texts by number.
    pub(super) fn into_texts(self) -> Vec<Box<str>> {
        let mut texts = vec![Box::default(); self.0.len()];
        self.0.into_iter().for_each(|(text, number)| texts[number as usize] = text);
        texts
    }
}

/// `policy: reason` on one line, and never without a reason.
pub(super) fn reason_text(policy: &str, reason: &str) -> Box<str> {
    let reason = one_line(reason);
    match reason.trim() {
        "" => [policy, ": no reason given"].concat().into(),
        reason => [policy, ": ", reason].concat().into(),
    }
}
