//! Runs short work on the async threads, where two thread switches would cost as much as the work.

use plimsoll_core::on_shared_thread;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{JoinHandle, block_in_place, spawn_blocking},
};

/// Spawns a decision as a task of its own, so that closing its connection does not cancel it.
///
/// It may block its thread while it reads a short request. Before a guest is called, `block_in_place` hands the
/// thread's other tasks to another thread.
pub(super) fn spawn<T: Send + 'static>(decide: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // A current-thread runtime has no other thread to hand tasks to.
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return spawn_blocking(decide);
    }
    tokio::spawn(async { on_shared_thread(|work| block_in_place(work), decide) })
}
