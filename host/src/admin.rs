//! What the admin listener shows: readiness, metrics and the policies in force.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use plimsoll_core::{Failure, Gateway, Member};
use plimsoll_http::Admin;
use serde_json::{Value, json};

use crate::metrics::Metrics;

/// The state behind the admin listener.
pub(crate) struct AdminState {
    gateway: Arc<Gateway>,
    metrics: Arc<Metrics>,
    /// Set once every policy could be loaded: a bad file that comes later does not take the process down.
    was_ready: AtomicBool,
    draining: AtomicBool,
}

// === impl AdminState ===

impl AdminState {
    /// With `degraded`, it is ready whatever could not be loaded.
    pub(crate) fn new(gateway: Arc<Gateway>, metrics: Arc<Metrics>, degraded: bool) -> Self {
        Self { gateway, metrics, was_ready: AtomicBool::new(degraded), draining: AtomicBool::new(false) }
    }

    /// From now on /readyz answers 503.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

impl Admin for AdminState {
    fn ready(&self) -> Result<(), Vec<String>> {
        if self.draining.load(Ordering::Relaxed) {
            return Err(vec!["shutting down".to_owned()]);
        }
        if self.was_ready.load(Ordering::Relaxed) {
            return Ok(());
        }
        let roster = self.gateway.roster();
        let missing = roster.failures().iter().filter(|failure| !failure.kept);
        let missing: Vec<String> =
            missing.map(|failure| format!("policy {}: {}", id(failure), failure.error)).collect();
        if missing.is_empty() {
            self.was_ready.store(true, Ordering::Relaxed);
            return Ok(());
        }
        Err(missing)
    }

    fn metrics(&self) -> String {
        self.metrics.render()
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
}

fn id(failure: &Failure) -> String {
    if failure.group.is_empty() { failure.name.to_string() } else { format!("{}/{}", failure.group, failure.name) }
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
        "verbs": member.policy.verbs().iter().map(plimsoll_core::Verb::as_str).collect::<Vec<_>>(),
        "digest": member.digest,
        "size": member.size,
        "version": member.version,
        "circuit": circuit,
    })
}
