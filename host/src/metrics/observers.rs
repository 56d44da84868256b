//! What happens on the request path: it is counted, and logged.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    iter::once,
    sync::atomic::AtomicU64,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use plimsoll_core::{
    BindCallWait, BindOutcome, BindQuery, BindReport, CallOf, DecideError, Disabled, Fault, FaultKind, LeftWithoutNode,
    Member, Mode, ModelDifference, OPEN_TIME, Observer, Outcome, Pod, PodId, RequestId, Roster, ShadowRejections,
    Unbound, Verb,
};
use plimsoll_http::{TlsObserver, WireObserver};
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry, Unit},
};

use crate::logging::PENDING;

/// Upper bounds in seconds: from 5 microseconds, by factors of 2 to 2.5, to 5 seconds.
const BUCKETS: [f64; 19] = [
    5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 1e-1, 2.5e-1, 5e-1, 1.0, 2.5,
    5.0,
];

/// The warning about unstable reasons.
const UNSTABLE: &str = "the policies of this group reject the same nodes for a pod from attempt to attempt, for reasons that change: replies repeat the reasons of the first attempt for a minute, since kube-scheduler tries a pod again at once when its message changes";

/// The outcome of a call without a fault.
const ANSWERED: &str = "answered";

/// How long the series of a policy stay after it was removed: until the next scrape, and the last request that still
/// asks it.
const SERIES_STAY: Duration = Duration::from_mins(2);

/// The labels of a series.
pub(super) type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// A histogram of durations for each set of labels.
type Seconds<const N: usize> = Family<Labels<N>, Histogram>;

/// A new metric of the registry.
pub(super) fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn seconds<const N: usize>(registry: &mut Registry, name: &str, help: &str) -> Seconds<N> {
    let family = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
    registry.register_with_unit(name, help, Unit::Seconds, family.clone());
    family
}

/// Counts calls of policies and binds.
pub(crate) struct PolicyMetrics {
    calls: Family<Labels<4>, Counter>,
    seconds: Seconds<3>,
    evaluated: Family<Labels<3>, Counter>,
    rejected: Family<Labels<3>, Counter>,
    circuits_opened: Family<Labels<2>, Counter>,
    binds: Family<Labels<2>, Counter>,
    bind_retries: Counter,
    bind_waits: Seconds<1>,
    bind_calls_missed: Family<Labels<1>, Counter>,
    failed_unasked: Family<Labels<2>, Counter>,
    model_differences: Family<Labels<1>, Counter>,
    /// The groups whose reasons the log has called unstable.
    unstable: Mutex<HashSet<Box<str>>>,
    /// The policies that have series, and when one was removed.
    removed: Mutex<BTreeMap<Box<str>, Option<Instant>>>,
}

/// Counts requests by group and verb.
pub(crate) struct WireMetrics {
    requests: Family<Labels<4>, Counter>,
    seconds: Seconds<2>,
    post_reply_work_dropped: Counter<u64, AtomicU64>,
    binds_denied: Family<Labels<1>, Counter>,
}

/// Counts TLS handshakes, and shows the expiry of the certificate.
pub(crate) struct TlsMetrics {
    refused: Family<Labels<1>, Counter>,
    reloads: Family<Labels<1>, Counter>,
    files_refused: Gauge,
    expiry: Gauge,
}

/// Counts nominations.
#[derive(Clone)]
pub(crate) struct NominationMetrics(Family<Labels<2>, Counter>);

/// Counts the wakes of waiting pods.
#[derive(Clone)]
pub(crate) struct WakeMetrics(Family<Labels<1>, Counter>);

// === impl PolicyMetrics ===

