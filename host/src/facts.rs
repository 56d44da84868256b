//! The sources of `--facts`: from the file to the gateway, and their state for operators.

mod api;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Error, Result, bail};
use parking_lot::Mutex;
use plimsoll_cluster::ApiServer;
use plimsoll_core::{Gateway, Roster};
use plimsoll_facts::{FactWatch, FactsConfig, LOG_TARGET, ReadConfigMap, SourceStatus};
use plimsoll_system::Debouncer;
use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};
use tracing::{error, info};

pub(crate) use self::api::{describe, values};

/// The message about a source that nobody has declared.
pub(crate) const UNDECLARED_SOURCE: &str = "no source of facts has this name: to the policy its facts are absent; declare it in --facts, or name a file of the sidecar's directory";

/// The interval at which the facts file is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// Has the sources of the facts file fetched, and follows the file.
pub(crate) struct FactsFileFollower {
    path: PathBuf,
    /// The text at the start.
    text: Vec<u8>,
    watch: FactWatch,
    has_api_server: bool,
    /// Why the file as it is now is not in force.
    refusal: Mutex<Option<String>>,
}

// === impl FactsFileFollower ===

impl FactsFileFollower {
    /// Begins to fetch the sources.
    ///
    /// # Errors
    /// If the file is bad, or a source is read from the API server and there is none.
    pub(crate) fn start(path: PathBuf, api: Option<&ApiServer>, gateway: &Arc<Gateway>) -> Result<Self> {
        let text = FactsConfig::read_text(&path).map_err(Error::msg)?;
        let config = parse(&path, &text, api.is_some())?;
        info!(target: LOG_TARGET, sources = config.names().count(), "fetching the sources of --facts");
        let read_config_map = api.cloned().map(|api| -> ReadConfigMap {
            Arc::new(move |namespace, name| {
                let api = api.clone();
                Box::pin(async move { api.config_map(&namespace, &name).await })
            })
        });
        let published = Arc::clone(gateway);
        let watch = FactWatch::start(&config, read_config_map, move |facts| published.set_facts(facts));
        Ok(Self { path, text, watch, has_api_server: api.is_some(), refusal: Mutex::default() })
    }

    /// Whether a source has this name.
    pub(crate) fn has(&self, source: &str) -> bool {
        self.watch.has(source)
    }

    /// The state of every source, by name.
    pub(crate) fn statuses(&self) -> Vec<SourceStatus> {
        self.watch.statuses()
    }

    /// Why the file as it is now is not in force.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.lock().clone()
    }

    /// Puts each later version of the facts file in force as a whole, or keeps the one before; it never returns.
    pub(crate) async fn follow(self: Arc<Self>) {
        let mut debouncer = Debouncer::new(Ok(self.text.clone()));
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let path = self.path.clone();
            // The file may be on a slow volume.
            let read = spawn_blocking(move || FactsConfig::read_text(&path));
            let Ok(text) = read.await else { continue };
            if let Some(text) = debouncer.add(text, false).cloned() {
                let follower = Arc::clone(&self);
                // Its only error is a panic, which the panic hook has logged.
                let _ = spawn_blocking(move || follower.apply(text)).await;
            }
        }
    }

    fn apply(&self, text: Result<Vec<u8>, String>) {
        let parsed = text.map_err(Error::msg).and_then(|text| parse(&self.path, &text, self.has_api_server));
        let file = self.path.display();
        *self.refusal.lock() = match parsed {
            Ok(config) => {
                let is_changed = self.watch.replace(&config);
                info!(target: LOG_TARGET, %file, sources_changed = is_changed, "the facts file has changed: its sources are in force");
                None
            }
            Err(error) => {
                let error = format!("{error:#}");
                error!(target: LOG_TARGET, %file, error, "the facts file has changed and cannot be used: the previous sources stay in force");
                Some(error)
            }
        };
    }
}

/// The policies that read each source of the gateway, by its name.
fn policies_by_source(roster: &Roster) -> BTreeMap<String, Vec<String>> {
    let mut policies = BTreeMap::<_, Vec<_>>::new();
    for member in roster.members() {
        for (_, global) in member.gateway_sources() {
            policies.entry(global.to_owned()).or_default().push(member.id().to_owned());
        }
    }
    policies
}

fn parse(path: &Path, text: &[u8], has_api_server: bool) -> Result<FactsConfig> {
    let config = FactsConfig::from_text(path, text).map_err(Error::msg)?;
    if let Some(source) = config.first_config_map().filter(|_| !has_api_server) {
        bail!(
            "{}: {source}.configMap: this gateway has no API server: expected --kubeconfig, or a service account",
            path.display()
        );
    }
    Ok(config)
}
