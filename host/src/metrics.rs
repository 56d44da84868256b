//! Prometheus metrics, by policy and verb.

mod binds;
mod by_name;
mod calls;
mod departed;
mod facts;
mod guests;
mod histogram;
mod labels;
mod leader;
mod policies;
mod tls;
mod watch;
mod wire;

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock, atomic::AtomicU64},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use plimsoll_cluster::{ClusterWatch, Leadership};
use plimsoll_core::{Cluster, PolicyState, Roster};
use plimsoll_directory::PolicyChange;
use plimsoll_wasm::WasmLoader;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::{Registry, Unit},
};

use crate::facts::FactsFileFollower;

use self::{departed::DepartedPolicies, labels::OneLabel, policies::PolicyMetrics, tls::TlsMetrics, wire::WireMetrics};

/// All metrics of the process.
pub(crate) struct Metrics {
    registry: Registry,
    /// Observes the requests on the wire.
    pub(crate) wire: Arc<WireMetrics>,
    /// Observes the gateway's calls of policies.
    pub(crate) policies: Arc<PolicyMetrics>,
    pub(crate) decision_cache_bytes: Gauge,
    reloads: Family<ReloadLabels, Counter>,
    departed: Mutex<DepartedPolicies>,
    states: Family<OneLabel, Gauge>,
    /// By the kind of thing: a whole `directory`, or the `name` of one file or sub-directory.
    directory_problems: Family<OneLabel, Gauge>,
    /// Policies that read pods on nodes without a view of them.
    pub(crate) blind: Gauge,
    pub(crate) ready: Gauge,
    cluster_nodes: Gauge,
    cluster_pods: Gauge,
    cluster_published: Counter,
    snapshot_errors: Counter<u64, AtomicU64>,
    snapshot_problem: ArcSwapOption<String>,
    /// Observes TLS handshakes and certificates.
    pub(crate) tls: Arc<TlsMetrics>,
    /// The resources that guests share.
    pub(crate) guests: Late<WasmLoader>,
    /// The watch on the API server, and `--max-staleness`.
    pub(crate) watch: Late<(Arc<ClusterWatch>, Duration)>,
    /// The election.
    pub(crate) leader: Late<Arc<Leadership>>,
    /// The sources of `--facts`.
    pub(crate) facts: Late<Arc<FactsFileFollower>>,
}

/// Something that is collected at each scrape, once it is there.
#[derive(Debug, Clone)]
pub(crate) struct Late<T>(Arc<OnceLock<T>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    policy: String,
    result: &'static str,
}

/// The values of `result` in [`ReloadLabels`].
const RELOAD_RESULTS: [&str; 7] = ["loaded", "unchanged", "refused", "removed", "library", "rolled-back", "off"];

// === impl Metrics ===

impl Metrics {
    /// Registers every metric.
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("plimsoll"),
            wire: Arc::default(),
            policies: Arc::default(),
            decision_cache_bytes: Gauge::default(),
            reloads: Family::default(),
            departed: Mutex::default(),
            states: Family::default(),
            directory_problems: Family::default(),
            blind: Gauge::default(),
            ready: Gauge::default(),
            cluster_nodes: Gauge::default(),
            cluster_pods: Gauge::default(),
            cluster_published: Counter::default(),
            snapshot_errors: Counter::default(),
            snapshot_problem: ArcSwapOption::empty(),
            tls: Arc::default(),
            guests: Late::default(),
            watch: Late::default(),
            leader: Late::default(),
            facts: Late::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("build", "The version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        self.wire.register(registry);
        self.policies.register(registry);
        let (help, bytes) =
            ("Memory of the decision cache: cached answers and the node columns that index them", Unit::Bytes);
        registry.register_with_unit("decision_cache", help, bytes, self.decision_cache_bytes.clone());
        registry.register("policy_reloads", "Changes of policy files by result", self.reloads.clone());
        registry.register("policies", "Policies by state", self.states.clone());
        let help = "Policy directories and file names with a problem";
        registry.register("policy_directory_problems", help, self.directory_problems.clone());
        registry.register("ready", "1 while /readyz answers 200", self.ready.clone());
        let help = "Policies that read the pods on nodes although the gateway has no view of them";
        registry.register("policies_without_pods", help, self.blind.clone());
        registry.register("cluster_nodes", "Nodes in the gateway's view", self.cluster_nodes.clone());
        registry.register("cluster_pods", "Placed pods in the gateway's view", self.cluster_pods.clone());
        let help = "Snapshots of the cluster published";
        registry.register("cluster_published", help, self.cluster_published.clone());
        let help = "Snapshot files that could not be read";
        registry.register("snapshot_errors", help, self.snapshot_errors.clone());
        self.tls.register(registry);
        registry.register_collector(Box::new(self.guests.clone()));
        registry.register_collector(Box::new(self.watch.clone()));
        registry.register_collector(Box::new(self.leader.clone()));
        registry.register_collector(Box::new(self.facts.clone()));
    }

