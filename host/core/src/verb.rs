//! The questions that a policy can be asked.

use std::fmt;

/// A question that kube-scheduler asks, or that plimsoll asks as it loads a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// May the pod run on this node?
    Filter,
    /// How good is this node, 0 to 100?
    Score,
    /// How good is each of the nodes, seen together?
    Rank,
    /// May these pods be evicted for it?
    Preempt,
    /// What does the pod carry from its binding on?
    Bind,
    /// Are the settings acceptable?
    Validate,
}

/// The set of verbs that a policy exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Verbs(u8);

// === impl Verb ===

impl Verb {
    /// Every verb, in the order in which they are documented.
    pub const ALL: [Self; 6] = [Self::Filter, Self::Score, Self::Rank, Self::Preempt, Self::Bind, Self::Validate];

    /// The name in the contract, in logs and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Score => "score",
            Self::Rank => "rank",
            Self::Preempt => "preempt",
            Self::Bind => "bind",
            Self::Validate => "validate",
        }
    }

    /// The verb with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == name)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Verbs ===

impl Verbs {
    /// Whether the set holds the verb.
    pub const fn has(self, verb: Verb) -> bool {
        self.0 & verb.bit() != 0
    }

    /// Whether the set holds no verb.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The verbs of the set, in their documented order.
    pub fn iter(self) -> impl Iterator<Item = Verb> {
        Verb::ALL.into_iter().filter(move |verb| self.has(*verb))
    }
}

impl FromIterator<Verb> for Verbs {
    fn from_iter<I: IntoIterator<Item = Verb>>(verbs: I) -> Self {
        Self(verbs.into_iter().fold(0, |set, verb| set | verb.bit()))
    }
}
