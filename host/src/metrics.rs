//! Prometheus metrics.

mod observers;
mod page;

use std::{sync::Arc, time::Instant};

use arc_swap::ArcSwapOption;
use plimsoll_core::{Cluster, PolicyState, Roster};
use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

use self::observers::{Labels, PolicyMetrics, TlsMetrics, WireMetrics, registered};
pub(crate) use self::observers::{NominationMetrics, WakeMetrics};
pub(crate) use self::page::Page;
use crate::trouble::Trouble;

/// The metrics that are counted as things happen; a [`Page`] has those that are read at a scrape.
pub(crate) struct Metrics {
    registry: Registry,
    /// Observes the requests on the wire.
    pub(crate) wire: Arc<WireMetrics>,
    /// Observes the gateway's calls of policies.
    pub(crate) policies: Arc<PolicyMetrics>,
    /// Observes TLS handshakes and certificates.
    pub(crate) tls: Arc<TlsMetrics>,
    /// Counts the wakes of waiting pods.
    pub(crate) wakes: WakeMetrics,
    pub(crate) wake_trouble: Trouble,
    /// Counts nominations.
    pub(crate) nominations: NominationMetrics,
    pub(crate) nomination_trouble: Trouble,
    states: Family<Labels<1>, Gauge>,
    directory_problems: Family<Labels<1>, Gauge>,
    cluster_nodes: Gauge,
    cluster_pods: Gauge,
    cluster_published: Counter,
    /// Why the snapshot file cannot be read, as long as the last good one is in use.
    pub(crate) snapshot_problem: ArcSwapOption<String>,
}

// === impl Metrics ===

impl Metrics {
    /// Registers every metric.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("plimsoll");
        registry.register("build", "The version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let metrics = Self {
            wire: Arc::new(WireMetrics::new(&mut registry)),
            policies: Arc::new(PolicyMetrics::new(&mut registry)),
            tls: Arc::new(TlsMetrics::new(&mut registry)),
            wakes: WakeMetrics::new(&mut registry),
            wake_trouble: Trouble::default(),
            nominations: NominationMetrics::new(&mut registry),
            nomination_trouble: Trouble::default(),
            states: registered(&mut registry, "policies", "Policies by state"),
            directory_problems: registered(
                &mut registry,
                "policy_directory_problems",
                "Problems of a whole `directory`, or of the `name` of a file or a sub-directory",
            ),
            cluster_nodes: registered(&mut registry, "cluster_nodes", "Nodes in the gateway's view"),
            cluster_pods: registered(&mut registry, "cluster_pods", "Placed pods in the gateway's view"),
            cluster_published: registered(&mut registry, "cluster_published", "Snapshots of the cluster published"),
            snapshot_problem: ArcSwapOption::empty(),
            registry: Registry::default(),
        };
        Self { registry, ..metrics }
    }

    /// The text that Prometheus scrapes.
    pub(crate) fn render(&self, page: &Page) -> String {
        self.policies.forget_removed(Instant::now());
        let mut text = String::new();
        let encoded = encode_registry(&mut text, &self.registry).and_then(|()| encode_registry(&mut text, &page.0));
        // Writing to a string cannot fail; a metric that could not be encoded would be our bug.
        if let Err(error) = encoded.and_then(|()| encode_eof(&mut text)) {
            tracing::error!(%error, "metrics could not be encoded");
        }
        text
    }

    /// Shows the states of the policies of a roster that comes into force.
    pub(crate) fn reloaded(&self, roster: &Roster) {
        let states = roster.states();
        for state in PolicyState::ALL {
            let count = states.values().filter(|policy_state| **policy_state == state).count();
            self.states.get_or_create(&[("state", state.as_str().into())]).set(count as i64);
        }
        for (of, is_whole) in [("directory", true), ("name", false)] {
            let count = roster.directory_failures().filter(|failure| failure.is_of_directory() == is_whole).count();
            self.directory_problems.get_or_create(&[("of", of.into())]).set(count as i64);
        }
        self.policies.reloaded(roster);
    }

    /// Sets the size of the gateway's view.
    pub(crate) fn cluster(&self, cluster: &Cluster) {
        self.cluster_nodes.set(cluster.slots().len() as i64);
        self.cluster_pods.set(cluster.pod_count() as i64);
        self.cluster_published.inc();
    }
}
