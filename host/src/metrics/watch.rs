//! Metrics of the watch on the API server, read at each scrape.

use std::{fmt, sync::Arc, time::Duration};

use plimsoll_cluster::{ClusterWatch, ResourceStatus, WatchStatus};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};

use super::Late;

type WatchCount = fn(&ResourceStatus) -> u64;

/// Counters of each resource: name, help, value.
const COUNTERS: [(&str, &str, WatchCount); 6] = [
    ("watch_events", "Events of the watch, bookmarks left out", |status| status.events),
    ("watch_bookmarks", "Bookmarks of the watch", |status| status.bookmarks),
    ("watch_lists", "Complete lists; the first is one of them", |status| status.lists),
    ("watch_starts", "Watches that began", |status| status.watches),
    ("watch_failures", "Lists and watches that failed", |status| status.failures),
    ("watch_unreadable", "Objects of lists and events that could not be read", |status| status.unreadable),
];

impl Collector for Late<(Arc<ClusterWatch>, Duration)> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some((watch, max_staleness)) = self.get() else { return Ok(()) };
        let WatchStatus { nodes, pods, namespaces, reserved, .. } = watch.status();
        let gauge = ConstGauge::new(reserved as i64);
        let help = "Pods that were bound and that the watch has not shown yet";
        gauge.encode(encoder.encode_descriptor("watch_reserved_pods", help, None, gauge.metric_type())?)?;
        for (name, help, value) in COUNTERS {
            let kind = ConstCounter::new(0u64).metric_type();
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for status in [&nodes, &pods, &namespaces] {
                let labels = [("resource", status.resource)];
                ConstCounter::new(value(status)).encode(family.encode_family(&labels)?)?;
            }
        }
        let kind = ConstGauge::new(0i64).metric_type();
        let help = "Objects that the API server has now and that cannot be read";
        let mut family = encoder.encode_descriptor("watch_unreadable_objects", help, None, kind)?;
        for status in [&nodes, &pods, &namespaces] {
            let labels = [("resource", status.resource)];
            ConstGauge::new(status.unreadable_now as i64).encode(family.encode_family(&labels)?)?;
        }
        let silences = [nodes.silent_for, pods.silent_for];
        let silence = "Time since the last sign of life of the watch, or since the start";
        let limit = "The value of --max-staleness";
        for (name, help, values) in
            [("watch_staleness", silence, silences), ("watch_staleness_limit", limit, [*max_staleness; 2])]
        {
            let kind = ConstGauge::new(0.0).metric_type();
            let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Seconds), kind)?;
            for (status, value) in [&nodes, &pods].into_iter().zip(values) {
                let labels = [("resource", status.resource)];
                ConstGauge::new(value.as_secs_f64()).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
