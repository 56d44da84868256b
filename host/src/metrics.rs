//! Prometheus metrics: what the gateway did, by policy and verb.

mod leader;
mod tls;
mod watch;

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use plimsoll_cluster::{ClusterWatch, Leadership};
use plimsoll_core::{
    BindOutcome, Cluster, DecideError, Difference, Fault, Member, Observer, Off, Outcome, Roster, Unbound, Verb,
};
use plimsoll_directory::Change;
use plimsoll_http::WireObserver;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};

use self::{leader::LeaderCollector, tls::TlsMetrics, watch::WatchCollector};

/// Upper bounds in seconds: from 5 microseconds, by factors of 2 to 2.5, to 5 seconds.
const BUCKETS: [f64; 19] = [
    5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 1e-1, 2.5e-1, 5e-1, 1.0, 2.5,
    5.0,
];

/// All metrics of the process.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<RouteLabels, Histogram>,
    request_nodes: Family<RouteLabels, Counter>,
    calls: Family<CallLabels, Counter>,
    call_seconds: Family<PolicyLabels, Histogram>,
    asked: Family<PolicyLabels, Counter>,
    evaluated: Family<PolicyLabels, Counter>,
    rejected: Family<PolicyLabels, Counter>,
    circuits_opened: Family<CircuitLabels, Counter>,
    binds: Family<BindLabels, Counter>,
    bind_seconds: Family<GroupLabels, Histogram>,
    stopped_remembering: Family<StoppedLabels, Counter>,
    rechecks: Family<RecheckLabels, Counter>,
    remembered_bytes: Gauge,
    reloads: Family<ReloadLabels, Counter>,
    policies: Family<StateLabels, Gauge>,
    cluster_nodes: Gauge,
    cluster_pods: Gauge,
    cluster_published: Counter,
    snapshot_errors: Counter<u64, AtomicU64>,
    left_undone: Counter<u64, AtomicU64>,
    tls: TlsMetrics,
    watch: WatchCollector,
    leader: LeaderCollector,
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

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BindLabels {
    group: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GroupLabels {
    group: String,
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

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    policy: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

// === impl Metrics ===

impl Metrics {
    /// Registers every metric.
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("plimsoll"),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(histogram),
            request_nodes: Family::default(),
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(histogram),
            asked: Family::default(),
            evaluated: Family::default(),
            rejected: Family::default(),
            circuits_opened: Family::default(),
            binds: Family::default(),
            bind_seconds: Family::new_with_constructor(histogram),
            stopped_remembering: Family::default(),
            rechecks: Family::default(),
            remembered_bytes: Gauge::default(),
            reloads: Family::default(),
            policies: Family::default(),
            cluster_nodes: Gauge::default(),
            cluster_pods: Gauge::default(),
            cluster_published: Counter::default(),
            snapshot_errors: Counter::default(),
            left_undone: Counter::default(),
            tls: TlsMetrics::default(),
            watch: WatchCollector::default(),
            leader: LeaderCollector::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("build", "The version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("requests", "Extender calls answered", self.requests.clone());
        let seconds = Unit::Seconds;
        let help = "Time from the first byte of an extender call to its answer";
        registry.register_with_unit("request_duration", help, seconds.clone(), self.request_seconds.clone());
        registry.register("request_nodes", "Nodes in extender calls", self.request_nodes.clone());
        registry.register("policy_calls", "Calls of a policy by outcome", self.calls.clone());
        let help = "Time of one call of a policy, all its nodes together";
        registry.register_with_unit("policy_duration", help, seconds.clone(), self.call_seconds.clone());
        registry.register("binds", "Binds by outcome", self.binds.clone());
        let help = "Time of a bind that this replica made, from its first byte on";
        registry.register_with_unit("bind_duration", help, seconds, self.bind_seconds.clone());
        registry.register("policy_nodes", "Nodes or candidates that a policy decided about", self.asked.clone());
        let help = "Nodes or candidates that the guest itself answered for; the other answers were remembered";
        registry.register("policy_evaluations", help, self.evaluated.clone());
        registry.register("policy_rejections", "Nodes or candidates that a policy turned down", self.rejected.clone());
        let help = "Times that faults in a row took a policy out for a while";
        registry.register("policy_circuit_opened", help, self.circuits_opened.clone());
        let help = "Times that a policy turned out to be one whose answers cannot be remembered";
        registry.register("policy_stopped_remembering", help, self.stopped_remembering.clone());
        let help = "Remembered answers that were asked again, by what came of it";
        registry.register("policy_rechecks", help, self.rechecks.clone());
        let (help, bytes) = ("Memory of remembered answers and of the columns they are found by", Unit::Bytes);
        registry.register_with_unit("remembered", help, bytes, self.remembered_bytes.clone());
        registry.register("policy_reloads", "Changes of policy files by result", self.reloads.clone());
        registry.register("policies", "Policies by state", self.policies.clone());
        registry.register("cluster_nodes", "Nodes in the gateway's own view", self.cluster_nodes.clone());
        registry.register("cluster_pods", "Placed pods in the gateway's own view", self.cluster_pods.clone());
        let help = "Pictures of the cluster that came into force, one after another";
        registry.register("cluster_published", help, self.cluster_published.clone());
        let help = "Snapshot files that could not be read";
        registry.register("snapshot_errors", help, self.snapshot_errors.clone());
        let help = "Replies whose shadow policies were not asked, since too many waited";
        registry.register("shadow_dropped", help, self.left_undone.clone());
        self.tls.register(registry);
        registry.register_collector(Box::new(self.watch.clone()));
        registry.register_collector(Box::new(self.leader.clone()));
    }

    /// The text that Prometheus scrapes.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail; a metric that could not be encoded would be our own bug.
        if let Err(error) = encode(&mut text, &self.registry) {
            tracing::error!(%error, "metrics could not be encoded");
        }
        text
    }

    /// Counts what a reload changed.
    pub(crate) fn reloaded(&self, roster: &Roster, changes: &[Change]) {
        for change in changes {
            let result = match change {
                Change::Loaded { .. } => "loaded",
                Change::Unchanged { .. } => "unchanged",
                Change::Refused { .. } => "refused",
                Change::Removed { .. } => "removed",
            };
            self.reloads.get_or_create(&ReloadLabels { policy: change.id().to_owned(), result }).inc();
        }
        let state = |state| self.policies.get_or_create_owned(&StateLabels { state });
        state("active").set(roster.members().count() as i64);
        state("failed").set(roster.failures().iter().filter(|failure| !failure.kept).count() as i64);
        state("kept").set(roster.failures().iter().filter(|failure| failure.kept).count() as i64);
    }

    /// Tells the size of the gateway's view.
    pub(crate) fn cluster(&self, cluster: &Cluster) {
        self.cluster_nodes.set(cluster.slots().len() as i64);
        self.cluster_pods.set(cluster.pod_count() as i64);
        self.cluster_published.inc();
    }

    /// Tells of the watch on the API server from now on.
    pub(crate) fn watch(&self, watch: Arc<ClusterWatch>) {
        self.watch.set(watch);
    }

    /// Tells of the election from now on.
    pub(crate) fn leader(&self, leadership: Arc<Leadership>) {
        self.leader.set(leadership);
    }

    /// Tells what is remembered of answers.
    pub(crate) fn remembered(&self, bytes: usize) {
        self.remembered_bytes.set(bytes as i64);
    }

    /// Counts a snapshot that could not be read.
    pub(crate) fn snapshot_failed(&self) {
        self.snapshot_errors.inc();
    }
}

impl Observer for Metrics {
    fn called(&self, member: &Member, verb: Verb, outcome: Outcome<'_>, elapsed: Duration) {
        let (verb, mode) = (verb.as_str(), member.config.mode.as_str());
        let policy = PolicyLabels { policy: member.id(), verb, mode };
        let outcome = match outcome {
            Outcome::Answered { asked, rejected, evaluated } => {
                self.asked.get_or_create(&policy).inc_by(asked as u64);
                self.evaluated.get_or_create(&policy).inc_by(evaluated as u64);
                self.rejected.get_or_create(&policy).inc_by(rejected as u64);
                "answered"
            }
            Outcome::Fault(fault) => {
                log_fault(member, verb, fault);
                fault.kind.as_str()
            }
        };
        self.call_seconds.get_or_create(&policy).observe(elapsed.as_secs_f64());
        self.calls.get_or_create(&CallLabels { policy: policy.policy, verb, mode, outcome }).inc();
    }

    fn circuit_opened(&self, member: &Member) {
        tracing::warn!(policy = member.id(), "too many faults in a row: the policy is not asked for 10 s");
        self.circuits_opened.get_or_create(&CircuitLabels { policy: member.id() }).inc();
    }

    fn bound(&self, group: &str, outcome: Result<&BindOutcome, &DecideError>, elapsed: Duration) {
        let (group, outcome) = (group.to_owned(), bind_outcome(outcome));
        if outcome != "forwarded" {
            self.bind_seconds.get_or_create_owned(&GroupLabels { group: group.clone() }).observe(elapsed.as_secs_f64());
        }
        self.binds.get_or_create(&BindLabels { group, outcome }).inc();
    }

    fn stopped_remembering(&self, member: &Member, verb: Verb, why: Off) {
        let (policy, verb) = (member.id(), verb.as_str());
        tracing::warn!(policy, version = member.version, verb, %why, "the policy's answers are not remembered any more: it is asked each time");
        self.stopped_remembering.get_or_create(&StoppedLabels { policy, verb, why: why.as_str() }).inc();
    }

    fn rechecked(&self, member: &Member, verb: Verb, is_same: bool) {
        let result = if is_same { "same" } else { "different" };
        self.rechecks.get_or_create(&RecheckLabels { policy: member.id(), verb: verb.as_str(), result }).inc();
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

/// What came of a bind, in a word that a dashboard can count by.
fn bind_outcome(outcome: Result<&BindOutcome, &DecideError>) -> &'static str {
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
            Unbound::OtherPod { .. } | Unbound::Elsewhere { .. } => "stale",
            Unbound::UnknownNode(_) => "unknown-node",
            Unbound::Binder { .. } => "api-error",
        },
        Err(_) => "error",
    }
}

/// An open circuit said so once, when it opened.
fn log_fault(member: &Member, verb: &str, fault: &Fault) {
    if fault.kind != plimsoll_core::FaultKind::CircuitOpen {
        tracing::warn!(policy = member.id(), version = member.version, verb, fault = %fault.kind, detail = fault.detail, "a policy failed");
    }
}

impl WireObserver for Metrics {
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, nodes: usize, elapsed: Duration) {
        let route = RouteLabels { group: group.to_owned(), verb };
        self.request_seconds.get_or_create(&route).observe(elapsed.as_secs_f64());
        self.request_nodes.get_or_create(&route).inc_by(nodes as u64);
        let result = if failed { "error" } else { "ok" };
        self.requests.get_or_create(&RequestLabels { group: route.group, verb, code: status, result }).inc();
    }

    fn left_undone(&self) {
        self.left_undone.inc();
    }
}
