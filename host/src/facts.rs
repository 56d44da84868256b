//! The sources of `--facts`: from the file to the gateway, and their state for operators.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anyhow::{Result, bail, ensure};
use plimsoll_cluster::ApiServer;
use plimsoll_core::{Gateway, Roster};
use plimsoll_facts::{ConfigMapRead, ConfigMaps, FactWatch, FactsConfig, SourceStatus};
use serde_json::{Value, json};
use tracing::info;

/// Reads a ConfigMap with the account of the watch.
struct ApiConfigMaps(ApiServer);

/// Reads the facts file.
///
/// # Errors
/// If it is bad, or lies in the policies directory: a person who may write policies must not declare sources.
pub(crate) fn read(file: &Path, policies: &Path) -> Result<FactsConfig> {
    let config = FactsConfig::read(file)?;
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A link in the policies directory would have its paths resolved there.
    let is_inside = |path: &Path| resolved(path).starts_with(resolved(policies));
    for path in config.files().chain([file]) {
        ensure!(
            !is_inside(path) && !path.parent().is_some_and(is_inside),
            "{} is in the policies directory: expected the facts file and its files outside of it, since its sources are the operator's",
            path.display()
        );
    }
    Ok(config)
}

/// Begins to fetch the sources.
///
/// # Errors
/// If a source is read from the API server and there is none.
pub(crate) fn start(config: FactsConfig, api: Option<&ApiServer>, gateway: &Arc<Gateway>) -> Result<FactWatch> {
    if config.needs_api_server() && api.is_none() {
        bail!(
            "--facts has a configMap, and this gateway has no API server: expected --kubeconfig, or a service account"
        );
    }
    info!(sources = config.names().count(), "fetching the sources of --facts");
    let config_maps = api.map(|api| Arc::new(ApiConfigMaps(api.clone())) as Arc<dyn ConfigMaps>);
    let gateway = Arc::clone(gateway);
    Ok(FactWatch::start(config, config_maps, move |facts| gateway.set_facts(facts)))
}

/// The content of `/api/facts`: the declared sources, and those that policies name and nobody has declared.
pub(crate) fn describe(watch: Option<&FactWatch>, roster: &Roster) -> Value {
    let mut users = users(roster);
    let statuses = watch.map(FactWatch::statuses).unwrap_or_default();
    let declared: Vec<Value> = statuses
        .iter()
        .map(|status| {
            let policies = users.remove(&*status.name).unwrap_or_default();
            describe_source(status, &policies)
        })
        .collect();
    let missing = users
        .into_iter()
        .map(|(source, policies)| json!({"source": source, "state": "not-declared", "policies": policies}));
    json!({"sources": declared.into_iter().chain(missing).collect::<Vec<_>>()})
}

fn describe_source(status: &SourceStatus, policies: &[String]) -> Value {
    let seconds = |duration: std::time::Duration| duration.as_secs_f64();
    json!({
        "source": status.name,
        "state": if status.is_absent { "absent" } else { "in-force" },
        "kind": status.kind,
        "place": status.place,
        "everySeconds": seconds(status.every),
        "maxAgeSeconds": seconds(status.max_age),
        "ageSeconds": status.age.map(seconds),
        "values": status.values,
        "bytes": status.bytes,
        "leftOut": status.left_out,
        "fetches": status.good + status.failed,
        "failures": status.failed,
        "error": status.error,
        "policies": policies,
    })
}

/// The policies that read each source of the gateway, by its name.
fn users(roster: &Roster) -> BTreeMap<String, Vec<String>> {
    let mut users = BTreeMap::<_, Vec<_>>::new();
    for member in roster.members() {
        let is_own = |global: &str| member.own_facts.iter().any(|(name, _)| **name == *global);
        for (_, global) in member.fact_access.names().filter(|(_, global)| !is_own(global)) {
            users.entry(global.to_owned()).or_default().push(member.id().to_owned());
        }
    }
    users
}

// === impl ApiConfigMaps ===

impl ConfigMaps for ApiConfigMaps {
    fn read<'f>(&'f self, namespace: &'f str, name: &'f str) -> ConfigMapRead<'f> {
        Box::pin(self.0.config_map(namespace, name))
    }
}
