//! The async threads: those that requests wait for do nothing else.

use std::{io, sync::Arc, thread::available_parallelism, time::Duration};

use parking_lot::{Condvar, Mutex};
use tokio::runtime::{Builder, Handle, Runtime};

/// No scheduler keeps more threads of connections busy.
const MAX_WIRE_THREADS: usize = 8;

/// Groups that may use all their decisions at once before the wire needs more threads than it starts with.
const BUSY_GROUPS: usize = 4;

/// The most threads that the wire starts with; a machine with many cores gets the others when it needs them.
const MAX_STARTED: usize = 64;

/// Threads beside the workers of the other runtime: an admin page, the files of TLS, a name that is looked up.
const OTHERS_STARTED: usize = 2;

/// Threads that tokio may add to the workers of a runtime for other work than requests.
const OTHERS_BLOCKING: usize = 512;

/// The time that an idle thread stays. Tokio wakes the thread that has been idle for longest, so under load none of
/// them would end anyway: their number would be that of the largest burst so far.
const KEEP_ALIVE: Duration = Duration::from_hours(24 * 365);

/// The time that the start waits for its threads; a system that has none to give must not keep the listeners closed.
const START_TIMEOUT: Duration = Duration::from_secs(1);

/// A runtime for the extender's connections, and one for all else: the watch, the lease, the admin listener.
pub(crate) struct Runtimes {
    wire: Runtime,
    others: Runtime,
}

// === impl Runtimes ===

impl Runtimes {
    /// Starts both, with all threads that they normally need; `max_decisions` is the limit of each group, `max_requests`
    /// that of all of them.
    ///
    /// # Errors
    /// If no thread can be started, or no file descriptor is left.
    pub(crate) fn start(max_decisions: usize, max_requests: usize) -> io::Result<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        let others = start("plimsoll-async", cores, OTHERS_STARTED, OTHERS_BLOCKING, START_TIMEOUT)?;
        // Beyond all that can be under way: a decision that asks a guest hands its connections to another thread, and
        // they would wait for one.
        let most = max_requests.saturating_add(OTHERS_BLOCKING);
        let wire = start("plimsoll-wire", wire_threads(cores), blocking_threads(max_decisions), most, START_TIMEOUT)?;
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

    /// Ends both without waiting for their threads: work that outlasts the drain time must not keep the process.
    pub(crate) fn shut_down(self) {
        self.wire.shutdown_background();
        self.others.shutdown_background();
    }
}

/// A runtime with workers, with threads for long tasks that exist from the start, and with at most `most` of them.
fn start(name: &str, workers: usize, blocking: usize, most: usize, timeout: Duration) -> io::Result<Runtime> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(most)
        .thread_name(name)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()?;
    start_blocking(runtime.handle(), blocking, timeout);
    Ok(runtime)
}

/// Makes tokio start threads, by as many tasks that wait for each other.
fn start_blocking(runtime: &Handle, threads: usize, timeout: Duration) {
    let running = Arc::new((Mutex::new(0), Condvar::new()));
    let meet = move |running: &(Mutex<usize>, Condvar), arrives: usize| {
        let (count, changed) = running;
        let mut count = count.lock();
        *count += arrives;
        changed.notify_all();
        // Should a thread be missing, the others go to work without it.
        changed.wait_while_for(&mut count, |count| *count < threads, timeout);
    };
    for _ in 0..threads {
        let running = Arc::clone(&running);
        runtime.spawn_blocking(move || meet(&running, 1));
    }
    meet(&running, 0);
}

/// Few: work that takes long leaves these threads, and a request that moves to another core finds none of its memory
/// there.
fn wire_threads(cores: usize) -> usize {
    (cores / 2).clamp(1, MAX_WIRE_THREADS)
}

/// Threads for decisions that ask guests, for binds, and for both kinds of work after a reply.
fn blocking_threads(max_decisions: usize) -> usize {
    max_decisions.saturating_mul(BUSY_GROUPS + 2).min(MAX_STARTED)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Threads of this process with a name.
    fn threads(name: &str) -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks
            .filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name))
            .count()
    }

    #[test]
    fn work_that_blocks_finds_its_threads_started() {
        let timeout = Duration::from_mins(1);
        let _runtime = start("of-this-test", 2, 5, 512, timeout).unwrap();
        // The threads that do not block may still be without their names.
        let deadline = Instant::now() + timeout;
        while threads("of-this-test") < 7 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(threads("of-this-test"), 7);
    }

    #[test]
    fn the_threads_of_a_start_are_bounded_on_any_machine() {
        assert_eq!((blocking_threads(4), blocking_threads(1_000), blocking_threads(usize::MAX)), (24, 64, 64));
        assert_eq!((wire_threads(1), wire_threads(6), wire_threads(256)), (1, 3, 8));
    }
}
