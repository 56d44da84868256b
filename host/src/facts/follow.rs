//! Fetches the sources of the facts file, and reads the file again when it changes.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use anyhow::{Result, anyhow, bail};
use parking_lot::Mutex;
use plimsoll_cluster::ApiServer;
use plimsoll_core::Gateway;
use plimsoll_facts::{ConfigMapRead, ConfigMaps, FactWatch, FactsConfig, LOG_TARGET, SourceStatus};
use plimsoll_system::Debouncer;
use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};
use tracing::{error, info, warn};

use super::{
    file::FactsFile,
    policies_by_source::{UNDECLARED_SOURCE, policies_by_source},
    reloads::{FileState, Reloads},
};

/// The interval at which the facts file is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reads a ConfigMap with the account of the watch.
struct ApiConfigMaps(ApiServer);

/// Has the sources of the facts file fetched, and follows the file.
pub(crate) struct FactsFileFollower {
    file: FactsFile,
    watch: FactWatch,
    gateway: Arc<Gateway>,
    has_api_server: bool,
    reloads: Mutex<Reloads>,
}

// === impl FactsFileFollower ===

impl FactsFileFollower {
    /// Begins to fetch the sources.
    ///
    /// # Errors
    /// If a source is read from the API server and there is none.
    pub(crate) fn start(file: FactsFile, api: Option<&ApiServer>, gateway: &Arc<Gateway>) -> Result<Self> {
        let config = file.config.clone();
        check_api_server(&file.path, &config, api.is_some())?;
        info!(target: LOG_TARGET, sources = config.names().count(), "fetching the sources of --facts");
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

    /// The path of the facts file.
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Puts each later version of the facts file in force as a whole, or keeps the one before; it never returns.
    pub(crate) async fn follow(self: Arc<Self>) {
        let mut debouncer = Debouncer::new(FileState::Ok(self.file.text.clone()));
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let follower = Arc::clone(&self);
            // The file may be on a slow volume.
            let read = spawn_blocking(move || follower.file.text_now().map_err(|error| format!("{error:#}")));
            let Ok(state) = read.await else { continue };
            if let Some(state) = debouncer.add(state, false).cloned() {
                let follower = Arc::clone(&self);
                // Its only error is a panic, which the panic hook has logged.
                let _ = spawn_blocking(move || follower.apply(state)).await;
            }
        }
    }

    /// The results of reading the facts file again.
    pub(crate) fn reloads(&self) -> Reloads {
        self.reloads.lock().clone()
    }

    fn apply(&self, state: FileState) {
        let replaced = state.map_err(|error| anyhow!(error)).and_then(|text| self.replace(&text));
        let file = self.file.path.display();
        let refusal = match replaced {
            Ok(is_changed) => {
                info!(target: LOG_TARGET, %file, sources_changed = is_changed, "the facts file has changed: its sources are in force");
                None
            }
            Err(error) => {
                let error = format!("{error:#}");
                error!(target: LOG_TARGET, %file, error, "the facts file has changed and cannot be used: the previous sources stay in force");
                Some(error)
            }
        };
        let mut reloads = self.reloads.lock();
        let count = if refusal.is_none() { &mut reloads.loaded } else { &mut reloads.refused };
        *count += 1;
        reloads.error = refusal;
    }

    /// Whether the sources of the text differ from those before.
    fn replace(&self, text: &[u8]) -> Result<bool> {
        let config = self.file.config_of(text)?;
        check_api_server(&self.file.path, &config, self.has_api_server)?;
        let before: Vec<Arc<str>> = self.statuses().into_iter().map(|status| status.name).collect();
        let is_changed = self.watch.replace(config);
        let mut policies = policies_by_source(&self.gateway.roster());
        for source in before.iter().filter(|source| !self.has(source)) {
            for policy in policies.remove(&**source).unwrap_or_default() {
                warn!(target: LOG_TARGET, policy, source = &**source, "{UNDECLARED_SOURCE}");
            }
        }
        Ok(is_changed)
    }
}

impl fmt::Debug for FactsFileFollower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactsFileFollower").field("watch", &self.watch).finish_non_exhaustive()
    }
}

fn check_api_server(path: &Path, config: &FactsConfig, has_api_server: bool) -> Result<()> {
    if let Some(source) = config.first_config_map().filter(|_| !has_api_server) {
        bail!(
            "{}: {source}.configMap: this gateway has no API server: expected --kubeconfig, or a service account",
            path.display()
        );
    }
    Ok(())
}

// === impl ApiConfigMaps ===

impl ConfigMaps for ApiConfigMaps {
    fn read<'f>(&'f self, namespace: &'f str, name: &'f str) -> ConfigMapRead<'f> {
        Box::pin(self.0.config_map(namespace, name))
    }
}
