//! The questions that a policy can be asked.

crate::words! {
    /// A question that kube-scheduler asks, or that plimsoll asks as it loads a policy; the name is that of the contract.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Verb {
        /// May the pod run on this node?
        Filter = "filter",
        /// How good is this node, 0 to 100?
        Score = "score",
        /// How good is each of the nodes, seen together?
        Rank = "rank",
        /// May these pods be evicted for it?
        Preempt = "preempt",
        /// Which annotations does the pod carry from its binding on?
        Bind = "bind",
        /// Are the settings acceptable?
        Validate = "validate",
    }
}

/// The set of verbs that a policy exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Verbs(u8);

// === impl Verb ===

impl Verb {
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

// === impl Verbs ===

impl Verbs {
    /// The set of one verb.
    pub const fn of(verb: Verb) -> Self {
        Self(verb.bit())
    }

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
