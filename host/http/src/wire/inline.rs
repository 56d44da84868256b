//! Short work on the async threads, where two ways between threads would cost as much as the work.

use plimsoll_core::on_shared_thread;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{JoinHandle, block_in_place, spawn_blocking},
};

/// Starts a decision as a task of its own, so that its connection can be cut off without it.
///
/// It may hold up its thread for as long as it takes to read a short request. Before a guest is asked, another
/// thread takes over what else there is to do.
pub(super) fn spawn<T: Send + 'static>(decide: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // A runtime of one thread has no other that could take over.
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return spawn_blocking(decide);
    }
    tokio::spawn(async { on_shared_thread(|work| block_in_place(work), decide) })
}
