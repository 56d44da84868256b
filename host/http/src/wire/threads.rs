//! The threads that decisions run on, and the way in which they may block there.

use plimsoll_core::Blocking;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{JoinHandle, block_in_place, spawn_blocking},
};

/// The threads that a decision runs on. It is a task of its own, so that closing its connection does not cancel it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    /// The connections' own, for short work: two thread switches would cost as much. Where there is only one such
    /// thread, as `Blocking`.
    Async,
    /// Those for work that takes long.
    Blocking,
}

/// The way in which a gateway calls guests within this runtime: the thread's other tasks go to another thread first. On
/// a thread that has no tasks, nothing is to be done.
pub(super) fn blocking() -> Blocking {
    if is_single() { Blocking::default() } else { Blocking::new(|work| block_in_place(work)) }
}

/// Whether the runtime has no other thread that could take over the tasks of this one.
fn is_single() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread
}

// === impl Threads ===

impl Threads {
    /// Runs a decision on these threads.
    pub(super) fn spawn<T: Send + 'static>(self, decide: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        if self == Self::Async && !is_single() { tokio::spawn(async { decide() }) } else { spawn_blocking(decide) }
    }
}
