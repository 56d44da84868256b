//! What happens on the request path: it is counted, and logged.

use std::{
    sync::atomic::AtomicU64,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use plimsoll_core::{
    BindCallWait, BindOutcome, BindQuery, BindReport, CallOf, DecideError, Disabled, Fault, FaultKind, Member, Mode,
    OPEN_TIME, Observer, Outcome, PodId, Roster, ShadowRejections, Unbound, Verb,
};
use plimsoll_http::{TlsObserver, WireObserver};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry, Unit},
};

/// Upper bounds in seconds: from 5 microseconds, by factors of 2 to 2.5, to 5 seconds.
const BUCKETS: [f64; 19] = [
    5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 1e-1, 2.5e-1, 5e-1, 1.0, 2.5,
    5.0,
];

/// One label with one of a few values.
pub(super) type OneLabel = [(&'static str, &'static str); 1];

/// A policy or a group, and one of a few values.
pub(super) type NamedLabels = [(&'static str, String); 2];

/// A histogram of durations for each set of labels.
type Seconds<L> = Family<L, Histogram>;

/// A new metric of the registry.
pub(super) fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn seconds<L>(registry: &mut Registry, name: &str, help: &str) -> Seconds<L>
where
    L: EncodeLabelSet + std::fmt::Debug + Clone + std::hash::Hash + Eq + Send + Sync + 'static,
{
    let family = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
    registry.register_with_unit(name, help, Unit::Seconds, family.clone());
    family
}

/// Counts calls of policies and binds.
pub(crate) struct PolicyMetrics {
    calls: Family<CallLabels, Counter>,
    seconds: Seconds<PolicyLabels>,
    asked: Family<PolicyLabels, Counter>,
    evaluated: Family<PolicyLabels, Counter>,
    rejected: Family<PolicyLabels, Counter>,
    circuits_opened: Family<NamedLabels, Counter>,
    caches_disabled: Family<NamedLabels, Counter>,
    binds: Family<NamedLabels, Counter>,
    bind_seconds: Seconds<GroupLabel>,
    bind_retries: Counter,
    bind_waits: Seconds<GroupLabel>,
    bind_calls_missed: Family<GroupLabel, Counter>,
}

type GroupLabel = [(&'static str, String); 1];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabels {
    policy: String,
    verb: &'static str,
    mode: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    policy: String,
    verb: &'static str,
    mode: &'static str,
    outcome: &'static str,
}

/// Counts requests by group and verb.
pub(crate) struct WireMetrics {
    requests: Family<RequestLabels, Counter>,
    seconds: Seconds<RouteLabels>,
    nodes: Family<RouteLabels, Counter>,
    post_reply_work_dropped: Counter<u64, AtomicU64>,
    binds_denied: Family<OneLabel, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    group: String,
    verb: &'static str,
    code: u16,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    group: String,
    verb: &'static str,
}

/// Counts TLS handshakes, and shows the expiry of the certificate.
pub(crate) struct TlsMetrics {
    refused: Family<OneLabel, Counter>,
    reloads: Family<OneLabel, Counter>,
    files_refused: Gauge,
    expiry: Gauge,
}

// === impl PolicyMetrics ===

impl PolicyMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let evaluated = "Nodes or candidates that the guest evaluated; the other answers came from the decision cache";
        let opened = "Times that consecutive faults opened a policy's circuit";
        let disabled = "Times that the decision cache was disabled for a verb of a policy version";
        let retries = "Times that policies were asked again about a bind, because what they had read had changed";
        let missed = "Bind calls that a filter waited for and that did not come in time, by the group of the filter";
        Self {
            calls: registered(registry, "policy_calls", "Calls of a policy by outcome"),
            seconds: seconds(registry, "policy_duration", "Time of one call of a policy, all its nodes together"),
            asked: registered(registry, "policy_nodes", "Nodes or candidates that a policy decided about"),
            evaluated: registered(registry, "policy_evaluations", evaluated),
            rejected: registered(registry, "policy_rejections", "Nodes or candidates that a policy rejected"),
            circuits_opened: registered(registry, "policy_circuit_opened", opened),
            caches_disabled: registered(registry, "decision_cache_disabled", disabled),
            binds: registered(registry, "binds", "Binds by outcome"),
            bind_seconds: seconds(registry, "bind_duration", "Time of a bind that this replica made"),
            bind_retries: registered(registry, "bind_retries", retries),
            bind_waits: seconds(
                registry,
                "bind_call_wait",
                "Time that a filter which counts pods waited for bind calls",
            ),
            bind_calls_missed: registered(registry, "bind_calls_missed", missed),
        }
    }

    /// Called when a new roster comes into force.
    pub(super) fn reloaded(&self, roster: &Roster) {
        // Prometheus sees an increase only of a series that was there before it.
        for member in roster.members().filter(|member| member.config.mode != Mode::Off) {
            drop(self.circuits_opened.get_or_create(&circuit_labels(member)));
        }
    }
}

fn circuit_labels(member: &Member) -> NamedLabels {
    [("policy", member.id().to_owned()), ("mode", member.config.mode.as_str().to_owned())]
}

impl Observer for PolicyMetrics {
    fn called(&self, call: CallOf<'_>, outcome: Outcome<'_>, elapsed: Duration) {
        let (member, verb) = (call.member, call.verb.as_str());
        let (policy, mode) = (member.id().to_owned(), member.config.mode.as_str());
        let labels = PolicyLabels { policy, verb, mode };
        self.seconds.get_or_create(&labels).observe(elapsed.as_secs_f64());
        let outcome = match outcome {
            Outcome::Answered { asked, rejected, evaluated } => {
                self.asked.get_or_create(&labels).inc_by(asked as u64);
                self.evaluated.get_or_create(&labels).inc_by(evaluated as u64);
                self.rejected.get_or_create(&labels).inc_by(rejected as u64);
                "answered"
            }
            Outcome::Fault(fault) => {
                log_failure(call, fault);
                fault.kind.as_str()
            }
        };
        self.calls.get_or_create_owned(&CallLabels { policy: labels.policy, verb, mode, outcome }).inc();
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
        self.circuits_opened.get_or_create(&circuit_labels(member)).inc();
    }

    fn bound(&self, report: &BindReport<'_>) {
        crate::binding::log(report);
        let outcome = bind_outcome(report.outcome);
        if outcome != "forwarded" {
            let labels = [("group", report.group.to_owned())];
            self.bind_seconds.get_or_create(&labels).observe(report.elapsed.as_secs_f64());
        }
        self.binds.get_or_create(&[("group", report.group.to_owned()), ("outcome", outcome.to_owned())]).inc();
    }

    fn bind_asked_again(&self, _: &BindQuery<'_>) {
        self.bind_retries.inc();
    }

    fn waited_for_bind_calls(&self, group: &str, wait: BindCallWait) {
        let labels = [("group", group.to_owned())];
        self.bind_waits.get_or_create(&labels).observe(wait.elapsed.as_secs_f64());
        self.bind_calls_missed.get_or_create(&labels).inc_by(wait.missed as u64);
    }

    fn cache_disabled(&self, member: &Member, verb: Verb, reason: Disabled) {
        let (policy, verb) = (member.id(), verb.as_str());
        tracing::warn!(policy, version = member.version, verb, %reason, "the decision cache is disabled for this policy: it is called for every request");
        self.caches_disabled.get_or_create(&[("policy", policy.to_owned()), ("verb", verb.to_owned())]).inc();
    }
}

fn log_failure(call: CallOf<'_>, fault: &Fault) {
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

/// The outcome of a bind as the value of a label.
fn bind_outcome(outcome: Result<&BindOutcome, &DecideError>) -> &'static str {
    match outcome {
        Ok(BindOutcome::Bound) => "bound",
        Ok(BindOutcome::AlreadyBound) => "already-bound",
        Ok(BindOutcome::Forward(_)) => "forwarded",
        Err(DecideError::Policy { .. }) => "fault",
        Err(DecideError::Unbound(unbound)) => match unbound {
            Unbound::Refused(_) => "refused",
            Unbound::Retry(_) => "not-yet",
            Unbound::Metadata(_) => "bad-metadata",
            Unbound::NoBinder | Unbound::NoLeader(_) => "no-leader",
            Unbound::OutOfTime => "timeout",
            Unbound::PodBusy { .. } => "undecided",
            Unbound::Restless(_) => "changed",
            Unbound::Stale(_) => "stale",
            Unbound::UnknownNode(_) => "unknown-node",
            Unbound::Binder { .. } => "api-error",
        },
        Err(_) => "error",
    }
}

// === impl WireMetrics ===

impl WireMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let dropped = "Replies whose shadow policies were not asked, since too many waited";
        let denied = "Binds asked for by clients that may not bind, by reason";
        Self {
            requests: registered(registry, "requests", "Extender calls answered"),
            seconds: seconds(
                registry,
                "request_duration",
                "Time from the first byte of an extender call to its answer",
            ),
            nodes: registered(registry, "request_nodes", "Nodes in extender calls"),
            post_reply_work_dropped: registered(registry, "shadow_dropped", dropped),
            binds_denied: registered(registry, "binds_denied", denied),
        }
    }
}

