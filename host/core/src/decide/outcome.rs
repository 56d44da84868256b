//! The outcome of a filter request: the rejected nodes, and why each is.

use std::{borrow::Cow, fmt, sync::Arc};

use hashbrown::{Equivalent, HashMap};

use crate::{
    cache::Answers,
    decide::Member,
    model::{Verdict, one_line},
};

/// One rejected node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection {
    /// Its index in the request, or its slot in the cluster.
    pub node: u32,
    /// The index of its reason in [`FilterOutcome::reasons`](crate::FilterOutcome::reasons).
    pub reason: u32,
    /// Whether preemption cannot help.
    pub unresolvable: bool,
}

/// Why a node is rejected; displayed as kube-scheduler shows it: `policy: text`.
#[derive(Debug, Clone)]
pub struct Reason {
    /// Who rejects it.
    pub by: RejectedBy,
    /// One line.
    pub text: Box<str>,
}

/// Who rejects a node.
#[derive(Debug, Clone)]
pub enum RejectedBy {
    /// A policy.
    Policy(Arc<Member>),
    /// One of kube-scheduler's own filters, in its words.
    KubeScheduler,
    /// Policies; the text names each with its reasons.
    Policies,
    /// plimsoll itself.
    Plimsoll,
}

/// The outcome of a filter request: every node of the request that is not listed here stays.
#[derive(Debug, Default, Clone)]
pub struct FilterOutcome {
    /// The rejected nodes, by ascending index.
    pub rejected: Vec<Rejection>,
    /// Of a pod that is left without a node: the nodes of the cluster that the request does not name, by slot. Empty where
    /// kube-scheduler has looked at all of them.
    pub others: Vec<Rejection>,
    /// The node of the request that kube-scheduler has nominated the pod for: preemption has chosen it.
    pub nominated: Option<u32>,
    /// Each reason once.
    pub reasons: Vec<Reason>,
    /// The answers of each policy that was asked: after the reply, the values that they follow from can still be told.
    pub answers: Vec<(Arc<Member>, Answers<Verdict>)>,
}

/// The reasons of one reply: each once, with its number.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    all: Vec<Reason>,
    /// By [`address`] and text.
    numbers: HashMap<(usize, Box<str>), u32>,
}

/// Looks a reason up without a copy of its text; its hash is that of the tuple.
#[derive(Hash)]
struct Key<'t>(usize, &'t str);

// === impl FilterOutcome ===

impl FilterOutcome {
    /// The indices of the nodes that stay, of a request with this many.
    pub(crate) fn kept(&self, nodes: usize) -> Vec<u32> {
        let mut rejected = self.rejected.iter().map(|rejection| rejection.node).peekable();
        (0..nodes as u32).filter(|node| rejected.next_if_eq(node).is_none()).collect()
    }

    /// The reason of a rejection.
    pub fn reason(&self, rejection: Rejection) -> &Reason {
        &self.reasons[rejection.reason as usize]
    }
}

// === impl Reason ===

impl Reason {
    /// A reason on one line, and never without a text.
    pub(super) fn new(by: RejectedBy, text: &str) -> Self {
        Self { by, text: one_line_or_none_given(text).into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            RejectedBy::Policy(member) => write!(f, "{}: {}", member.name, self.text),
            RejectedBy::KubeScheduler | RejectedBy::Policies => f.write_str(&self.text),
            RejectedBy::Plimsoll => write!(f, "plimsoll: {}", self.text),
        }
    }
}

impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.by, &other.by) {
            (RejectedBy::Policy(a), RejectedBy::Policy(b)) => (&a.id, a.version) == (&b.id, b.version),
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        is_same && self.text == other.text
    }
}

impl Eq for Reason {}

// === impl Reasons ===

impl Reasons {
    /// These reasons, by their numbers.
    pub(super) fn of(all: Vec<Reason>) -> Self {
        let key = |reason: &Reason| (address(&reason.by), reason.text.clone());
        Self { numbers: all.iter().map(key).zip(0..).collect(), all }
    }

    /// The number of a reason.
    pub(super) fn number(&mut self, by: &RejectedBy, text: &str) -> u32 {
        let key = Key(address(by), text);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let reason = Reason::new(by.clone(), text);
        let next = self.all.len() as u32;
        let number = *self.numbers.entry((key.0, reason.text.clone())).or_insert(next);
        if number == next {
            self.all.push(reason);
        }
        number
    }

    /// By number.
    pub(super) fn into_all(self) -> Vec<Reason> {
        self.all
    }

    /// Each as a text, by number.
    pub(super) fn into_texts(self) -> Vec<Box<str>> {
        self.all.iter().map(|reason| reason.to_string().into()).collect()
    }
}

// === impl Key ===

impl Equivalent<(usize, Box<str>)> for Key<'_> {
    fn equivalent(&self, (address, text): &(usize, Box<str>)) -> bool {
        self.0 == *address && *self.1 == **text
    }
}

/// Tells policies from each other, and from others.
fn address(by: &RejectedBy) -> usize {
    if let RejectedBy::Policy(member) = by { Arc::as_ptr(member).addr() } else { 0 }
}

/// `policy: reason` on one line, and never without a reason.
pub(super) fn reason_text(policy: &str, reason: &str) -> Box<str> {
    [policy, ": ", &one_line_or_none_given(reason)].concat().into()
}

fn one_line_or_none_given(reason: &str) -> Cow<'_, str> {
    let line = one_line(reason);
    match line.trim() {
        "" => Cow::Borrowed("no reason given"),
        trimmed if trimmed.len() == line.len() => line,
        trimmed => Cow::Owned(trimmed.to_owned()),
    }
}
