//! The sources of `--facts`: from the file to the gateway, and their state for operators.

mod file;
mod follow;

use std::{collections::BTreeMap, fmt, sync::Arc};

use anyhow::{Result, bail};
use parking_lot::Mutex;
use plimsoll_cluster::ApiServer;
use plimsoll_core::{Gateway, Roster};
use plimsoll_facts::{ConfigMapRead, ConfigMaps, FactWatch, FactsConfig, SourceStatus};
use serde_json::{Value, json};
use tracing::info;

pub(crate) use self::{file::FactsFile, follow::Reloads};

/// Reads a ConfigMap with the account of the watch.
struct ApiConfigMaps(ApiServer);

/// The sources of the facts file, which are fetched.
pub(crate) struct FactSources {
    file: FactsFile,
    watch: FactWatch,
    gateway: Arc<Gateway>,
    has_api_server: bool,
    reloads: Mutex<Reloads>,
}

// === impl FactSources ===

impl FactSources {
    /// Begins to fetch the sources.
    ///
    /// # Errors
    /// If a source is read from the API server and there is none.
    pub(crate) fn start(file: FactsFile, api: Option<&ApiServer>, gateway: &Arc<Gateway>) -> Result<Self> {
        let config = file.config.clone();
        check_api_server(&config, api.is_some())?;
        info!(sources = config.names().count(), "fetching the sources of --facts");
        let config_maps = api.map(|api| Arc::new(ApiConfigMaps(api.clone())) as Arc<dyn ConfigMaps>);
        let published = Arc::clone(gateway);
        let watch = FactWatch::start(config, config_maps, move |facts| published.set_facts(facts));
        let (gateway, has_api_server) = (Arc::clone(gateway), api.is_some());
        Ok(Self { file, watch, gateway, has_api_server, reloads: Mutex::default() })
    }

    /// Whether a source has this name.
    pub(crate) fn has(&self, source: &str) -> bool {
        self.watch.has(source)
    }

    /// The state of every source, by name.
    pub(crate) fn statuses(&self) -> Vec<SourceStatus> {
        self.watch.statuses()
    }
}

impl fmt::Debug for FactSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactSources").field("watch", &self.watch).finish_non_exhaustive()
    }
}

fn check_api_server(config: &FactsConfig, has_api_server: bool) -> Result<()> {
    if config.needs_api_server() && !has_api_server {
        bail!(
            "--facts has a configMap, and this gateway has no API server: expected --kubeconfig, or a service account"
        );
    }
    Ok(())
}

/// The content of `/api/facts`: the declared sources, and those that policies name and nobody has declared.
pub(crate) fn describe(sources: Option<&FactSources>, roster: &Roster) -> Value {
    let mut users = users(roster);
    let statuses = sources.map(FactSources::statuses).unwrap_or_default();
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
    let all: Vec<Value> = declared.into_iter().chain(missing).collect();
    json!({"file": sources.map(describe_file), "sources": all})
}

fn describe_file(sources: &FactSources) -> Value {
    let reloads = sources.reloads();
    json!({
        "path": sources.file.path.display().to_string(),
        "loaded": reloads.loaded,
        "refused": reloads.refused,
        "error": reloads.error,
    })
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
pub(crate) fn users(roster: &Roster) -> BTreeMap<String, Vec<String>> {
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
