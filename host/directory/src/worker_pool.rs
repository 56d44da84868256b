//! The pool of threads that read, compile and try policies: a slow policy does not delay others.

use std::{
    collections::{HashSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc::Sender},
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

use crate::{
    load::{LoadContext, LoadJob, LoadOutcome, ModuleFile},
    rollback_check::RollbackCheck,
};

/// Maximum concurrent loads; the loader has a further limit for compiles.
const MAX_THREADS: usize = 8;

/// Maximum concurrent slow jobs, so that a policy in force finds a thread even if many others are slow.
const MAX_SLOW: usize = 6;

/// Modules above this size are large. The loader compiles one of them at a time.
const SMALL_BYTES: u64 = 1 << 20;

/// Maximum concurrent slow jobs with large modules: more of them would wait for each other, with their bytes in memory
/// and a thread each, which smaller ones could use.
const MAX_LARGE: usize = 2;

/// A module whose policy took longer than this apart from the compile, in `validate` or a trial, is a long one: its
/// other policies may take as long.
const LONG: Duration = Duration::from_millis(500);

/// Maximum concurrent jobs with long modules, which start when no other job can: hundreds of sidecars may name one.
const MAX_LONG: usize = 2;

/// Maximum long modules that are known; beyond that all are forgotten.
const MAX_LONG_MODULES: usize = 1024;

/// Maximum concurrent checks of failed versions: one leaves a thread for policies in force even if all slow jobs run.
const MAX_CHECKS: usize = 1;

/// Maximum idle threads; starting a thread takes less than a thousandth of a load.
const MAX_IDLE: usize = 1;

/// Work that calls guests or waits for files, which the thread that decides must not do.
pub(crate) enum Job {
    Load(Box<LoadJob>),
    Check(RollbackCheck),
}

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
    queue: Mutex<JobQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct JobQueue {
    /// Jobs of policies that are in force and have not failed before.
    urgent: VecDeque<Box<LoadJob>>,
    /// Jobs that were refused before come last, and of the others small ones first: many large modules that are
    /// refused must not delay the small ones, which are most.
    slow: VecDeque<Box<LoadJob>>,
    checks: VecDeque<RollbackCheck>,
    long_modules: HashSet<ModuleFile>,
    threads: usize,
    idle: usize,
    /// Slow jobs in progress.
    slow_busy: usize,
    /// Those with large modules.
    large_busy: usize,
    /// Jobs with long modules.
    long_busy: usize,
    checks_busy: usize,
    is_closed: bool,
}

/// The part of each bound that a job in progress takes.
struct JobPermit {
    slow: usize,
    large: usize,
    long: usize,
    check: usize,
}

// === impl WorkerPool ===

impl WorkerPool {
    /// A pool without threads; jobs start them.
    pub(crate) fn new(context: LoadContext) -> Self {
        Self { shared: Arc::new(SharedQueue { context, queue: Mutex::default(), changed: Condvar::new() }) }
    }

    /// Queues a job; its outcome is sent to `done`.
    pub(crate) fn submit<E: From<JobOutcome> + Send + 'static>(&self, job: Job, done: &Sender<E>) {
        let mut queue = self.shared.queue.lock();
        queue.insert(job);
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
        self.shared.queue.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}

// === impl SharedQueue ===

impl SharedQueue {
    fn work<E: From<JobOutcome>>(&self, done: &Sender<E>) {
        let mut queue = self.queue.lock();
        while !queue.is_closed {
            let Some((job, permit)) = queue.next() else {
                if queue.idle >= MAX_IDLE {
                    // Surplus threads end, so that their number does not stay at the peak.
                    break;
                }
                queue.idle += 1;
                self.changed.wait(&mut queue);
                queue.idle -= 1;
                continue;
            };
            drop(queue);
            let is_heard = self.carry_out(job, permit, done);
            queue = self.queue.lock();
            if !is_heard {
                break;
            }
        }
        queue.threads -= 1;
    }

    fn carry_out_all<E: From<JobOutcome>>(&self, done: &Sender<E>) {
        loop {
            let Some((job, permit)) = self.queue.lock().next() else { return };
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
                    self.queue.lock().note_long(module);
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
        self.queue.lock().end(permit);
        is_heard
    }
}

// === impl JobQueue ===

impl JobQueue {
    fn insert(&mut self, job: Job) {
        match job {
            Job::Load(job) if job.is_slow => {
                let priority = |job: &LoadJob| (job.is_retry, size(job));
                let at = self.slow.partition_point(|other| priority(other) <= priority(&job));
                self.slow.insert(at, job);
            }
            Job::Load(job) => self.urgent.push_back(job),
            Job::Check(check) => self.checks.push_back(check),
        }
    }

    fn next(&mut self) -> Option<(Job, JobPermit)> {
        let job = self.next_check().map(Job::Check).or_else(|| self.next_load().map(Job::Load))?;
        let permit = self.permit(&job);
        self.slow_busy += permit.slow;
        self.large_busy += permit.large;
        self.long_busy += permit.long;
        self.checks_busy += permit.check;
        Some((job, permit))
    }

    fn next_check(&mut self) -> Option<RollbackCheck> {
        if self.checks_busy < MAX_CHECKS { self.checks.pop_front() } else { None }
    }

    fn next_load(&mut self) -> Option<Box<LoadJob>> {
        self.start_load(false).or_else(|| if self.long_busy < MAX_LONG { self.start_load(true) } else { None })
    }

    /// Takes the first job, in the order of the queues, whose module is a long one or not.
    fn start_load(&mut self, is_long: bool) -> Option<Box<LoadJob>> {
        if let Some(at) = self.urgent.iter().position(|job| self.is_long(job) == is_long) {
            return self.urgent.remove(at);
        }
        let may_start = |job: &LoadJob| self.large_busy < MAX_LARGE || !is_large(job);
        let at = self.slow.iter().position(|job| self.is_long(job) == is_long && may_start(job));
        self.slow.remove(at.filter(|_| self.slow_busy < MAX_SLOW)?)
    }

    /// Records that a policy with this module took long.
    fn note_long(&mut self, module: Option<ModuleFile>) {
        if self.long_modules.len() == MAX_LONG_MODULES {
            self.long_modules.clear();
        }
        self.long_modules.extend(module);
    }

    fn is_long(&self, job: &LoadJob) -> bool {
        job.module.as_ref().is_some_and(|module| self.long_modules.contains(module))
    }

    fn permit(&self, job: &Job) -> JobPermit {
        match job {
            Job::Load(job) => JobPermit {
                slow: job.is_slow.into(),
                large: is_large(job).into(),
                long: self.is_long(job).into(),
                check: 0,
            },
            Job::Check(_) => JobPermit { slow: 0, large: 0, long: 0, check: 1 },
        }
    }

    /// Records that a job has ended.
    fn end(&mut self, JobPermit { slow, large, long, check }: JobPermit) {
        self.slow_busy -= slow;
        self.large_busy -= large;
        self.long_busy -= long;
        self.checks_busy -= check;
    }

    /// Jobs that a thread could start now: more only start a thread that soon ends.
    fn waiting(&self) -> usize {
        let large = self.slow.iter().filter(|job| is_large(job)).count();
        let startable = self.slow.len() - large + large.min(MAX_LARGE.saturating_sub(self.large_busy));
        let checks = self.checks.len().min(MAX_CHECKS.saturating_sub(self.checks_busy));
        self.urgent.len() + checks + startable.min(MAX_SLOW.saturating_sub(self.slow_busy))
    }
}

fn size(job: &LoadJob) -> u64 {
    job.module.as_ref().map_or(0, ModuleFile::size)
}

/// Whether it is one of the jobs that [`MAX_LARGE`] bounds.
fn is_large(job: &LoadJob) -> bool {
    job.is_slow && size(job) > SMALL_BYTES
}

#[cfg(test)]
mod tests {
    use plimsoll_system::FileStamp;

    use super::*;
    use crate::scan::{File, PolicyId, Scan, Sources};

    fn module(name: &str) -> ModuleFile {
        ModuleFile { file: File { group: "".into(), name: name.into() }, stamp: FileStamp::Other }
    }

    fn job(name: &str, of: &str, is_slow: bool) -> Box<LoadJob> {
        Box::new(LoadJob {
            id: PolicyId { group: "".into(), name: name.into() },
            number: 0,
            version: 1,
            sources: Sources::default(),
            scan: Arc::new(Scan::default()),
            current: None,
            refused: vec![],
            may_restore: false,
            is_slow,
            is_retry: false,
            module: Some(module(of)),
        })
    }

    /// Starts jobs until none may start, and returns the names of their policies.
    fn started(queue: &mut JobQueue) -> Vec<String> {
        std::iter::from_fn(|| queue.next_load_named()).collect()
    }

    impl JobQueue {
        fn next_load_named(&mut self) -> Option<String> {
            match self.next()?.0 {
                Job::Load(job) => Some(job.id.name.to_string()),
                Job::Check(_) => None,
            }
        }
    }

    #[test]
    fn policies_of_a_module_that_took_long_come_last_and_two_at_a_time() {
        for is_slow in [false, true] {
            let mut queue = JobQueue::default();
            for name in ["a", "b", "c"] {
                queue.insert(Job::Load(job(name, "long.wasm", is_slow)));
            }
            queue.insert(Job::Load(job("other", "other.wasm", is_slow)));
            queue.note_long(Some(module("long.wasm")));
            assert_eq!(started(&mut queue), ["other", "a", "b"], "{is_slow}");
            queue.end(JobPermit { slow: is_slow.into(), large: 0, long: 1, check: 0 });
            assert_eq!(started(&mut queue), ["c"], "{is_slow}");
        }
    }

    #[test]
    fn a_module_with_another_content_is_another_one() {
        let mut queue = JobQueue::default();
        let old = ModuleFile { stamp: FileStamp::Dangling, ..module("long.wasm") };
        queue.note_long(Some(old));
        for name in ["a", "b", "c"] {
            queue.insert(Job::Load(job(name, "long.wasm", false)));
        }
        assert_eq!(started(&mut queue), ["a", "b", "c"]);
    }
}
