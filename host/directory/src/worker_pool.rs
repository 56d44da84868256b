//! The pool of threads that read, compile and try policies: a slow policy does not delay others.

mod fair_queue;
mod queue;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc::Sender},
    thread,
};

use parking_lot::{Condvar, Mutex};

pub(crate) use self::queue::Job;
use self::queue::{JobPermit, JobQueue, LONG, MAX_THREADS};
use crate::{
    load::{LoadContext, LoadOutcome},
    rollback_check::RollbackCheck,
};

/// Maximum idle threads; starting a thread takes less than a thousandth of a load.
const MAX_IDLE: usize = 1;

/// The outcome of a job.
pub(crate) enum JobOutcome {
    Load(Box<LoadOutcome>),
    /// With how the new version failed, if it has to be rolled back.
    Check(RollbackCheck, Option<String>),
}

/// Threads that run jobs; after a drop each thread ends with its current job.
pub(crate) struct WorkerPool {
    shared: Arc<SharedQueue>,
}

struct SharedQueue {
    context: LoadContext,
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    queue: JobQueue,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

// === impl WorkerPool ===

impl WorkerPool {
    /// A pool without threads; jobs start them.
    pub(crate) fn new(context: LoadContext) -> Self {
        Self { shared: Arc::new(SharedQueue { context, state: Mutex::default(), changed: Condvar::new() }) }
    }

    /// Queues a job; its outcome is sent to `done`.
    pub(crate) fn submit<E: From<JobOutcome> + Send + 'static>(&self, job: Job, done: &Sender<E>) {
        let mut state = self.shared.state.lock();
        state.queue.insert(job);
        if state.idle < state.queue.startable() && state.threads < MAX_THREADS {
            let (shared, sender) = (Arc::clone(&self.shared), done.clone());
            let name = "policy-loader".to_owned();
            if thread::Builder::new().name(name).spawn(move || shared.work(&sender)).is_ok() {
                state.threads += 1;
            } else if state.threads == 0 {
                // No thread can be started: the calling thread runs the job.
                drop(state);
                self.shared.carry_out_all(done);
                return;
            }
        }
        drop(state);
        self.shared.changed.notify_one();
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shared.state.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}

// === impl SharedQueue ===

impl SharedQueue {
    fn work<E: From<JobOutcome>>(&self, done: &Sender<E>) {
        let mut state = self.state.lock();
        while !state.is_closed {
            let Some((job, permit)) = state.queue.next() else {
                if state.idle >= MAX_IDLE {
                    // Surplus threads end, so that their number does not stay at the peak.
                    break;
                }
                state.idle += 1;
                self.changed.wait(&mut state);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let is_heard = self.carry_out(job, permit, done);
            state = self.state.lock();
            if !is_heard {
                break;
            }
        }
        state.threads -= 1;
    }

    fn carry_out_all<E: From<JobOutcome>>(&self, done: &Sender<E>) {
        loop {
            let Some((job, permit)) = self.state.lock().queue.next() else { return };
            self.carry_out(job, permit, done);
        }
    }

    /// Runs a job; false if the receiver of outcomes is gone. A panic is a transient failure of the job.
    fn carry_out<E: From<JobOutcome>>(&self, job: Job, permit: JobPermit, done: &Sender<E>) -> bool {
        let outcome = match job {
            Job::Load(job) => {
                let (failed, module) = (LoadOutcome::failed(&job), job.module.clone());
                let outcome = catch_unwind(AssertUnwindSafe(|| self.context.carry_out(*job))).unwrap_or(failed);
                if outcome.time.without_loader > LONG {
                    self.state.lock().queue.note_long(module);
                }
                JobOutcome::Load(Box::new(outcome))
            }
            Job::Check(check) => {
                // If the check itself fails, the new version stays.
                let error = catch_unwind(AssertUnwindSafe(|| check.carry_out())).unwrap_or(None);
                JobOutcome::Check(check, error)
            }
        };
        let is_heard = done.send(outcome.into()).is_ok();
        self.state.lock().queue.end(permit);
        is_heard
    }
}
