//! One task for each source: fetches, waits, and fetches again.

use std::{
    fmt,
    future::pending,
    hash::{BuildHasher, RandomState},
    pin::pin,
    sync::Arc,
    time::Instant,
};

use plimsoll_core::Facts;
use tokio::{
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
};

use crate::{
    board::{Board, SourceStatus},
    config::FactsConfig,
    error::FetchError,
    fetch::{ConfigMaps, Fetcher},
    parse::parse,
};

/// Fetches at once: each holds an answer of up to 4 MiB, and what is read from it.
const MAX_FETCHES: usize = 8;

/// The part of a pause that is left to chance, so that replicas and sources do not fetch at the same time.
const JITTER: f64 = 0.1;

/// Keeps facts up to date until it is dropped.
pub struct FactWatch {
    board: Arc<Board>,
    // Dropping it ends the tasks.
    _tasks: JoinSet<()>,
}

/// The task of one source.
struct Refresh {
    board: Arc<Board>,
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
        let board = Arc::new(Board::new(config, Box::new(publish)));
        let (fetcher, permits) = (Arc::new(Fetcher::new(config_maps)), Arc::new(Semaphore::new(MAX_FETCHES)));
        let mut tasks = JoinSet::new();
        for at in 0..board.sources().len() {
            let (board, fetcher, permits) = (Arc::clone(&board), Arc::clone(&fetcher), Arc::clone(&permits));
            tasks.spawn(Refresh { board, fetcher, permits, at }.run());
        }
        Self { board, _tasks: tasks }
    }

    /// The state of every source, by name.
    pub fn statuses(&self) -> Vec<SourceStatus> {
        self.board.statuses()
    }
}

impl fmt::Debug for FactWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactWatch").field("statuses", &self.statuses()).finish_non_exhaustive()
    }
}

// === impl Refresh ===

impl Refresh {
    async fn run(self) {
        loop {
            let began = Instant::now();
            self.while_expiring(self.fetch()).await;
            let pause = self.board.pause(self.at);
            let next = began + pause.mul_f64(1.0 - JITTER * random());
            self.while_expiring(wait_until(next)).await;
        }
    }

    async fn fetch(&self) {
        // It is never closed.
        let Ok(_permit) = self.permits.acquire().await else { return };
        let began = Instant::now();
        let fetched = self.fetcher.fetch(&self.board.sources()[self.at]).await;
        let (board, at) = (Arc::clone(&self.board), self.at);
        // Reading megabytes of JSON, and a change of every node, take too long for a thread of async tasks.
        let read = move || {
            let outcome = fetched.and_then(|content| parse(&board.sources()[at], content));
            board.fetched(at, began, outcome);
        };
        if spawn_blocking(read).await.is_err() {
            self.board.fetched(self.at, began, Err(FetchError::Panicked));
        }
    }

    /// Waits for a future. Values that become too old meanwhile are dropped.
    async fn while_expiring(&self, future: impl Future<Output = ()>) {
        let mut future = pin!(future);
        loop {
            let expiry = self.board.expiry(self.at);
            tokio::select! {
                () = &mut future => return,
                () = wait_until_some(expiry) => {
                    let (board, at) = (Arc::clone(&self.board), self.at);
                    // Its only error is a panic, which the panic hook has logged.
                    let _ = spawn_blocking(move || board.expire(at, Instant::now())).await;
                }
            }
        }
    }
}

/// Time itself is waited for: the interval of a source, and the age of its values.
async fn wait_until(moment: Instant) {
    tokio::time::sleep_until(moment.into()).await;
}

async fn wait_until_some(moment: Option<Instant>) {
    match moment {
        Some(moment) => wait_until(moment).await,
        None => pending().await,
    }
}

/// From 0 to 1. The standard library's hashers are keyed from the system's source of randomness.
fn random() -> f64 {
    f64::from(RandomState::new().hash_one(0) as u32) / f64::from(u32::MAX)
}
