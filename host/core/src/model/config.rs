//! The operator's configuration of one policy, checked.

use std::time::Duration;

use crate::model::{AbsentFacts, FaultKind, Match, Policy, Verb, Verbs};

/// The verbs of a program whose sidecar names none.
pub const PROGRAM_VERBS: Verbs = Verbs::of(Verb::Filter);

/// The default timeout of a program, which parses all nodes before it answers.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(2);

crate::words! {
    /// Whether a policy's answers count.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Mode {
        /// Asked and obeyed.
        #[default]
        Enforce = "enforce",
        /// Asked and recorded, never obeyed.
        Shadow = "shadow",
        /// Never asked.
        Off = "off",
    }
}

crate::words! {
    /// The effect of a policy's fault on the decision.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum OnError {
        /// The whole decision fails.
        Fail = "fail",
        /// The decision is made without this policy.
        Ignore = "ignore",
    }
}

crate::words! {
    /// Which pods get one node and a tentative place there, where the filter counts pods.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum PlaceMode {
        /// Pods that have their node long before their bind call: members of pod groups, and pods that wait for volumes
        /// or claims.
        #[default]
        Early = "early",
        /// None: all get every node that fits.
        None = "none",
        /// Every pod.
        All = "all",
    }
}

/// The settings of one policy that plimsoll itself reads; those of the guest are [`crate::Member::settings`].
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyConfig {
    /// Whether its answers count.
    pub mode: Mode,
    /// Filters run in ascending order, then by name.
    pub order: i32,
    /// Share in the score; 0 takes it out.
    pub weight: u32,
    /// The effect of a fault; none: [`OnError::Fail`] for filter, preempt and bind, [`OnError::Ignore`] for score and rank.
    pub on_error: Option<OnError>,
    /// The effect of a fact that is not there.
    pub absent_facts: AbsentFacts,
    /// Time of one request, all nodes together.
    pub timeout: Duration,
    /// Bytes of linear memory.
    pub memory: usize,
    /// Which pods it is asked about.
    pub matches: Match,
    /// Whether its filter may read values that change when a pod is bound. A module may import more than it reads; without
    /// these reads nothing has to wait for binds, or be asked again at bind, on its account.
    pub counts: bool,
    /// Which pods get a tentative place, if the filter counts.
    pub places: PlaceMode,
}

// === impl PolicyConfig ===

impl PolicyConfig {
    /// The configuration of a policy without a sidecar.
    pub fn default_of(policy: &dyn Policy) -> Self {
        let default = Self::default();
        if policy.program().is_some() { Self { timeout: PROGRAM_TIMEOUT, ..default } } else { default }
    }

    /// The effect of this policy's fault on a verb.
    pub fn on_error(&self, verb: Verb) -> OnError {
        self.on_error.unwrap_or(match verb {
            Verb::Score | Verb::Rank => OnError::Ignore,
            Verb::Filter | Verb::Preempt | Verb::Bind | Verb::Validate => OnError::Fail,
        })
    }

    /// The effect of a fault of this kind on a verb.
    pub fn on_fault(&self, verb: Verb, kind: FaultKind) -> OnError {
        match (kind, self.absent_facts) {
            (FaultKind::AbsentFact, AbsentFacts::Fail) => OnError::Fail,
            (FaultKind::AbsentFact, AbsentFacts::Ignore) => OnError::Ignore,
            _ => self.on_error(verb),
        }
    }
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Enforce,
            order: 100,
            weight: 1,
            on_error: None,
            absent_facts: AbsentFacts::default(),
            timeout: Duration::from_millis(100),
            memory: 64 << 20,
            matches: Match::default(),
            counts: true,
            places: PlaceMode::default(),
        }
    }
}
