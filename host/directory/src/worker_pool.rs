//! The pool of threads that read, compile and try policies: a slow policy does not delay others.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    thread,
};

use crate::load::{LoadContext, LoadJob, LoadOutcome};

/// Maximum concurrent loads; the loader has a further limit for compiles.
const MAX_THREADS: usize = 8;

/// Maximum concurrent slow jobs, so that a policy in force finds a thread even if many others are slow.
const MAX_SLOW: usize = 6;

/// Modules above this size are large. The loader compiles one of them at a time.
const SMALL_BYTES: u64 = 1 << 20;

/// Maximum concurrent slow jobs with large modules: more of them would wait for each other, with their bytes in memory
/// and a thread each, which smaller ones could use.
const MAX_LARGE: usize = 2;

/// Maximum idle threads; starting a thread takes less than a thousandth of a load.
const MAX_IDLE: usize = 1;

/// Threads that run load jobs; after a drop each thread ends with its current job.
pub(crate) struct WorkerPool {
    shared: Arc<SharedQueue>,
}

struct SharedQueue {
    context: LoadContext,
    queue: Mutex<JobQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct JobQueue {
    /// Jobs of policies that are in force and have not failed before.
    urgent: VecDeque<LoadJob>,
    /// Jobs that were refused before come last, and of the others small ones first: many large modules that are
    /// refused must not delay the small ones, which are most.
    slow: VecDeque<LoadJob>,
    threads: usize,
    idle: usize,
    /// Slow jobs in progress.
    slow_busy: usize,
    /// Those with large modules.
    large_busy: usize,
    is_closed: bool,
}

// === impl WorkerPool ===

impl WorkerPool {
    /// A pool without threads; jobs start them.
    pub(crate) fn new(context: LoadContext) -> Self {
        Self { shared: Arc::new(SharedQueue { context, queue: Mutex::default(), changed: Condvar::new() }) }
    }

    /// Queues a job; its outcome is sent to `done`.
    pub(crate) fn take<E: From<LoadOutcome> + Send + 'static>(&self, job: LoadJob, done: &Sender<E>) {
        let mut queue = self.shared.queue();
        if job.is_slow {
            let rank = |job: &LoadJob| (job.is_retry, job.size);
            let at = queue.slow.partition_point(|other| rank(other) <= rank(&job));
            queue.slow.insert(at, job);
        } else {
            queue.urgent.push_back(job);
        }
        if queue.idle < queue.waiting() && queue.threads < MAX_THREADS {
            let (shared, sender) = (Arc::clone(&self.shared), done.clone());
            let name = "policy-loader".to_owned();
            if thread::Builder::new().name(name).spawn(move || shared.work(&sender)).is_ok() {
                queue.threads += 1;
            } else if queue.threads == 0 {
                // No thread can be started: the calling thread runs the job.
                drop(queue);
                self.shared.carry_out_all(done);
                return;
            }
        }
        drop(queue);
        self.shared.changed.notify_one();
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shared.queue().is_closed = true;
        self.shared.changed.notify_all();
    }
}

// === impl SharedQueue ===

impl SharedQueue {
    fn work<E: From<LoadOutcome>>(&self, done: &Sender<E>) {
        let mut queue = self.queue();
        while !queue.is_closed {
            let Some(job) = queue.next() else {
                if queue.idle >= MAX_IDLE {
                    // Surplus threads end, so that their number does not stay at the peak.
                    break;
                }
                queue.idle += 1;
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
                continue;
            };
            drop(queue);
            let (is_slow, is_large) = (job.is_slow, is_large(&job));
            let is_heard = done.send(self.carry_out(job).into()).is_ok();
            queue = self.queue();
            queue.end(is_slow, is_large);
            if !is_heard {
                break;
            }
        }
        queue.threads -= 1;
    }

    fn carry_out_all<E: From<LoadOutcome>>(&self, done: &Sender<E>) {
        loop {
            let Some(job) = self.queue().next() else { return };
            let (is_slow, is_large) = (job.is_slow, is_large(&job));
            // It fails only if the receiver is gone.
            let _ = done.send(self.carry_out(job).into());
            self.queue().end(is_slow, is_large);
        }
    }

    /// Catches panics: the policy is refused, and the thread continues.
    fn carry_out(&self, job: LoadJob) -> LoadOutcome {
        let failed = LoadOutcome::failed(&job);
        catch_unwind(AssertUnwindSafe(|| self.context.carry_out(job))).unwrap_or(failed)
    }

    fn queue(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl JobQueue ===

impl JobQueue {
    fn next(&mut self) -> Option<LoadJob> {
        let urgent = self.urgent.pop_front();
        if urgent.is_some() || self.slow_busy >= MAX_SLOW {
            return urgent;
        }
        let may_start = |job: &LoadJob| self.large_busy < MAX_LARGE || !is_large(job);
        let slow = self.slow.remove(self.slow.iter().position(may_start)?)?;
        self.slow_busy += 1;
        self.large_busy += usize::from(is_large(&slow));
        Some(slow)
    }

    /// Notes that a job has ended.
    fn end(&mut self, is_slow: bool, is_large: bool) {
        self.slow_busy -= usize::from(is_slow);
        self.large_busy -= usize::from(is_large);
    }

    /// Jobs that a thread could start now.
    fn waiting(&self) -> usize {
        let large = self.slow.iter().filter(|job| is_large(job)).count();
        let startable = self.slow.len() - large + large.min(MAX_LARGE.saturating_sub(self.large_busy));
        self.urgent.len() + startable.min(MAX_SLOW.saturating_sub(self.slow_busy))
    }
}

/// Whether it is one of the jobs that [`MAX_LARGE`] bounds.
fn is_large(job: &LoadJob) -> bool {
    job.is_slow && job.size > SMALL_BYTES
}
