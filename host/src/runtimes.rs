//! The async threads: those that requests wait for do nothing else.

use std::{io, thread::available_parallelism};

use tokio::runtime::{Builder, Handle, Runtime};

/// No scheduler keeps more of them busy.
const MAX_WIRE_THREADS: usize = 8;

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
    /// If the system has no thread or file descriptor to give.
    pub(crate) fn start() -> io::Result<Self> {
        let others = Builder::new_multi_thread().enable_all().build()?;
        let wire = Builder::new_multi_thread()
            .worker_threads(wire_threads())
            .thread_name("plimsoll-wire")
            .enable_all()
            .build()?;
        Ok(Self { wire, others })
    }

    /// The one that carries connections.
    pub(crate) fn wire(&self) -> &Handle {
        self.wire.handle()
    }

    /// Runs a future to its end, beside connections.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.others.block_on(future)
    }
}

/// What takes long is put aside, and a request that moves to another core finds none of its memory there: so they are
/// few.
fn wire_threads() -> usize {
    available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, MAX_WIRE_THREADS))
}
