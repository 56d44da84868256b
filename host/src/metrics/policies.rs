//! What core tells of policies: their calls, their faults, and what is remembered of their answers.

use std::time::Duration;

use plimsoll_core::{
    BindReport, CallOf, Difference, Disabled, Fault, FaultKind, Member, Observer, Outcome, PodId, Roster,
    ShadowRejections, Verb,
};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use super::{Metrics, calls::CallMetrics};

#[derive(Default)]
pub(super) struct PolicyMetrics {
    calls: CallMetrics,
    circuits_opened: Family<CircuitLabels, Counter>,
    stopped_remembering: Family<StoppedLabels, Counter>,
    rechecks: Family<RecheckLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CircuitLabels {
    policy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StoppedLabels {
    policy: String,
    verb: &'static str,
    why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecheckLabels {
    policy: String,
    verb: &'static str,
    result: &'static str,
}

// === impl PolicyMetrics ===

impl PolicyMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        self.calls.register(registry);
        let help = "Times that faults in a row took a policy out for a while";
        registry.register("policy_circuit_opened", help, self.circuits_opened.clone());
        let help = "Times that a policy turned out to be one whose answers cannot be remembered";
        registry.register("policy_stopped_remembering", help, self.stopped_remembering.clone());
        let help = "Remembered answers that were asked again, by what came of it";
        registry.register("policy_rechecks", help, self.rechecks.clone());
    }

    /// Other policies are in force.
    pub(super) fn reloaded(&self, roster: &Roster) {
        self.calls.reloaded(roster);
    }
}

impl Observer for Metrics {
    fn called(&self, member: &Member, verb: Verb, outcome: Outcome<'_>, elapsed: Duration) {
        self.policies.calls.called(member, verb, outcome, elapsed);
    }

    fn failed(&self, call: CallOf<'_>, fault: &Fault) {
        // An open circuit said so once, when it opened, and a policy that is not loaded when its files were refused.
        if matches!(fault.kind, FaultKind::CircuitOpen | FaultKind::NotLoaded) {
            return;
        }
        let CallOf { request, pod, member, verb } = call;
        let pod = PodId::of(pod);
        tracing::warn!(
            policy = member.id(),
            version = member.version,
            mode = member.config.mode.as_str(),
            verb = verb.as_str(),
            onError = member.config.on_error(verb).as_str(),
            pod = pod.map(tracing::field::display),
            uid = pod.map(PodId::uid),
            request = %request,
            fault = %fault.kind,
            detail = fault.detail,
            "a policy failed"
        );
    }

    fn would_reject(&self, call: CallOf<'_>, rejections: &ShadowRejections<'_>) {
        let CallOf { request, pod, member, verb } = call;
        let ShadowRejections { asked, rejected, node, reason } = *rejections;
        let pod = PodId::of(pod);
        tracing::info!(
            target: "plimsoll::shadow",
            policy = member.id(),
            version = member.version,
            verb = verb.as_str(),
            pod = pod.map(tracing::field::display),
            uid = pod.map(PodId::uid),
            request = %request,
            asked,
            rejected,
            node,
            reason,
            "a policy in shadow mode would have refused nodes"
        );
    }

    fn circuit_opened(&self, member: &Member) {
        tracing::warn!(policy = member.id(), "too many faults in a row: the policy is not asked for 10 s");
        let labels = CircuitLabels { policy: member.id().to_owned() };
        self.policies.circuits_opened.get_or_create(&labels).inc();
    }

    fn bound(&self, report: &BindReport<'_>) {
        crate::binding::log(report);
        self.binds.bound(report);
    }

    fn stopped_remembering(&self, member: &Member, verb: Verb, why: Disabled) {
        let (policy, verb) = (member.id().to_owned(), verb.as_str());
        tracing::warn!(policy, version = member.version, verb, %why, "the policy's answers are not remembered any more: it is asked each time");
        self.policies.stopped_remembering.get_or_create(&StoppedLabels { policy, verb, why: why.as_str() }).inc();
    }

    fn rechecked(&self, member: &Member, verb: Verb, is_same: bool) {
        let result = if is_same { "same" } else { "different" };
        let labels = RecheckLabels { policy: member.id().to_owned(), verb: verb.as_str(), result };
        self.policies.rechecks.get_or_create(&labels).inc();
    }

    fn differed(&self, member: &Member, verb: Verb, difference: &Difference) {
        let Difference { node, remembered, asked, reads } = difference;
        let reads: Vec<String> = reads.iter().map(|line| format!("{} = {}", line.read, line.value)).collect();
        tracing::error!(
            policy = member.id(),
            version = member.version,
            verb = verb.as_str(),
            node,
            remembered,
            asked,
            reads = reads.join("; "),
            "a policy answered otherwise to what it had read before"
        );
    }
}
