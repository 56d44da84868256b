//! Metrics of the wire: calls by group and verb.

use std::{sync::atomic::AtomicU64, time::Duration};

use plimsoll_http::WireObserver;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::{Metrics, histogram};

pub(super) struct WireMetrics {
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram>,
    nodes: Family<RouteLabels, Counter>,
    left_undone: Counter<u64, AtomicU64>,
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

// === impl WireMetrics ===

impl WireMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("requests", "Extender calls answered", self.requests.clone());
        let help = "Time from the first byte of an extender call to its answer";
        registry.register_with_unit("request_duration", help, Unit::Seconds, self.seconds.clone());
        registry.register("request_nodes", "Nodes in extender calls", self.nodes.clone());
        let help = "Replies whose shadow policies were not asked, since too many waited";
        registry.register("shadow_dropped", help, self.left_undone.clone());
    }
}

impl Default for WireMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            nodes: Family::default(),
            left_undone: Counter::default(),
        }
    }
}

impl WireObserver for Metrics {
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, nodes: usize, elapsed: Duration) {
        let wire = &self.wire;
        let route = RouteLabels { group: group.to_owned(), verb };
        wire.seconds.get_or_create(&route).observe(elapsed.as_secs_f64());
        wire.nodes.get_or_create(&route).inc_by(nodes as u64);
        let result = if failed { "error" } else { "ok" };
        wire.requests.get_or_create(&RequestLabels { group: route.group, verb, code: status, result }).inc();
    }

    fn left_undone(&self) {
        self.wire.left_undone.inc();
    }
}
