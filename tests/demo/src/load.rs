//! A second scheduler that never stops calling: if a swap or a crash failed a call, it would see it.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Instant,
};

use crate::scheduler::Scheduler;

/// Calls until it is told to stop.
pub(crate) struct Load {
    shared: Arc<LoadState>,
    thread: JoinHandle<()>,
}

/// The totals of the load.
pub(crate) struct LoadTotals {
    pub(crate) calls: u64,
    /// The first failed call, if any failed.
    pub(crate) failure: Option<String>,
}

#[derive(Default)]
struct LoadState {
    stop: AtomicBool,
    calls: AtomicU64,
    failure: Mutex<Option<String>>,
    /// The reasons of the newest answer, and when it came.
    newest: Mutex<Option<(Instant, Vec<String>)>>,
}

// === impl Load ===

impl Load {
    pub(crate) fn start(extender: SocketAddr) -> Self {
        let shared = Arc::new(LoadState::default());
        let own = Arc::clone(&shared);
        Self { shared, thread: std::thread::spawn(move || own.call_until_stopped(extender)) }
    }

    /// When the newest answer came whose reasons contain the text; none if that answer has no such reason.
    pub(crate) fn answered_with(&self, text: &str) -> Option<Instant> {
        let newest = self.shared.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, reasons) = newest.as_ref()?;
        reasons.iter().any(|reason| reason.contains(text)).then_some(*at)
    }

    pub(crate) fn stop(self) -> LoadTotals {
        self.shared.stop.store(true, Ordering::Relaxed);
        // A thread that panicked has failed a call.
        let crashed = self.thread.join().is_err().then(|| "the calling thread crashed".to_owned());
        let failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        LoadTotals { calls: self.shared.calls.load(Ordering::Relaxed), failure: failure.or(crashed) }
    }
}

// === impl LoadState ===

impl LoadState {
    fn call_until_stopped(&self, extender: SocketAddr) {
        let mut scheduler = Scheduler::new(extender);
        let nodes: Vec<String> = (0..plimsoll_sample::NODES).map(plimsoll_sample::node_name).collect();
        let pod = plimsoll_sample::pod("web", "site", 999_999);
        while !self.stop.load(Ordering::Relaxed) {
            match scheduler.schedule(&pod, &nodes) {
                Ok(decision) => {
                    let reasons = decision.reasons.into_iter().map(|(reason, _)| reason).collect();
                    *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), reasons));
                }
                Err(error) => {
                    let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert_with(|| format!("{error:#}"));
                }
            }
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
    }
}
