//! All sources with their states, and a task for each that fetches it; a change of one publishes the facts of all.

use std::{
    future::pending,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::{FactSource, Facts, MAX_TOTAL_FACT_BYTES, MAX_TOTAL_FACTS};
use tokio::{
    task::{JoinSet, block_in_place},
    time::sleep_until,
};
use tracing::{info, warn};

use crate::{
    config::{FactsConfig, SourceConfig},
    fetch::{self, ReadConfigMap},
    parse::Parsed,
};

/// The target of log lines about sources and their file, which two crates write.
pub const LOG_TARGET: &str = "plimsoll::facts";

/// The first pause after a failure; it doubles from failure to failure, up to the interval of the source.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Keeps facts up to date until it is dropped.
pub struct FactWatch {
    table: Arc<SourceTable>,
    read_config_map: Option<ReadConfigMap>,
    // Dropping it ends the tasks.
    tasks: Mutex<JoinSet<()>>,
}

/// All sources. Its lock is held while facts are published, so that they come into force in the order in which they
/// were made.
struct SourceTable {
    sources: Mutex<Vec<Source>>,
    publish: Box<dyn Fn(&Facts) + Send + Sync>,
}

/// A source: the values that were read, their age, and the errors since.
struct Source {
    config: Arc<SourceConfig>,
    /// When a source with this name was declared first.
    declared_at: Instant,
    /// None: nothing was read yet, or it was too long ago.
    values: Option<Arc<FactSource>>,
    /// When the last good fetch began: its values are not newer than that.
    read_at: Option<Instant>,
    fetches: u64,
    /// Failures since the last good fetch.
    failures_in_a_row: u32,
    /// The error of the last fetch, if it failed.
    error: Option<String>,
    /// Why values are missing in the last good fetch.
    gaps: Option<String>,
}

/// The state of a source, for operators.
#[derive(Debug, Clone)]
pub struct SourceStatus {
    /// Its name.
    pub name: Arc<str>,
    /// The key of its kind in the facts file.
    pub kind: &'static str,
    /// The URL without its query, the file, or namespace and name of the ConfigMap.
    pub place: String,
    /// The longest time between two fetches.
    pub every: Duration,
    /// The age at which its values expire.
    pub max_age: Duration,
    /// The age of its values, in force or not; none if it was never read.
    pub age: Option<Duration>,
    /// The time since it was declared.
    pub declared_for: Duration,
    /// Whether its facts are absent, because it was never read or its values are too old.
    pub is_absent: bool,
    /// The number of its facts in force.
    pub values: usize,
    /// Fetches, good and failed ones.
    pub fetches: u64,
    /// The error of the last fetch, if it failed.
    pub error: Option<String>,
    /// Why values are missing in the last good fetch, if some are.
    pub gaps: Option<String>,
}

// === impl FactWatch ===

impl FactWatch {
    /// Begins to fetch every source, and calls `publish` with all facts after each change. Must be called within a tokio
    /// runtime with several threads.
    pub fn start(
        config: &FactsConfig,
        read_config_map: Option<ReadConfigMap>,
        publish: impl Fn(&Facts) + Send + Sync + 'static,
    ) -> Self {
        let table = SourceTable { sources: Mutex::default(), publish: Box::new(publish) };
        table.declare(config);
        let watch = Self { table: Arc::new(table), read_config_map, tasks: Mutex::default() };
        watch.spawn(config);
        watch
    }

    /// Fetches these sources from now on; whether they differ from those before. A source whose name was there before
    /// keeps its values until it is read, or they are too old. Must be called within a tokio runtime.
    pub fn replace(&self, config: &FactsConfig) -> bool {
        let is_changed = self.table.declare(config);
        if is_changed {
            self.spawn(config);
        }
        is_changed
    }

    /// Whether a source has this name.
    pub fn has(&self, source: &str) -> bool {
        self.table.sources.lock().iter().any(|known| *known.config.name == *source)
    }

    /// The state of every source, by name.
    pub fn statuses(&self) -> Vec<SourceStatus> {
        let now = Instant::now();
        self.table.sources.lock().iter().map(|source| source.status(now)).collect()
    }

    /// Replaces the tasks of the sources before.
    fn spawn(&self, config: &FactsConfig) {
        let mut tasks = JoinSet::new();
        for source in &config.sources {
            tasks.spawn(follow(Arc::clone(&self.table), self.read_config_map.clone(), Arc::clone(source)));
        }
        *self.tasks.lock() = tasks;
    }
}

/// Fetches a source again and again.
async fn follow(table: Arc<SourceTable>, read_config_map: Option<ReadConfigMap>, config: Arc<SourceConfig>) {
    loop {
        let began = Instant::now();
        let fetch = async {
            let outcome = fetch::read(&config, read_config_map.as_ref()).await;
            // A change of the facts of every node takes too long for an async thread.
            block_in_place(|| table.fetched(&config, began, outcome))
        };
        let pause = table.while_expiring(&config, fetch).await;
        table.while_expiring(&config, sleep_until((began + pause).into())).await;
    }
}

// === impl SourceTable ===

impl SourceTable {
    /// Puts these sources in the place of those before, and publishes their facts; whether they differ. A fetch of a
    /// source before, which ends later, changes nothing.
    fn declare(&self, config: &FactsConfig) -> bool {
        let mut sources = self.sources.lock();
        let is_same = |(source, new): (&Source, &Arc<SourceConfig>)| source.config == *new;
        if sources.len() == config.sources.len() && sources.iter().zip(&config.sources).all(is_same) {
            return false;
        }
        let mut before = std::mem::take(&mut *sources);
        *sources = config.sources.iter().map(|config| Source::declared(config, &mut before)).collect();
        if !before.is_empty() || sources.iter().any(|source| source.values.is_some()) {
            self.publish(&sources);
        }
        true
    }

    /// Applies the outcome of a fetch that started at `began`; returns the pause from then to the next fetch.
    fn fetched(&self, config: &Arc<SourceConfig>, began: Instant, outcome: Result<Parsed, String>) -> Duration {
        let mut sources = self.sources.lock();
        let Some(at) = position(&sources, config) else { return config.every };
        let outcome = outcome.and_then(|parsed| Ok((check_total(&sources, at, parsed.facts)?, parsed.gaps)));
        let source = &mut sources[at];
        let name = &*config.name;
        source.fetches += 1;
        match outcome {
            Ok((facts, gaps)) => {
                let has_expired = source.values.is_none() && source.read_at.is_some();
                let is_recovered = source.error.take().is_some() || has_expired;
                let is_changed = source.values.as_deref() != Some(&facts);
                let values = facts.len();
                if is_changed {
                    source.values = Some(Arc::new(facts));
                }
                (source.read_at, source.failures_in_a_row) = (Some(began), 0);
                if is_recovered {
                    info!(target: LOG_TARGET, source = name, values, "the source of facts can be read again");
                }
                if let Some(gaps) = gaps.as_ref().filter(|_| source.gaps.is_none()) {
                    let place = config.kind.place();
                    warn!(target: LOG_TARGET, source = name, place, gaps, values, "the source of facts lacks values");
                }
                source.gaps = gaps;
                if is_changed {
                    self.publish(&sources);
                }
                config.every
            }
            Err(error) => {
                source.failures_in_a_row = source.failures_in_a_row.saturating_add(1);
                if source.error.is_none() {
                    let (place, kept) = (config.kind.place(), source.values.is_some());
                    warn!(target: LOG_TARGET, source = name, place, error, kept, "the source of facts cannot be read");
                }
                source.error = Some(error);
                let doublings = (source.failures_in_a_row - 1).min(16);
                config.every.min(FIRST_RETRY.saturating_mul(1 << doublings))
            }
        }
    }

    /// Waits for a future. Values that become too old meanwhile are dropped.
    async fn while_expiring<T>(&self, config: &Arc<SourceConfig>, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            let expiry = self.expiry(config);
            let expired = async {
                match expiry {
                    Some(expiry) => sleep_until(expiry.into()).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                result = &mut future => return result,
                () = expired => block_in_place(|| self.expire(config, Instant::now())),
            }
        }
    }

    /// When the values of a source are too old.
    fn expiry(&self, config: &Arc<SourceConfig>) -> Option<Instant> {
        let sources = self.sources.lock();
        let source = &sources[position(&sources, config)?];
        source.values.as_ref().and(source.read_at).map(|read_at| read_at + config.max_age)
    }

    /// Drops the values of a source if they are too old now.
    fn expire(&self, config: &Arc<SourceConfig>, now: Instant) {
        if self.expiry(config).is_none_or(|expiry| now < expiry) {
            return;
        }
        let mut sources = self.sources.lock();
        let Some(at) = position(&sources, config) else { return };
        sources[at].values = None;
        warn!(target: LOG_TARGET, source = &*config.name, max_age = ?config.max_age, "the facts of the source are older than its maxAge: they are absent now");
        self.publish(&sources);
    }

    fn publish(&self, sources: &[Source]) {
        let facts = sources.iter().filter_map(|source| Some((Arc::clone(&source.config.name), source.values.clone()?)));
        (self.publish)(&facts.collect());
    }
}

/// The index of a source, unless others were declared since.
fn position(sources: &[Source], config: &Arc<SourceConfig>) -> Option<usize> {
    sources.iter().position(|source| Arc::ptr_eq(&source.config, config))
}

/// Returns the facts of a source if the total of all sources stays within its limits.
fn check_total(sources: &[Source], at: usize, facts: FactSource) -> Result<FactSource, String> {
    let others = sources.iter().enumerate().filter(|(other, _)| *other != at);
    let all = others.filter_map(|(_, source)| source.values.as_deref()).chain([&facts]);
    let (count, bytes) = all.fold((0, 0), |(count, bytes), values| (count + values.len(), bytes + values.bytes()));
    if count > MAX_TOTAL_FACTS || bytes > MAX_TOTAL_FACT_BYTES {
        return Err(format!(
            "with these values all sources would have more than {MAX_TOTAL_FACTS} facts, or more than {} MiB: expected at most that much",
            MAX_TOTAL_FACT_BYTES >> 20
        ));
    }
    Ok(facts)
}

// === impl Source ===

impl Source {
    /// A source with the values of the one that had its name before.
    fn declared(config: &Arc<SourceConfig>, before: &mut Vec<Self>) -> Self {
        let config = Arc::clone(config);
        match before.iter().position(|source| source.config.name == config.name) {
            Some(at) => Self { config, failures_in_a_row: 0, ..before.swap_remove(at) },
            None => Self {
                config,
                declared_at: Instant::now(),
                values: None,
                read_at: None,
                fetches: 0,
                failures_in_a_row: 0,
                error: None,
                gaps: None,
            },
        }
    }

    fn status(&self, now: Instant) -> SourceStatus {
        let config = &self.config;
        SourceStatus {
            name: Arc::clone(&config.name),
            kind: config.kind.as_str(),
            place: config.kind.place(),
            every: config.every,
            max_age: config.max_age,
            age: self.read_at.map(|read_at| now.saturating_duration_since(read_at)),
            declared_for: now.saturating_duration_since(self.declared_at),
            is_absent: self.values.is_none(),
            values: self.values.as_ref().map_or(0, |values| values.len()),
            fetches: self.fetches,
            error: self.error.clone(),
            gaps: self.gaps.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
