//! One task for each source: fetches, waits, and fetches again.

use std::{
    fmt,
    future::pending,
    hash::{BuildHasher, RandomState},
    pin::pin,
    sync::Arc,
    time::Instant,
};

use parking_lot::Mutex;
use plimsoll_core::Facts;
use tokio::{
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
};

use crate::{
    config::FactsConfig,
    error::FetchError,
    fetch::{ConfigMaps, Fetched, Fetcher},
    parse::parse,
    sources::{Publish, SourceStatus, SourceTable},
};

/// Answers that are parsed at once: each takes a multiple of its up to 4 MiB. No permit is held while a server is
/// awaited, so that silent servers hold up no other source.
const MAX_PARSES: usize = 2;

/// The random fraction of a pause, so that replicas and sources do not fetch at the same time.
const JITTER: f64 = 0.1;

/// Keeps facts up to date until it is dropped.
pub struct FactWatch {
    running: Mutex<Running>,
    fetcher: Arc<Fetcher>,
    permits: Arc<Semaphore>,
}

/// The sources of one version of the facts file.
struct Running {
    sources: Arc<SourceTable>,
    // Dropping it ends the tasks.
    _tasks: JoinSet<()>,
}

/// The task of one source.
struct Refresh {
    sources: Arc<SourceTable>,
    fetcher: Arc<Fetcher>,
    permits: Arc<Semaphore>,
    /// The index of the source.
    at: usize,
}

// === impl FactWatch ===

impl FactWatch {
    /// Begins to fetch every source, and calls `publish` with all facts after each change. Must be called within a tokio
    /// runtime.
    pub fn start(
        config: FactsConfig,
        config_maps: Option<Arc<dyn ConfigMaps>>,
        publish: impl Fn(&Facts) + Send + Sync + 'static,
    ) -> Self {
        let publish: Arc<Publish> = Arc::new(publish);
        let (fetcher, permits) = (Arc::new(Fetcher::new(config_maps)), Arc::new(Semaphore::new(MAX_PARSES)));
        let running = Running::start(Arc::new(SourceTable::new(config, publish)), &fetcher, &permits);
        Self { running: Mutex::new(running), fetcher, permits }
    }

    /// Fetches these sources from now on; whether they differ from those before. A source whose name was there before
    /// keeps its values until it is read, or they are too old. Must be called within a tokio runtime.
    pub fn replace(&self, config: FactsConfig) -> bool {
        let sources = {
            let mut running = self.running.lock();
            if running.sources.configs() == config.sources {
                return false;
            }
            let sources = Arc::new(running.sources.successor(config));
            *running = Running::start(Arc::clone(&sources), &self.fetcher, &self.permits);
            sources
        };
        sources.publish();
        true
    }

    /// Whether a source has this name.
    pub fn has(&self, source: &str) -> bool {
        self.sources().configs().iter().any(|config| *config.name == *source)
    }

    /// The state of every source, by name.
    pub fn statuses(&self) -> Vec<SourceStatus> {
        self.sources().statuses()
    }

    fn sources(&self) -> Arc<SourceTable> {
        Arc::clone(&self.running.lock().sources)
    }
}

impl fmt::Debug for FactWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactWatch").field("statuses", &self.statuses()).finish_non_exhaustive()
    }
}

// === impl Running ===

impl Running {
    fn start(sources: Arc<SourceTable>, fetcher: &Arc<Fetcher>, permits: &Arc<Semaphore>) -> Self {
        let mut tasks = JoinSet::new();
        for at in 0..sources.configs().len() {
            let (sources, fetcher, permits) = (Arc::clone(&sources), Arc::clone(fetcher), Arc::clone(permits));
            tasks.spawn(Refresh { sources, fetcher, permits, at }.run());
        }
        Self { sources, _tasks: tasks }
    }
}

// === impl Refresh ===

impl Refresh {
    async fn run(self) {
        loop {
            let began = Instant::now();
            self.while_expiring(self.fetch(began)).await;
            let pause = self.sources.pause(self.at);
            let next = began + pause.mul_f64(1.0 - JITTER * random());
            self.while_expiring(sleep_until(next)).await;
        }
    }

    async fn fetch(&self, began: Instant) {
        let fetched = self.fetcher.fetch(&self.sources.configs()[self.at]).await;
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
        let (sources, at) = (Arc::clone(&self.sources), self.at);
        // Parsing megabytes of JSON, or changing the facts of every node, takes too long for an async thread. That thread
        // holds the permit: it parses to the end, even if this task is aborted.
        let read = move || {
            let _permit = permit;
            let Fetched { content, token } = fetched;
            let outcome = content.and_then(|content| parse(&sources.configs()[at], content));
            sources.fetched(at, began, outcome.map_err(|error| error.shown(token.as_deref())));
        };
        if spawn_blocking(read).await.is_err() {
            self.sources.fetched(self.at, began, Err(FetchError::Panicked.to_string()));
        }
    }

    /// Waits for a future. Values that become too old meanwhile are dropped.
    async fn while_expiring(&self, future: impl Future<Output = ()>) {
        let mut future = pin!(future);
        loop {
            let expiry = self.sources.expiry(self.at);
            tokio::select! {
                () = &mut future => return,
                () = sleep_until_some(expiry) => {
                    let (sources, at) = (Arc::clone(&self.sources), self.at);
                    // Its only error is a panic, which the panic hook has logged.
                    let _ = spawn_blocking(move || sources.expire(at, Instant::now())).await;
                }
            }
        }
    }
}

/// Sleeps until a moment.
async fn sleep_until(moment: Instant) {
    tokio::time::sleep_until(moment.into()).await;
}

async fn sleep_until_some(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

/// From 0 to 1. The standard library's hashers are keyed from the system's source of randomness.
fn random() -> f64 {
    f64::from(RandomState::new().hash_one(0) as u32) / f64::from(u32::MAX)
}