impl WireObserver for WireMetrics {
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, nodes: usize, elapsed: Duration) {
        let labels = RouteLabels { group: group.to_owned(), verb };
        self.seconds.get_or_create(&labels).observe(elapsed.as_secs_f64());
        self.nodes.get_or_create(&labels).inc_by(nodes as u64);
        let result = if failed { "error" } else { "ok" };
        self.requests.get_or_create(&RequestLabels { group: labels.group, verb, code: status, result }).inc();
    }

    fn post_reply_work_dropped(&self) {
        self.post_reply_work_dropped.inc();
    }

    fn bind_denied(&self, reason: &'static str) {
        self.binds_denied.get_or_create(&[("reason", reason)]).inc();
    }
}

// === impl TlsMetrics ===

impl TlsMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let refused = "1 while the TLS files cannot be used and the certificates in force stay";
        let expiry = "When the serving certificate in force ends, in Unix time; 0 without TLS";
        Self {
            refused: registered(registry, "tls_refused", "Clients that got no TLS connection, by reason"),
            reloads: registered(registry, "tls_reloads", "Changes of the TLS files by result"),
            files_refused: registered(registry, "tls_files_refused", refused),
            expiry: {
                let gauge = Gauge::default();
                registry.register_with_unit("tls_certificate_expiry_timestamp", expiry, Unit::Seconds, gauge.clone());
                gauge
            },
        }
    }
}

impl TlsObserver for TlsMetrics {
    fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&[("reason", reason)]).inc();
    }

    fn reloaded(&self, taken: bool) {
        self.reloads.get_or_create(&[("result", if taken { "loaded" } else { "refused" })]).inc();
        self.files_refused.set(i64::from(!taken));
    }

    fn expires(&self, at: SystemTime) {
        self.expiry.set(at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()) as i64);
    }
}
