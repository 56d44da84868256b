//! The metrics of every call of a policy. A call is counted by handles, so that none looks up a label.

use std::{sync::OnceLock, time::Duration};

use plimsoll_core::{FaultKind, Member, Mode, Outcome, Roster, Verb};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::{by_name::ByName, histogram::histogram};

const ANSWERED: &str = "answered";

/// The modes in which a policy is asked.
pub(super) const MODES: [Mode; 2] = [Mode::Enforce, Mode::Shadow];

pub(super) struct CallMetrics {
    calls: Family<CallLabels, Counter>,
    seconds: Family<PolicyLabels, Histogram>,
    asked: Family<PolicyLabels, Counter>,
    evaluated: Family<PolicyLabels, Counter>,
    rejected: Family<PolicyLabels, Counter>,
    handles: ByName<ByMode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    policy: String,
    verb: &'static str,
    mode: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabels {
    policy: String,
    verb: &'static str,
    mode: &'static str,
}

/// The counters of a policy in one mode, by verb.
type ByVerb = [OnceLock<CallHandles>; Verb::ALL.len()];

/// A policy that is asked in shadow first may be obeyed later.
type ByMode = [ByVerb; MODES.len()];

/// One policy, verb and mode.
struct CallHandles {
    answered: Counter,
    seconds: Histogram,
    asked: Counter,
    evaluated: Counter,
    rejected: Counter,
}

// === impl CallMetrics ===

impl CallMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("policy_calls", "Calls of a policy by outcome", self.calls.clone());
        let help = "Time of one call of a policy, all its nodes together";
        registry.register_with_unit("policy_duration", help, Unit::Seconds, self.seconds.clone());
        registry.register("policy_nodes", "Nodes or candidates that a policy decided about", self.asked.clone());
        let help = "Nodes or candidates that the guest evaluated; the other answers came from the decision cache";
        registry.register("policy_evaluations", help, self.evaluated.clone());
        registry.register("policy_rejections", "Nodes or candidates that a policy rejected", self.rejected.clone());
    }

    pub(super) fn called(&self, member: &Member, verb: Verb, outcome: Outcome<'_>, elapsed: Duration) {
        self.with(member, verb, |handles| {
            handles.seconds.observe(elapsed.as_secs_f64());
            match outcome {
                Outcome::Answered { asked, rejected, evaluated } => {
                    handles.answered.inc();
                    handles.asked.inc_by(asked as u64);
                    handles.evaluated.inc_by(evaluated as u64);
                    handles.rejected.inc_by(rejected as u64);
                }
                Outcome::Fault(fault) => {
                    self.calls.get_or_create(&call_labels(member, verb, fault.kind.as_str())).inc();
                }
            }
        });
    }

    /// Drops the handles of removed policies; their counts stay.
    pub(super) fn reloaded(&self, roster: &Roster) {
        self.handles.retain(|id| roster.members().any(|member| member.id() == id));
    }

    /// Removes the series of a policy.
    pub(super) fn remove(&self, policy: &str) {
        self.handles.retain(|id| id != policy);
        let outcomes = || FaultKind::ALL.map(FaultKind::as_str).into_iter().chain([ANSWERED]);
        for (mode, verb) in MODES.into_iter().flat_map(|mode| Verb::ALL.map(|verb| (mode.as_str(), verb.as_str()))) {
            for outcome in outcomes() {
                self.calls.remove(&CallLabels { policy: policy.to_owned(), verb, mode, outcome });
            }
            let labels = PolicyLabels { policy: policy.to_owned(), verb, mode };
            self.seconds.remove(&labels);
            for counters in [&self.asked, &self.evaluated, &self.rejected] {
                counters.remove(&labels);
            }
        }
    }

    fn with(&self, member: &Member, verb: Verb, count: impl FnOnce(&CallHandles)) {
        self.handles.with(member.id(), |modes| {
            // A policy that is off is not asked.
            let Some(verbs) = modes.get(member.config.mode as usize) else { return };
            count(verbs[verb as usize].get_or_init(|| self.handles_of(member, verb)));
        });
    }

    fn handles_of(&self, member: &Member, verb: Verb) -> CallHandles {
        let labels =
            PolicyLabels { policy: member.id().to_owned(), verb: verb.as_str(), mode: member.config.mode.as_str() };
        CallHandles {
            answered: self.calls.get_or_create_owned(&call_labels(member, verb, ANSWERED)),
            seconds: self.seconds.get_or_create_owned(&labels),
            asked: self.asked.get_or_create_owned(&labels),
            evaluated: self.evaluated.get_or_create_owned(&labels),
            rejected: self.rejected.get_or_create_owned(&labels),
        }
    }
}

impl Default for CallMetrics {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            asked: Family::default(),
            evaluated: Family::default(),
            rejected: Family::default(),
            handles: ByName::default(),
        }
    }
}

fn call_labels(member: &Member, verb: Verb, outcome: &'static str) -> CallLabels {
    CallLabels { policy: member.id().to_owned(), verb: verb.as_str(), mode: member.config.mode.as_str(), outcome }
}
