//! The metrics that are read at a scrape.

use std::{collections::BTreeMap, fmt::Debug, sync::atomic::AtomicU64, time::Duration};

use plimsoll_cluster::{Leadership, LeadershipState, WatchStatus};
use plimsoll_core::{CallClass, Mode, PendingPod, ReasonBy, Roster, Verb};
use plimsoll_facts::SourceStatus;
use plimsoll_wasm::WasmLoader;
use prometheus_client::{
    encoding::EncodeMetric,
    metrics::{TypedMetric, counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::observers::Labels;

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

    /// A metric with a value of one label for each series.
    fn by<M, V>(
        &mut self,
        label: &'static str,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (String, V)>,
        set: impl Fn(&M, V),
    ) where
        M: EncodeMetric + TypedMetric + Debug + Default + Clone + Send + Sync + 'static,
    {
        let family = Family::<Labels<1>, M>::default();
        for (value, number) in series {
            set(&family.get_or_create(&[(label, value.into())]), number);
        }
        self.0.register(name, help, family);
    }

    /// The pods that wait, by the policy that rejects the most nodes.
    pub(crate) fn pending(&mut self, roster: &Roster, pods: &[PendingPod]) {
        let filters = roster
            .members()
            .filter(|member| member.config.mode == Mode::Enforce && member.policy.verbs().has(Verb::Filter));
        let filters = filters.map(|member| member.id()).chain([ReasonBy::KubeScheduler.as_str()]);
        let mut counts: BTreeMap<String, usize> = filters.map(|policy| (policy.to_owned(), 0)).collect();
        for reason in pods.iter().filter_map(PendingPod::main_reason) {
            *counts.entry(reason.by.as_str().to_owned()).or_default() += 1;
        }
        let help = "Pods that wait for a node, by the policy that rejects the most nodes; kube-scheduler stands for its own filters";
        self.by("policy", "pending_pods", help, counts, set_number);
    }

    /// The resources that guests share.
    pub(crate) fn guests(&mut self, loader: &WasmLoader) {
        let shares = loader.shares();
        self.gauge("guest_memory_bytes", "Memory of all guest instances, waiting ones included", shares.bytes);
        let help = "The limit in force, from --guest-memory or its default";
        self.gauge("guest_memory_limit_bytes", help, shares.max_bytes);
        let calls = CallClass::ALL.map(|class| class.as_str().to_owned()).into_iter().zip(shares.calls);
        self.by("purpose", "guest_calls", "Running calls of policies, by purpose", calls, set_number);
    }

    /// The watch on the API server, with the limit of `--max-staleness`.
    pub(crate) fn watch(&mut self, status: &WatchStatus, max_staleness: Duration) {
        let silences = [&status.nodes, &status.pods, &status.waiting]
            .map(|status| (status.resource.to_owned(), status.silent_for()));
        let limits = silences.clone().map(|(resource, _)| (resource, max_staleness));
        let help = "Time since the last sign of life of the watch, or since the start";
        self.by("resource", "watch_staleness_seconds", help, silences, set_seconds);
        self.by("resource", "watch_staleness_limit_seconds", "The value of --max-staleness", limits, set_seconds);
        let WatchStatus { nodes, pods, waiting, namespaces, device_classes, claims, .. } = status;
        let all = [nodes, pods, waiting, namespaces, device_classes, claims];
        let events = all.map(|status| (status.resource.to_owned(), status.events));
        let count = |counter: &Counter, events| _ = counter.inc_by(events);
        self.by("resource", "watch_events", "Events of the watch, bookmarks left out", events, count);
        let unreadable =
            [&status.nodes, &status.pods].map(|status| (status.resource.to_owned(), status.unreadable_now));
        let help = "Objects that the API server has now and that cannot be read";
        self.by("resource", "watch_unreadable_objects", help, unreadable, set_number);
    }

    /// The election.
    pub(crate) fn leader(&mut self, leadership: &Leadership) {
        let leads = matches!(leadership.leadership_state(), LeadershipState::Leads(term) if term.may_write());
        self.gauge("leader", "1 while this gateway holds the Lease and may bind", usize::from(leads));
    }

    /// The sources of `--facts`, and their file.
    pub(crate) fn facts(&mut self, sources: &[SourceStatus], is_file_refused: bool) {
        let ages = sources.iter().map(|status| (status.name.to_string(), status.age.unwrap_or(status.declared_for)));
        let help = "Age of the last values that were read, or the time since it was declared if there were none";
        self.by("source", "facts_age_seconds", help, ages, set_seconds);
        let limits = sources.iter().map(|status| (status.name.to_string(), status.max_age));
        self.by("source", "facts_max_age_seconds", "The maxAge of the source", limits, set_seconds);
        let help = "1 while the facts file cannot be used and the previous sources stay in force";
        self.gauge("facts_file_refused", help, usize::from(is_file_refused));
    }
}

fn set_number(gauge: &Gauge, number: usize) {
    gauge.set(number as i64);
}

fn set_seconds(gauge: &Gauge<f64, AtomicU64>, duration: Duration) {
    gauge.set(duration.as_secs_f64());
}