    /// The text that Prometheus scrapes.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail; a metric that could not be encoded would be our bug.
        if let Err(error) = encode(&mut text, &self.registry) {
            tracing::error!(%error, "metrics could not be encoded");
        }
        text
    }

    /// Counts the changes of a reload.
    pub(crate) fn reloaded(&self, roster: &Roster, changes: &[PolicyChange]) {
        for change in changes {
            if let Some(result) = reload_result(change) {
                self.reloads.get_or_create(&ReloadLabels { policy: change.id().to_owned(), result }).inc();
            }
        }
        let states = roster.states();
        self.remove_departed(states.keys().cloned().collect(), changes);
        for state in PolicyState::ALL {
            let count = states.values().filter(|policy_state| **policy_state == state).count();
            self.states.get_or_create(&[("state", state.as_str())]).set(count as i64);
        }
        for (of, is_whole) in [("directory", true), ("name", false)] {
            let count = roster.directory_failures().filter(|failure| failure.is_of_directory() == is_whole).count();
            self.directory_problems.get_or_create(&[("of", of)]).set(count as i64);
        }
        self.policies.reloaded(roster);
    }

    /// Removes the series of policies that left long ago.
    fn remove_departed(&self, present: BTreeSet<Arc<str>>, changes: &[PolicyChange]) {
        let counted = changes.iter().filter(|change| reload_result(change).is_some());
        let counted = counted.map(|change| Arc::from(change.id()));
        let gone = self.departed.lock().reloaded(present, counted);
        for policy in gone {
            for result in RELOAD_RESULTS {
                self.reloads.remove(&ReloadLabels { policy: policy.to_string(), result });
            }
            self.policies.remove(&policy);
        }
    }

    /// Sets the size of the gateway's view.
    pub(crate) fn cluster(&self, cluster: &Cluster) {
        self.cluster_nodes.set(cluster.slots().len() as i64);
        self.cluster_pods.set(cluster.pod_count() as i64);
        self.cluster_published.inc();
    }

    /// Counts a snapshot that could not be read, and keeps the error.
    pub(crate) fn snapshot_failed(&self, problem: String) {
        self.snapshot_errors.inc();
        self.snapshot_problem.store(Some(Arc::new(problem)));
    }

    /// A snapshot was read.
    pub(crate) fn snapshot_read(&self) {
        self.snapshot_problem.store(None);
    }

    /// The error of the snapshot file, as long as the last good one is in use.
    pub(crate) fn snapshot_problem(&self) -> Option<Arc<String>> {
        self.snapshot_problem.load_full()
    }
}

// === impl Late ===

impl<T> Late<T> {
    /// From now on it is there. There is one in a process.
    pub(crate) fn set(&self, value: T) {
        let _ = self.0.set(value);
    }

    fn get(&self) -> Option<&T> {
        self.0.get()
    }
}

impl<T> Default for Late<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// The value of `result` for a change; `None` for a file that is no policy.
fn reload_result(change: &PolicyChange) -> Option<&'static str> {
    let [loaded, unchanged, refused, removed, library, rolled_back, off] = RELOAD_RESULTS;
    match change {
        PolicyChange::Loaded { .. } => Some(loaded),
        PolicyChange::Unchanged { .. } | PolicyChange::Cleared { .. } => Some(unchanged),
        PolicyChange::Refused { .. } | PolicyChange::Problem { .. } => Some(refused),
        PolicyChange::Removed { .. } => Some(removed),
        PolicyChange::Library { .. } => Some(library),
        PolicyChange::RolledBack { .. } => Some(rolled_back),
        PolicyChange::SwitchedOff { .. } => Some(off),
        PolicyChange::Ignored { .. } => None,
    }
}

#[cfg(test)]
mod tests;
