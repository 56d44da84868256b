//! Metrics of binds: their outcomes, and the times of those that this replica made.

use plimsoll_core::{BindOutcome, BindReport, DecideError, Unbound};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::histogram::histogram;

pub(super) struct BindMetrics {
    binds: Family<BindLabels, Counter>,
    seconds: Family<GroupLabels, Histogram>,
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
        Self { binds: Family::default(), seconds: Family::new_with_constructor(histogram) }
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
            Unbound::Clash { .. } | Unbound::TooLarge { .. } => "bad-annotations",
            Unbound::NoBinder | Unbound::NoTurn(_) => "no-leader",
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
