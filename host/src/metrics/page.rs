//! The metrics that are read at a scrape.

use std::{sync::atomic::AtomicU64, time::Duration};

use plimsoll_cluster::{Leadership, LeadershipState, WatchStatus};
use plimsoll_core::CallClass;
use plimsoll_facts::SourceStatus;
use plimsoll_wasm::WasmLoader;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

/// One label of a series.
type OneLabel = [(&'static str, String); 1];

/// Metrics with their values at one moment.
pub(crate) struct Page(pub(super) Registry);

// === impl Page ===

impl Page {
    pub(crate) fn new() -> Self {
        Self(Registry::with_prefix("plimsoll"))
    }

    /// A gauge without labels.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: usize) {
        let gauge: Gauge = Gauge::default();
        gauge.set(value as i64);
        self.0.register(name, help, gauge);
    }

    /// A gauge with a value of one label for each series.
    fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        series: impl IntoIterator<Item = (&'l str, usize)>,
    ) {
        let family = Family::<OneLabel, Gauge>::default();
        for (value, number) in series {
            family.get_or_create(&[(label, value.to_owned())]).set(number as i64);
        }
        self.0.register(name, help, family);
    }

    /// The same for durations.
    fn seconds<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        series: impl IntoIterator<Item = (&'l str, Duration)>,
    ) {
        let family = Family::<OneLabel, Gauge<f64, AtomicU64>>::default();
        for (value, duration) in series {
            family.get_or_create(&[(label, value.to_owned())]).set(duration.as_secs_f64());
        }
        self.0.register_with_unit(name, help, Unit::Seconds, family);
    }

    /// The same for counters.
    fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        series: impl IntoIterator<Item = (&'l str, u64)>,
    ) {
        let family = Family::<OneLabel, Counter>::default();
        for (value, count) in series {
            family.get_or_create(&[(label, value.to_owned())]).inc_by(count);
        }
        self.0.register(name, help, family);
    }

    /// The resources that guests share.
    pub(crate) fn guests(&mut self, loader: &WasmLoader) {
        let shares = loader.shares();
        self.gauge("guest_memory_bytes", "Memory of all guest instances, waiting ones included", shares.bytes);
        let help = "The limit in force, from --guest-memory or its default";
        self.gauge("guest_memory_limit_bytes", help, shares.max_bytes);
        let calls = CallClass::ALL.into_iter().zip(shares.calls);
        let calls = calls.map(|(class, calls)| (class.as_str(), calls));
        self.gauges("guest_calls", "Running calls of policies, by purpose", "purpose", calls);
    }

    /// The watch on the API server, with the limit of `--max-staleness`.
    pub(crate) fn watch(&mut self, status: &WatchStatus, max_staleness: Duration) {
        let silences = [&status.nodes, &status.pods].map(|status| (status.resource, status.silent_for()));
        let help = "Time since the last sign of life of the watch, or since the start";
        self.seconds("watch_staleness", help, "resource", silences);
        let limits = silences.map(|(resource, _)| (resource, max_staleness));
        self.seconds("watch_staleness_limit", "The value of --max-staleness", "resource", limits);
        let all = [&status.nodes, &status.pods, &status.namespaces];
        let events = all.map(|status| (status.resource, status.events));
        self.counters("watch_events", "Events of the watch, bookmarks left out", "resource", events);
        let failures = all.map(|status| (status.resource, status.failures));
        self.counters("watch_failures", "Lists and watches that failed", "resource", failures);
        let unreadable = [&status.nodes, &status.pods].map(|status| (status.resource, status.unreadable_now));
        let help = "Objects that the API server has now and that cannot be read";
        self.gauges("watch_unreadable_objects", help, "resource", unreadable);
    }

    /// The election.
    pub(crate) fn leader(&mut self, leadership: &Leadership) {
        let leads = matches!(leadership.leadership_state(), LeadershipState::Leads(term) if term.may_write());
        self.gauge("leader", "1 while this gateway holds the Lease and may bind", usize::from(leads));
    }

    /// The sources of `--facts`, and their file.
    pub(crate) fn facts(&mut self, sources: &[SourceStatus], is_file_refused: bool) {
        let ages = sources.iter().map(|status| (&*status.name, status.age.unwrap_or(status.declared_for)));
        let help = "Age of the last values that were read, or the time since it was declared if there were none";
        self.seconds("facts_age", help, "source", ages);
        let limits = sources.iter().map(|status| (&*status.name, status.max_age));
        self.seconds("facts_max_age", "The maxAge of the source", "source", limits);
        let values = sources.iter().map(|status| (&*status.name, status.values));
        let help = "Facts in force; 0 while the source is absent";
        self.gauges("facts_values", help, "source", values);
        let failures = sources.iter().map(|status| (&*status.name, status.failed));
        self.counters("facts_failures", "Fetches that failed", "source", failures);
        let help = "1 while the facts file cannot be used and the previous sources stay in force";
        self.gauge("facts_file_refused", help, usize::from(is_file_refused));
    }
}
