//! Metrics of binds: their outcomes, and the times of those that this replica made.

use plimsoll_core::{BindCallWait, BindOutcome, BindReport, DecideError, Unbound};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::histogram::histogram;

pub(super) struct BindMetrics {
    binds: Family<BindLabels, Counter>,
    seconds: Family<GroupLabels, Histogram>,
    retries: Counter,
    waits: Family<GroupLabels, Histogram>,
    missed: Family<GroupLabels, Counter>,
    announced: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BindLabels {
    group: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GroupLabels {
    group: String,
}

// === impl BindMetrics ===

impl BindMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("binds", "Binds by outcome", self.binds.clone());
        let help = "Time of a bind that this replica made, from its first byte on";
        registry.register_with_unit("bind_duration", help, Unit::Seconds, self.seconds.clone());
        let help = "Times that policies were asked again about a bind, because what they had read had changed";
        registry.register("bind_retries", help, self.retries.clone());
        let help = "Time that a filter which counts pods waited for bind calls";
        registry.register_with_unit("bind_call_wait", help, Unit::Seconds, self.waits.clone());
        let help = "Bind calls that a filter waited for and that did not come in time, by the group of the filter";
        registry.register("bind_calls_missed", help, self.missed.clone());
        let help = "Pods that counted on their node from the arrival of their bind call on";
        registry.register("pods_announced", help, self.announced.clone());
    }

    pub(super) fn asked_again(&self) {
        self.retries.inc();
    }

    pub(super) fn waited(&self, group: &str, wait: BindCallWait) {
        let labels = GroupLabels { group: group.to_owned() };
        self.waits.get_or_create_owned(&labels).observe(wait.elapsed.as_secs_f64());
        self.missed.get_or_create(&labels).inc_by(wait.missed as u64);
    }

    pub(super) fn announced(&self) {
        self.announced.inc();
    }

    pub(super) fn bound(&self, report: &BindReport<'_>) {
        let (group, outcome, elapsed) = (report.group.to_owned(), word(report.outcome), report.elapsed);
        if outcome != "forwarded" {
            self.seconds.get_or_create_owned(&GroupLabels { group: group.clone() }).observe(elapsed.as_secs_f64());
        }
        self.binds.get_or_create(&BindLabels { group, outcome }).inc();
    }
}

impl Default for BindMetrics {
    fn default() -> Self {
        Self {
            binds: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            retries: Counter::default(),
            waits: Family::new_with_constructor(histogram),
            missed: Family::default(),
            announced: Counter::default(),
        }
    }
}

/// The outcome of a bind as the value of a label.
fn word(outcome: Result<&BindOutcome, &DecideError>) -> &'static str {
    match outcome {
        Ok(BindOutcome::Bound) => "bound",
        Ok(BindOutcome::AlreadyBound) => "already-bound",
        Ok(BindOutcome::Forward(_)) => "forwarded",
        Err(DecideError::Policy { .. }) => "fault",
        Err(DecideError::Unbound(unbound)) => match unbound {
            Unbound::Refused(_) => "refused",
            Unbound::Retry(_) => "not-yet",
            Unbound::Clash { .. } | Unbound::TooLarge { .. } => "bad-annotations",
            Unbound::OwnLabel { .. } => "bad-labels",
            Unbound::NoBinder | Unbound::NoLeader(_) => "no-leader",
            Unbound::NodeBusy(_) | Unbound::OutOfTime => "timeout",
            Unbound::PodBusy { .. } => "undecided",
            Unbound::Restless(_) => "changed",
            Unbound::OtherPod { .. } | Unbound::Elsewhere { .. } => "stale",
            Unbound::UnknownNode(_) => "unknown-node",
            Unbound::Binder { .. } => "api-error",
        },
        Err(_) => "error",
    }
}
