//! The filter chain: policies in order, each asked about the nodes still standing.

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

/// What the filters say together.
#[derive(Debug, Default)]
pub(super) struct Filtered {
    /// The nodes turned down, by index in the chain's list of nodes.
    pub(super) rejected: Vec<Rejection>,
    /// How many policies were left out for their faults.
    pub(super) left_out: usize,
}

/// Puts nodes to the matching filters; `standing` keeps those that pass all of them.
///
/// `all` shows every node, where that is the world as it is: about that answers are remembered.
pub(super) fn run_filters(
    caller: &Caller,
    group: &Group,
    pod: &Pod,
    all: Option<&View>,
    standing: &mut Vec<u32>,
    reasons: &mut Reasons,
    view: impl Fn(&[u32]) -> View,
) -> Result<Filtered, DecideError> {
    let mut filtered = Filtered::default();
    for member in group.answering(Mode::Enforce, Verb::Filter, pod) {
        if standing.is_empty() {
            break;
        }
        let verdicts = match all {
            Some(all) => caller.recall_or_skip(member, Verb::Filter, all, standing, || view(standing))?,
            None => ask(caller, member, view(standing))?,
        };
        match verdicts {
            Some(verdicts) => apply(member, &verdicts, standing, reasons, &mut filtered.rejected),
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
    standing: &mut Vec<u32>,
    reasons: &mut Reasons,
    rejected: &mut Vec<Rejection>,
) {
    // A policy has few reasons for many nodes: their texts are made once.
    let distinct: Vec<&Verdict> = verdicts.distinct().collect();
    if distinct.iter().all(|verdict| **verdict == Verdict::Fits) {
        return;
    }
    let mut numbers: Vec<Option<u32>> = vec![None; distinct.len()];
    let mut which = verdicts.numbers().iter();
    standing.retain(|node| {
        let Some(which) = which.next().map(|which| *which as usize) else { return true };
        let (reason, unresolvable) = match distinct[which] {
            Verdict::Fits => return true,
            Verdict::Unschedulable(reason) => (reason, false),
            Verdict::Unresolvable(reason) => (reason, true),
        };
        let number = *numbers[which].get_or_insert_with(|| reasons.number(&member.name, reason));
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