impl PolicyMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let evaluated = "Nodes or candidates that the guest evaluated; the other answers came from the decision cache";
        let opened = "Times that consecutive faults opened a policy's circuit";
        let retries = "Times that policies were asked again about a bind, because what they had read had changed";
        let unasked = "Faults of calls that no request asked for: about nodes that kube-scheduler did not offer, and pods that wait";
        let differences = "Reasons for which the model of kube-scheduler's filters rejects nodes that kube-scheduler accepts, by plugin";
        let missed = "Bind calls that a filter waited for and that did not come in time, by the group of the filter";
        Self {
            calls: registered(registry, "policy_calls", "Calls of a policy by outcome"),
            seconds: seconds(registry, "policy_duration", "Time of one call of a policy, all its nodes together"),
            evaluated: registered(registry, "policy_evaluations", evaluated),
            rejected: registered(registry, "policy_rejections", "Nodes or candidates that a policy rejected"),
            circuits_opened: registered(registry, "policy_circuit_opened", opened),
            binds: registered(registry, "binds", "Binds by outcome"),
            bind_retries: registered(registry, "bind_retries", retries),
            bind_waits: seconds(
                registry,
                "bind_call_wait",
                "Time that a filter which counts pods waited for bind calls",
            ),
            bind_calls_missed: registered(registry, "bind_calls_missed", missed),
            failed_unasked: registered(registry, "policy_unasked_faults", unasked),
            model_differences: registered(registry, "model_differences", differences),
            unstable: Mutex::default(),
            removed: Mutex::default(),
        }
    }

    /// Called when a new roster comes into force.
    pub(super) fn reloaded(&self, roster: &Roster) {
        self.mark_removed(roster.members().map(|member| member.id()), Instant::now());
        // Prometheus sees an increase only of a series that was there before it.
        for member in roster.members().filter(|member| member.config.mode != Mode::Off) {
            drop(self.circuits_opened.get_or_create(&circuit_labels(member)));
            // The verbs of one that is not loaded yet are not known.
            let verbs = member.policy.verbs();
            for verb in verbs.iter().filter(|verb| *verb != Verb::Validate && !member.is_stand_in()) {
                let [policy, verb, mode] = call_labels(member, verb);
                drop(self.calls.get_or_create(&[policy, verb, mode, ("outcome", ANSWERED.into())]));
            }
        }
    }

    fn mark_removed<'p>(&self, in_force: impl Iterator<Item = &'p str>, now: Instant) {
        let mut removed = self.removed.lock();
        removed.values_mut().for_each(|at| _ = at.get_or_insert(now));
        removed.extend(in_force.map(|policy| (policy.into(), None)));
    }

    /// Drops the series of policies that were removed some time ago: names with a version in them would add up.
    pub(super) fn forget_removed(&self, now: Instant) {
        self.removed.lock().retain(|policy, removed| {
            let is_over = removed.is_some_and(|at| now.saturating_duration_since(at) >= SERIES_STAY);
            if is_over {
                self.forget(policy);
            }
            !is_over
        });
    }

    fn forget(&self, policy: &str) {
        let outcomes = FaultKind::ALL.map(FaultKind::as_str).into_iter().chain(once(ANSWERED));
        for verb in Verb::ALL {
            self.failed_unasked.remove(&unasked_labels(policy, verb));
            for mode in Mode::ALL {
                let labels = labels_of(policy, verb, mode);
                self.seconds.remove(&labels);
                self.evaluated.remove(&labels);
                self.rejected.remove(&labels);
                let [policy, verb, mode] = labels;
                for outcome in outcomes.clone() {
                    self.calls.remove(&[policy.clone(), verb.clone(), mode.clone(), ("outcome", outcome.into())]);
                }
                self.circuits_opened.remove(&[policy, mode]);
            }
        }
    }
}

fn call_labels(member: &Member, verb: Verb) -> Labels<3> {
    labels_of(member.id(), verb, member.config.mode)
}

fn labels_of(policy: &str, verb: Verb, mode: Mode) -> Labels<3> {
    [("policy", policy.to_owned().into()), ("verb", verb.as_str().into()), ("mode", mode.as_str().into())]
}

fn circuit_labels(member: &Member) -> Labels<2> {
    let [policy, _, mode] = call_labels(member, Verb::Filter);
    [policy, mode]
}

fn unasked_labels(policy: &str, verb: Verb) -> Labels<2> {
    [("policy", policy.to_owned().into()), ("verb", verb.as_str().into())]
}

