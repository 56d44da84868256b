//! The async threads: those that requests wait for do nothing else.

use std::{io, thread::available_parallelism, time::Duration};

use tokio::runtime::{Builder, Handle, Runtime};

/// No scheduler keeps more threads of connections busy.
const MAX_WIRE_THREADS: usize = 8;

/// Threads that tokio may add to the workers of a runtime for other work than requests.
const OTHERS_BLOCKING: usize = 512;

/// The time that an idle thread stays: a pod should not wait for one to be started.
const KEEP_ALIVE: Duration = Duration::from_hours(1);

/// A runtime for the extender's connections, and one for all else: the watch, the lease, the admin listener.
pub(crate) struct Runtimes {
    wire: Runtime,
    others: Runtime,
}

// === impl Runtimes ===

impl Runtimes {
    /// Starts both.
    ///
    /// # Errors
    /// If no thread can be started, or no file descriptor is left.
    pub(crate) fn start(max_requests: usize) -> io::Result<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        // Few: work that takes long leaves these threads, and a request that moves to another core finds none of its
        // memory there.
        let workers = (cores / 2).clamp(1, MAX_WIRE_THREADS);
        // Beyond all that can be under way: a decision that asks a guest hands its connections to another thread, and
        // they would wait for one.
        let wire = start("plimsoll-wire", workers, max_requests.saturating_add(OTHERS_BLOCKING))?;
        Ok(Self { wire, others: start("plimsoll-async", cores, OTHERS_BLOCKING)? })
    }

    /// The one that carries connections.
    pub(crate) fn wire(&self) -> &Handle {
        self.wire.handle()
    }

    /// Runs a future to its end, beside connections.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.others.block_on(future)
    }

    /// Ends both without waiting for their threads: work that outlasts the drain time must not keep the process.
    pub(crate) fn shut_down(self) {
        self.wire.shutdown_background();
        self.others.shutdown_background();
    }
}

fn start(name: &str, workers: usize, blocking: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(blocking)
        .thread_name(name)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()
}
