//! Runs short work on the async threads, where two thread switches would cost as much as the work.

use plimsoll_core::Blocking;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{JoinHandle, block_in_place, spawn_blocking},
};

/// The way in which a gateway calls guests within this runtime: the thread's other tasks go to another thread first. On
/// a thread that has no tasks, nothing is to be done.
pub(super) fn blocking() -> Blocking {
    // A current-thread runtime has no other thread: see `spawn`.
    if is_single() { Blocking::default() } else { Blocking::new(|work| block_in_place(work)) }
}

/// Spawns a decision as a separate task, so that closing its connection does not cancel it.
///
/// It may block its thread while it reads a short request.
pub(super) fn spawn<T: Send + 'static>(decide: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    if is_single() { spawn_blocking(decide) } else { tokio::spawn(async { decide() }) }
}

fn is_single() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread
}