impl Observer for PolicyMetrics {
    fn called(&self, call: CallOf<'_>, outcome: Outcome<'_>, elapsed: Duration) {
        let labels = call_labels(call.member, call.verb);
        self.seconds.get_or_create(&labels).observe(elapsed.as_secs_f64());
        let outcome = match outcome {
            Outcome::Answered { asked: _, rejected, evaluated } => {
                self.evaluated.get_or_create(&labels).inc_by(evaluated as u64);
                self.rejected.get_or_create(&labels).inc_by(rejected as u64);
                ANSWERED
            }
            Outcome::Fault(fault) => {
                log_failure(call, fault);
                fault.kind.as_str()
            }
        };
        let [policy, verb, mode] = labels;
        self.calls.get_or_create(&[policy, verb, mode, ("outcome", outcome.into())]).inc();
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

    fn failed_unasked(&self, member: &Member, verb: Verb) {
        self.failed_unasked.get_or_create(&unasked_labels(member.id(), verb)).inc();
    }

    fn left_without_node(&self, report: &LeftWithoutNode<'_>) {
        let LeftWithoutNode { group, pod, rejected, nominated } = *report;
        let id = PodId::of(pod);
        tracing::info!(
            target: PENDING,
            pod = id.map(tracing::field::display),
            uid = id.map(PodId::uid),
            request = %RequestId::current(),
            group,
            policy = rejected.reasons.first().map(|reason| reason.by.as_str()),
            nodes = rejected.nodes,
            whole = rejected.is_whole,
            rejected = %rejected,
            nominated,
            "a pod is left without a node"
        );
    }

    fn unstable_reasons(&self, group: &str, pod: &Pod) {
        if self.unstable.lock().insert(group.into()) {
            let pod = PodId::of(pod).map(tracing::field::display);
            tracing::warn!(group, pod, "{UNSTABLE}");
        }
    }

    fn model_differs(&self, difference: &ModelDifference, pod: &Pod) {
        let ModelDifference { scheduler, plugin, reason } = difference;
        let pod = PodId::of(pod).map(tracing::field::display);
        tracing::warn!(%scheduler, plugin, %reason, pod, "kube-scheduler accepts nodes that plimsoll's model of its filters rejects: this reason of the model no longer counts for this scheduler");
        self.model_differences.get_or_create(&[("plugin", (*plugin).into())]).inc();
    }

    fn circuit_opened(&self, member: &Member, verb: Verb) {
        let (policy, verb) = (member.id(), verb.as_str());
        tracing::warn!(policy, verb, "too many faults in a row: the policy is not called for {OPEN_TIME:?}");
        self.circuits_opened.get_or_create(&circuit_labels(member)).inc();
    }

    fn bound(&self, report: &BindReport<'_>) {
        crate::binding::log(report);
        let (group, outcome) = (report.group.to_owned(), bind_outcome(report.outcome));
        self.binds.get_or_create(&[("group", group.into()), ("outcome", outcome.into())]).inc();
    }

    fn bind_asked_again(&self, _: &BindQuery<'_>) {
        self.bind_retries.inc();
    }

    fn waited_for_bind_calls(&self, group: &str, wait: BindCallWait) {
        let labels = [("group", group.to_owned().into())];
        self.bind_waits.get_or_create(&labels).observe(wait.elapsed.as_secs_f64());
        self.bind_calls_missed.get_or_create(&labels).inc_by(wait.missed as u64);
    }

    fn cache_disabled(&self, member: &Member, verb: Verb, reason: Disabled) {
        let (policy, verb) = (member.id(), verb.as_str());
        tracing::warn!(policy, version = member.version, verb, %reason, "the decision cache is disabled for this policy: it is called for every request");
    }
}

fn log_failure(call: CallOf<'_>, fault: &Fault) {
    // An open circuit was logged when it opened, and a policy that is not loaded when its files were refused.
    if fault.kind.is_of_earlier_cause() {
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
        Err(DecideError::Unbound(Unbound::Refused(_))) => "refused",
        Err(DecideError::Unbound(unbound)) if unbound.is_routine() => "not-bound",
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
            post_reply_work_dropped: registered(registry, "shadow_dropped", dropped),
            binds_denied: registered(registry, "binds_denied", denied),
        }
    }
}

