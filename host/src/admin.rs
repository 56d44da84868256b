//! What the admin listener shows: readiness, metrics and the policies in force.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use plimsoll_cluster::{ClusterWatch, Leadership};
use plimsoll_core::{DecideError, Failure, Gateway, Member, Mode, Pod, Verb};
use plimsoll_http::Admin;
use serde_json::{Value, json};

use crate::{
    binding::{self, NOBODY_MAY_BIND},
    commands::{explain, table},
    metrics::Metrics,
};

/// The state behind the admin listener.
pub(crate) struct AdminState {
    gateway: Arc<Gateway>,
    metrics: Arc<Metrics>,
    watch: Option<Arc<ClusterWatch>>,
    leadership: Option<Arc<Leadership>>,
    /// Whether it would bind, and nobody may ask it to.
    binds_for_nobody: bool,
    max_staleness: Duration,
    /// Set once every policy could be loaded: a bad file that comes later does not take the process down.
    was_ready: AtomicBool,
    draining: AtomicBool,
}

// === impl AdminState ===

impl AdminState {
    /// With `degraded`, it is ready whatever could not be loaded.
    pub(crate) fn new(gateway: Arc<Gateway>, metrics: Arc<Metrics>, degraded: bool) -> Self {
        Self {
            gateway,
            metrics,
            watch: None,
            leadership: None,
            binds_for_nobody: false,
            max_staleness: Duration::MAX,
            was_ready: AtomicBool::new(degraded),
            draining: AtomicBool::new(false),
        }
    }

    /// With a watch, it is ready only while that has been heard of within this time.
    pub(crate) fn watching(self, watch: Option<Arc<ClusterWatch>>, max_staleness: Duration) -> Self {
        Self { watch, max_staleness, ..self }
    }

    /// With an election, `/api/leader` tells of it; `/readyz` tells of policies that bind where nobody may ask for it.
    pub(crate) fn electing(self, leadership: Option<Arc<Leadership>>, binds_for_nobody: bool) -> Self {
        Self { leadership, binds_for_nobody, ..self }
    }

    /// From now on /readyz answers 503.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// What is wrong, and does not keep the gateway from answering.
    fn notes(&self) -> Vec<String> {
        let roster = self.gateway.roster();
        let binds =
            |member: &&Arc<Member>| member.config.mode == Mode::Enforce && member.policy.verbs().has(Verb::Bind);
        let binder = roster.members().find(binds).filter(|_| self.binds_for_nobody);
        binder.map(|member| format!("policy {} binds, but {NOBODY_MAY_BIND}", member.id())).into_iter().collect()
    }

    /// Policies that could not be loaded, as long as that keeps the gateway from being ready.
    fn missing_policies(&self) -> Vec<String> {
        if self.was_ready.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let roster = self.gateway.roster();
        let missing = roster.failures().iter().filter(|failure| !failure.kept);
        let missing: Vec<String> =
            missing.map(|failure| format!("policy {}: {}", id(failure), failure.error)).collect();
        if missing.is_empty() {
            self.was_ready.store(true, Ordering::Relaxed);
        }
        missing
    }
}

impl Admin for AdminState {
    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        if self.draining.load(Ordering::Relaxed) {
            return Err(vec!["shutting down".to_owned()]);
        }
        let mut reasons = self.missing_policies();
        reasons.extend(self.watch.iter().flat_map(|watch| watch.status().doubts(self.max_staleness)));
        if reasons.is_empty() { Ok(self.notes()) } else { Err(reasons) }
    }

    fn metrics(&self) -> String {
        self.metrics.remembered(self.gateway.remembered_bytes());
        self.metrics.render()
    }

    fn table(&self, policy: &str) -> Option<Value> {
        let tables = self.gateway.decision_tables(policy).ok()?;
        Some(table::as_json(policy, &tables))
    }

    fn explain(&self, group: &str, node: &str, pod: Bytes) -> Result<Value, String> {
        let pod = Arc::new(Pod::from_json(pod).map_err(|error| error.to_string())?);
        let cluster = self.gateway.cluster().ok_or_else(|| DecideError::NoCluster.to_string())?;
        let explanation = explain::ask(&self.gateway, group, &pod, &cluster, node);
        explanation.map(|explanation| explain::as_json(&pod, node, &explanation)).map_err(|error| format!("{error:#}"))
    }

    fn policies(&self) -> Value {
        let roster = self.gateway.roster();
        let failure_of = |member: &Member| {
            roster.failures().iter().find(|failure| failure.name == member.name && failure.group == member.group)
        };
        let active = roster.members().map(|member| describe(member, failure_of(member)));
        let failed = roster.failures().iter().filter(|failure| !failure.kept).map(
            |failure| json!({"group": failure.group, "name": failure.name, "state": "failed", "error": failure.error}),
        );
        json!({"policies": active.chain(failed).collect::<Vec<_>>()})
    }

    fn leader(&self) -> Value {
        binding::describe(self.leadership.as_ref())
    }
}

fn id(failure: &Failure) -> String {
    if failure.group.is_empty() { failure.name.to_string() } else { format!("{}/{}", failure.group, failure.name) }
}

/// By verb whether answers are remembered, and why not.
fn remembers(member: &Member) -> Value {
    let verbs = member.policy.verbs();
    let of = |verb: Verb| {
        let off = member.traces.off(verb).map(|off| off.to_string());
        (verb.as_str().to_owned(), off.map_or(Value::Bool(true), Value::String))
    };
    Value::Object([Verb::Filter, Verb::Score].into_iter().filter(|verb| verbs.has(*verb)).map(of).collect())
}

fn describe(member: &Member, failure: Option<&Failure>) -> Value {
    let config = &member.config;
    let circuit = if member.circuit.is_open(std::time::Instant::now()) { "open" } else { "closed" };
    json!({
        "group": member.group,
        "name": member.name,
        "state": if failure.is_some() { "kept" } else { "active" },
        "error": failure.map(|failure| &failure.error),
        "mode": config.mode.as_str(),
        "order": config.order,
        "weight": config.weight,
        "onError": config.on_error.map(plimsoll_core::OnError::as_str),
        "timeout": humantime::format_duration(config.timeout).to_string(),
        "memory": config.memory,
        "verbs": member.policy.verbs().iter().map(Verb::as_str).collect::<Vec<_>>(),
        "digest": member.digest,
        "size": member.size,
        "version": member.version,
        "circuit": circuit,
        "remembers": remembers(member),
    })
}
