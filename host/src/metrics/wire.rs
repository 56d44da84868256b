//! Metrics of the wire: calls by group and verb. A call is counted by handles, so that none looks up a label.

use std::{
    sync::{OnceLock, atomic::AtomicU64},
    time::Duration,
};

use plimsoll_http::{NO_LABEL, WireObserver};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::{by_name::ByName, histogram::histogram, labels::OneLabel};

const OK: u16 = 200;

/// The verbs of the wire.
const VERBS: [&str; 5] = ["filter", "prioritize", "preempt", "bind", NO_LABEL];

/// Metrics of requests by group and verb.
pub(crate) struct WireMetrics {
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram>,
    nodes: Family<RouteLabels, Counter>,
    post_reply_work_dropped: Counter<u64, AtomicU64>,
    binds_denied: Family<OneLabel, Counter>,
    /// By group.
    handles: ByName<[OnceLock<RequestHandles>; VERBS.len()]>,
}

/// One group and verb.
struct RequestHandles {
    /// Calls with a decision.
    decided: Counter,
    seconds: Histogram,
    nodes: Counter,
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
        registry.register("shadow_dropped", help, self.post_reply_work_dropped.clone());
        let help = "Binds asked for by clients that may not bind, by reason";
        registry.register("binds_denied", help, self.binds_denied.clone());
    }

    fn handles_of(&self, group: &str, verb: &'static str) -> RequestHandles {
        let labels = RouteLabels { group: group.to_owned(), verb };
        RequestHandles {
            decided: self.requests.get_or_create_owned(&request_labels(group, verb, OK, false)),
            seconds: self.seconds.get_or_create_owned(&labels),
            nodes: self.nodes.get_or_create_owned(&labels),
        }
    }
}

impl Default for WireMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            nodes: Family::default(),
            post_reply_work_dropped: Counter::default(),
            binds_denied: Family::default(),
            handles: ByName::default(),
        }
    }
}

impl WireObserver for WireMetrics {
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, nodes: usize, elapsed: Duration) {
        let Some(at) = VERBS.iter().position(|known| *known == verb) else { return };
        self.handles.with(group, |verbs| {
            let handles = verbs[at].get_or_init(|| self.handles_of(group, verb));
            handles.seconds.observe(elapsed.as_secs_f64());
            handles.nodes.inc_by(nodes as u64);
            if status == OK && !failed {
                handles.decided.inc();
            } else {
                self.requests.get_or_create(&request_labels(group, verb, status, failed)).inc();
            }
        });
    }

    fn post_reply_work_dropped(&self) {
        self.post_reply_work_dropped.inc();
    }

    fn bind_denied(&self, reason: &'static str) {
        self.binds_denied.get_or_create(&[("reason", reason)]).inc();
    }
}

fn request_labels(group: &str, verb: &'static str, code: u16, failed: bool) -> RequestLabels {
    RequestLabels { group: group.to_owned(), verb, code, result: if failed { "error" } else { "ok" } }
}