impl WireObserver for WireMetrics {
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, _: usize, elapsed: Duration) {
        let labels = [("group", group.to_owned().into()), ("verb", verb.into())];
        self.seconds.get_or_create(&labels).observe(elapsed.as_secs_f64());
        let ([group, verb], result) = (labels, if failed { "error" } else { "ok" });
        let labels = [group, verb, ("code", status.to_string().into()), ("result", result.into())];
        self.requests.get_or_create(&labels).inc();
    }

    fn post_reply_work_dropped(&self) {
        self.post_reply_work_dropped.inc();
    }

    fn bind_denied(&self, reason: &'static str) {
        self.binds_denied.get_or_create(&[("reason", reason.into())]).inc();
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
        self.refused.get_or_create(&[("reason", reason.into())]).inc();
    }

    fn reloaded(&self, taken: bool) {
        let result = if taken { "loaded" } else { "refused" };
        self.reloads.get_or_create(&[("result", result.into())]).inc();
        self.files_refused.set(i64::from(!taken));
    }

    fn expires(&self, at: SystemTime) {
        self.expiry.set(at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()) as i64);
    }
}

// === impl NominationMetrics ===

impl NominationMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let help = "Nominations of pods for nodes that kube-scheduler has not looked at, and their ends, by outcome";
        let own = Self(registered(registry, "nominations", help));
        for is_begin in [true, false] {
            drop(own.0.get_or_create(&Self::labels(is_begin, "failed")));
        }
        own
    }

    /// A pod was nominated, or its nomination was taken back.
    pub(crate) fn sent(&self, is_begin: bool, outcome: &'static str) {
        self.0.get_or_create(&Self::labels(is_begin, outcome)).inc();
    }

    fn labels(is_begin: bool, outcome: &'static str) -> Labels<2> {
        [("what", if is_begin { "nominate" } else { "take-back" }.into()), ("outcome", outcome.into())]
    }
}

// === impl WakeMetrics ===

impl WakeMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let help = "Times that kube-scheduler was told to try rejected pods again, by result";
        let own = Self(registered(registry, "wakes", help));
        for is_sent in [true, false] {
            drop(own.0.get_or_create(&Self::labels(is_sent)));
        }
        own
    }

    /// kube-scheduler was told, or could not be.
    pub(crate) fn woke(&self, is_sent: bool) {
        self.0.get_or_create(&Self::labels(is_sent)).inc();
    }

    fn labels(is_sent: bool) -> Labels<1> {
        [("result", if is_sent { "sent" } else { "failed" }.into())]
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn the_series_of_a_policy_that_was_removed_end_and_others_stay() {
        let mut registry = Registry::default();
        let metrics = PolicyMetrics::new(&mut registry);
        let begin = Instant::now();
        metrics.mark_removed(["gone", "stays"].into_iter(), begin);
        for policy in ["gone", "stays"] {
            for (verb, mode) in [(Verb::Filter, Mode::Enforce), (Verb::Rank, Mode::Shadow)] {
                let labels = labels_of(policy, verb, mode);
                metrics.seconds.get_or_create(&labels).observe(0.5);
                metrics.evaluated.get_or_create(&labels).inc();
                metrics.rejected.get_or_create(&labels).inc();
                metrics.failed_unasked.get_or_create(&unasked_labels(policy, verb)).inc();
                let [policy, verb, mode] = labels;
                metrics.circuits_opened.get_or_create(&[policy.clone(), mode.clone()]).inc();
                metrics.calls.get_or_create(&[policy, verb, mode, ("outcome", "panic".into())]).inc();
            }
        }
        let count = |policy: &str, after: Duration| {
            metrics.forget_removed(begin + after);
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            text.matches(&format!("policy=\"{policy}\"")).count()
        };
        let all = count("stays", SERIES_STAY);
        metrics.mark_removed(["stays"].into_iter(), begin + SERIES_STAY);
        assert_eq!(count("gone", SERIES_STAY), all);
        metrics.mark_removed(["stays"].into_iter(), begin + 3 * SERIES_STAY / 2);
        assert_eq!((count("gone", 2 * SERIES_STAY), count("stays", 2 * SERIES_STAY)), (0, all));
    }
}
