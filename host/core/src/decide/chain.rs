//! The filter chain: policies in order, each asked about the nodes still standing.

use hashbrown::HashMap;

use crate::{Group, Member, Mode, Pod, Verb, Verdict, View};

use super::{Caller, DecideError};

/// How many reasons of one policy are looked through before they are looked up.
const REASONS_TO_REMEMBER: usize = 8;

/// The reasons of one reply, each text once.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

/// A node that a policy turned down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Index in the chain's list of nodes.
    pub(super) node: u32,
    /// Number of the reason.
    pub(super) reason: u32,
    pub(super) unresolvable: bool,
}

/// What the filters say together.
#[derive(Debug, Default)]
pub(super) struct Filtered {
    pub(super) refusals: Vec<Refusal>,
    /// How many policies were left out for their faults.
    pub(super) left_out: usize,
}

/// Puts nodes to the matching filters; `standing` keeps those that pass all of them.
pub(super) fn run_filters(
    caller: &Caller,
    group: &Group,
    pod: &Pod,
    standing: &mut Vec<u32>,
    reasons: &mut Reasons,
    view: impl Fn(&[u32]) -> View,
) -> Result<Filtered, DecideError> {
    let mut filtered = Filtered::default();
    for member in group.answering(Mode::Enforce, Verb::Filter, pod) {
        if standing.is_empty() {
            break;
        }
        let ask = |ask: &_, nodes: &[u32]| member.policy.filter(ask, nodes);
        match caller.call_or_skip(member, Verb::Filter, view(standing), ask)? {
            Some(verdicts) => apply(member, &verdicts, standing, reasons, &mut filtered.refusals),
            None => filtered.left_out += 1,
        }
    }
    Ok(filtered)
}

fn apply(
    member: &Member,
    verdicts: &[Verdict],
    standing: &mut Vec<u32>,
    reasons: &mut Reasons,
    refusals: &mut Vec<Refusal>,
) {
    let mut verdicts = verdicts.iter();
    // A policy has few reasons for many nodes: their texts are made once.
    let mut known: Vec<(&str, u32)> = Vec::new();
    standing.retain(|node| {
        let (reason, unresolvable) = match verdicts.next() {
            None | Some(Verdict::Fits) => return true,
            Some(Verdict::Unschedulable(reason)) => (reason, false),
            Some(Verdict::Unresolvable(reason)) => (reason, true),
        };
        let number = known.iter().find(|(text, _)| *text == &**reason).map(|(_, number)| *number);
        let number = number.unwrap_or_else(|| {
            let number = reasons.number(&member.name, reason);
            if known.len() < REASONS_TO_REMEMBER {
                known.push((reason, number));
            }
            number
        });
        refusals.push(Refusal { node: *node, reason: number, unresolvable });
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
    let reason = reason.replace(char::is_control, " ");
    match reason.trim() {
        "" => format!("{policy}: no reason given").into(),
        reason => format!("{policy}: {reason}").into(),
    }
}
