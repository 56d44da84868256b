//! The filter chain: policies in order, each asked about the nodes that all earlier ones accepted.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::{Group, Member, Mode, Pod, Verb, Verdict, View, cache::Answers, is_unprintable};

use super::{Caller, DecideError, Rejection};

/// The reasons of one reply, each text once.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

/// The result of all filters.
#[derive(Debug, Default)]
pub(super) struct Filtered {
    /// The rejected nodes, by index in the chain's list of nodes.
    pub(super) rejected: Vec<Rejection>,
    /// How many policies were left out because of a fault.
    pub(super) left_out: usize,
}

/// Calls the matching filters; `remaining` keeps the nodes that pass all of them.
///
/// `all` is the unmodified view of all nodes, or `None` if victims are removed. Answers are cached only with `all`.
pub(super) fn run_filters(
    caller: &Caller,
    group: &Group,
    pod: &Pod,
    all: Option<&View>,
    remaining: &mut Vec<u32>,
    reasons: &mut Reasons,
    view: impl Fn(&[u32]) -> View,
) -> Result<Filtered, DecideError> {
    let mut filtered = Filtered::default();
    for member in group.answering(Mode::Enforce, Verb::Filter, pod) {
        if remaining.is_empty() {
            break;
        }
        let verdicts = match all {
            Some(all) => caller.lookup_or_skip(member, Verb::Filter, all, remaining, || view(remaining))?,
            None => ask(caller, member, view(remaining))?,
        };
        match verdicts {
            Some(verdicts) => apply(member, &verdicts, remaining, reasons, &mut filtered.rejected),
            None => filtered.left_out += 1,
        }
    }
    Ok(filtered)
}

fn ask(caller: &Caller, member: &Arc<Member>, view: View) -> Result<Option<Answers<Verdict>>, DecideError> {
    let ask = |ask: &_, nodes: &[u32]| member.policy.filter(ask, nodes);
    Ok(caller.call_or_skip(member, Verb::Filter, view, ask)?.map(Answers::plain))
}

fn apply(
    member: &Member,
    verdicts: &Answers<Verdict>,
    remaining: &mut Vec<u32>,
    reasons: &mut Reasons,
    rejected: &mut Vec<Rejection>,
) {
    // A policy has few reasons for many nodes: each text is made once.
    let distinct: Vec<&Verdict> = verdicts.distinct().collect();
    if distinct.iter().all(|verdict| **verdict == Verdict::Fits) {
        return;
    }
    let mut numbers: Vec<Option<u32>> = vec![None; distinct.len()];
    let mut number = verdicts.numbers().iter();
    remaining.retain(|node| {
        let Some(number) = number.next().map(|number| *number as usize) else { return true };
        let (reason, unresolvable) = match distinct[number] {
            Verdict::Fits => return true,
            Verdict::Unschedulable(reason) => (reason, false),
            Verdict::Unresolvable(reason) => (reason, true),
        };
        let number = *numbers[number].get_or_insert_with(|| reasons.number(&member.name, reason));
        rejected.push(Rejection { node: *node, reason: number, unresolvable });
        false
    });
}

// === impl Reasons ===

impl Reasons {
    /// The number of `policy: reason`.
    pub(super) fn number(&mut self, policy: &str, reason: &str) -> u32 {
        let text = reason_text(policy, reason);
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
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
    let reason = reason.replace(is_unprintable, " ");
    match reason.trim() {
        "" => format!("{policy}: no reason given").into(),
        reason => format!("{policy}: {reason}").into(),
    }
}
