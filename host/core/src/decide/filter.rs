//! filter: which nodes may the pod run on? Policies are asked in order, each about the nodes that all earlier ones have
//! accepted.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{
    Caller, DecideError, RequestContext,
    call::{failed, or_skip},
    feasible::{FeasibleNodes, PolicyAnswers},
    lookup::PolicyLookup,
    unbound::NOT_SEEN,
};
use crate::{
    decide::{Group, Member},
    model::{Fault, Mode, Verb, Verdict, View, one_line},
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

/// The reasons of one reply, each text once.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    texts: Vec<Box<str>>,
    /// The numbers of the texts, by their hashes.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Why a node is rejected: the number of the text, and whether preemption cannot help. The default: it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Reason {
    number: u32,
    unresolvable: bool,
}

pub(crate) fn filter(caller: &Caller, group: &Group, context: &RequestContext) -> Result<FilterOutcome, DecideError> {
    let (all, mut reasons) = (context.node_set().whole_view(), Reasons::default());
    let members = group.answering(Mode::Enforce, Verb::Filter, context.pod());
    let (lookups, mut nodes) = PolicyLookup::<Verdict>::of_all(members, group.combined(Verb::Filter), &all);
    let mut deciding = lookups.len();
    for PolicyLookup { member, by_class } in lookups {
        if nodes.is_empty() {
            break;
        }
        let verdicts = caller.answers(member, Verb::Filter, &all, &nodes, by_class);
        match or_skip(member, Verb::Filter, verdicts)? {
            Some(verdicts) => reject(&mut nodes, member, &verdicts, &mut reasons, &all)?,
            None => deciding -= 1,
        }
    }
    let mut rejected = rejections(&nodes, &all, |node| context.request_index(node));
    // A node that no policy can be asked about is rejected only if a policy decides about this pod.
    if !context.unknown().is_empty() && deciding > 0 {
        let reason = reasons.number(NOT_SEEN.0, NOT_SEEN.1);
        rejected.extend(context.unknown().iter().map(|node| Rejection { node: *node, reason, unresolvable: false }));
        rejected.sort_unstable_by_key(|rejection| rejection.node);
    }
    Ok(FilterOutcome { rejected, reasons: reasons.into_texts() })
}

/// Rejects nodes by the verdicts of a policy.
pub(super) fn reject(
    nodes: &mut FeasibleNodes<Reason>,
    member: &Member,
    verdicts: &PolicyAnswers<Verdict>,
    reasons: &mut Reasons,
    all: &View,
) -> Result<(), DecideError> {
    // A policy has few reasons for many nodes: each text is made once.
    let distinct: Vec<&Verdict> = verdicts.answers.iter().collect();
    let mut known: Vec<Option<Reason>> = vec![None; distinct.len()];
    let verdict = |reason: &mut Reason, number: usize| {
        *reason = *known[number].get_or_insert_with(|| reasons.of(member, distinct[number]));
        *reason == Reason::NONE
    };
    nodes.apply(verdicts, all, verdict).map_err(|fault: Fault| failed(member, Verb::Filter)(fault))
}

/// The nodes that have a reason, by `index`.
pub(super) fn rejections(nodes: &FeasibleNodes<Reason>, all: &View, index: impl Fn(u32) -> u32) -> Vec<Rejection> {
    if nodes.values().iter().all(|reason| *reason == Reason::NONE) {
        return Vec::new();
    }
    let by_node = nodes.by_node(all, nodes.values());
    // Branch-free, as rejections are unpredictable: every node is written, and the next one overwrites it unless it
    // is rejected.
    let none = Rejection { node: 0, reason: 0, unresolvable: false };
    let (mut rejected, mut count) = (vec![none; by_node.len() + 1], 0);
    for (node, Reason { number, unresolvable }) in (0..).zip(&by_node) {
        rejected[count] = Rejection { node: index(node), reason: *number, unresolvable: *unresolvable };
        count += usize::from(*number != Reason::NONE.number);
    }
    rejected.truncate(count);
    rejected
}

// === impl FilterOutcome ===

impl FilterOutcome {
    /// The reason of a rejection.
    pub fn reason(&self, rejection: Rejection) -> &str {
        &self.reasons[rejection.reason as usize]
    }
}

// === impl Reason ===

impl Reason {
    const NONE: Self = Self { number: u32::MAX, unresolvable: false };
}

impl Default for Reason {
    fn default() -> Self {
        Self::NONE
    }
}

// === impl Reasons ===

impl Reasons {
    /// The reason of this verdict.
    fn of(&mut self, member: &Member, verdict: &Verdict) -> Reason {
        let (text, unresolvable) = match verdict {
            Verdict::Fits => return Reason::NONE,
            Verdict::Unschedulable(text) => (text, false),
            Verdict::Unresolvable(text) => (text, true),
        };
        Reason { number: self.number(&member.name, text), unresolvable }
    }

    /// The number of `policy: reason`.
    pub(super) fn number(&mut self, policy: &str, reason: &str) -> u32 {
        let text = reason_text(policy, reason);
        let Self { texts, numbers, hasher } = self;
        let hash = hasher.hash_one(&text);
        if let Some(number) = numbers.find(hash, |number| texts[*number as usize] == text) {
            return *number;
        }
        let number = texts.len() as u32;
        texts.push(text);
        numbers.insert_unique(hash, number, |number| hasher.hash_one(&texts[*number as usize]));
        number
    }

    pub(super) fn get(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    pub(super) fn into_texts(self) -> Vec<Box<str>> {
        self.texts
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
