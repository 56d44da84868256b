//! The observer of policy calls: counts calls, faults and cache events, and logs them.

use std::time::Duration;

use plimsoll_core::{
    BindCallWait, BindQuery, BindReport, CallOf, Disabled, Fault, FaultKind, Member, Mode, OPEN_TIME, Observer,
    Outcome, PodId, Roster, ShadowRejections, Verb,
};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use super::{
    binds::BindMetrics,
    calls::{CallMetrics, MODES},
};

/// Metrics of policies by name.
#[derive(Default)]
pub(crate) struct PolicyMetrics {
    calls: CallMetrics,
    binds: BindMetrics,
    circuits_opened: Family<CircuitLabels, Counter>,
    cache_disabled: Family<DisabledLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CircuitLabels {
    policy: String,
    mode: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DisabledLabels {
    policy: String,
    verb: &'static str,
    reason: &'static str,
}

// === impl CircuitLabels ===

impl CircuitLabels {
    fn of(member: &Member) -> Self {
        Self { policy: member.id().to_owned(), mode: member.config.mode.as_str() }
    }
}

// === impl PolicyMetrics ===

impl PolicyMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        self.calls.register(registry);
        self.binds.register(registry);
        let help = "Times that consecutive faults opened a policy's circuit";
        registry.register("policy_circuit_opened", help, self.circuits_opened.clone());
        let help = "Times that the decision cache was disabled for a verb of a policy version, by reason";
        registry.register("decision_cache_disabled", help, self.cache_disabled.clone());
    }

    /// Called when a new roster comes into force.
    pub(super) fn reloaded(&self, roster: &Roster) {
        // Prometheus sees an increase only of a series that was there before it.
        for member in roster.members().filter(|member| member.config.mode != Mode::Off) {
            drop(self.circuits_opened.get_or_create(&CircuitLabels::of(member)));
        }
        self.calls.reloaded(roster);
    }

    /// Removes the series of a policy.
    pub(super) fn remove(&self, policy: &str) {
        self.calls.remove(policy);
        for mode in MODES.map(Mode::as_str) {
            self.circuits_opened.remove(&CircuitLabels { policy: policy.to_owned(), mode });
        }
        for verb in Verb::ALL.map(Verb::as_str) {
            for reason in Disabled::ALL.map(Disabled::as_str) {
                self.cache_disabled.remove(&DisabledLabels { policy: policy.to_owned(), verb, reason });
            }
        }
    }
}

impl Observer for PolicyMetrics {
    fn called(&self, member: &Member, verb: Verb, outcome: Outcome<'_>, elapsed: Duration) {
        self.calls.called(member, verb, outcome, elapsed);
    }

    fn failed(&self, call: CallOf<'_>, fault: &Fault) {
        // An open circuit was logged when it opened, and a policy that is not loaded when its files were refused.
        if matches!(fault.kind, FaultKind::CircuitOpen | FaultKind::NotLoaded) {
            return;
        }
        let CallOf { request, pod, member, verb } = call;
        let pod = PodId::of(pod);
        // The key of the sidecar that decides the effect.
        let (is_absent_fact, config) = (fault.kind == FaultKind::AbsentFact, &member.config);
        tracing::warn!(
            policy = member.id(),
            version = member.version,
            mode = config.mode.as_str(),
            verb = verb.as_str(),
            onError = (!is_absent_fact).then(|| config.on_error(verb).as_str()),
            absent = is_absent_fact.then(|| config.absent_facts.as_str()),
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
            "a policy in shadow mode would have rejected nodes"
        );
    }

    fn circuit_opened(&self, member: &Member, verb: Verb) {
        let (policy, verb) = (member.id(), verb.as_str());
        tracing::warn!(policy, verb, "too many faults in a row: the policy is not called for {OPEN_TIME:?}");
        self.circuits_opened.get_or_create(&CircuitLabels::of(member)).inc();
    }

    fn bound(&self, report: &BindReport<'_>) {
        crate::binding::log(report);
        self.binds.bound(report);
    }

    fn bind_asked_again(&self, _: &BindQuery<'_>) {
        self.binds.asked_again();
    }

    fn waited_for_bind_calls(&self, group: &str, wait: BindCallWait) {
        self.binds.waited(group, wait);
    }

    fn announced(&self) {
        self.binds.announced();
    }

    fn cache_disabled(&self, member: &Member, verb: Verb, reason: Disabled) {
        let (policy, verb) = (member.id().to_owned(), verb.as_str());
        tracing::warn!(policy, version = member.version, verb, %reason, "the decision cache is disabled for this policy: it is called for every request");
        self.cache_disabled.get_or_create(&DisabledLabels { policy, verb, reason: reason.as_str() }).inc();
    }
}
