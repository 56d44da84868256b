//! The jobs that wait for a thread, and the bounds on those that run.
//!
//! A load job has a class: whether its policy is in force, whether its files were refused before, and whether its module
//! is large. Each class has a fair queue between the groups of policies. Policies in force go first, and those that were
//! refused before come last. Small and large modules do not wait for each other: the loader compiles them side by side.

use std::{
    collections::{BTreeMap, HashSet, VecDeque, btree_map::Entry},
    sync::Arc,
    time::Duration,
};

use super::fair_queue::FairQueue;
use crate::{
    load::{LoadJob, ModuleFile},
    rollback_check::RollbackCheck,
};

/// Maximum concurrent jobs. The loader has a further limit for compiles.
pub(super) const MAX_THREADS: usize = 10;

/// Maximum concurrent jobs of policies in force, so that a new policy finds a thread however often others change.
const MAX_URGENT: usize = 7;

/// Maximum concurrent slow jobs, so that a policy in force finds a thread even if many others are slow.
const MAX_SLOW: usize = 6;

/// Modules above this size are large. The loader compiles one of them at a time.
const SMALL_BYTES: u64 = 1 << 20;

/// Maximum concurrent jobs with large modules, of policies in force and of others each: more of them would wait for each
/// other, with their bytes in memory and a thread each, which smaller ones could use.
const MAX_LARGE: usize = 2;

/// A module whose policy took longer than this apart from the compile, in `validate` or a trial, is a long one: its
/// other policies may take as long.
pub(super) const LONG: Duration = Duration::from_millis(500);

/// Maximum concurrent jobs with long modules, which start when no other job can: hundreds of sidecars may name one.
const MAX_LONG: usize = 2;

/// Maximum long modules that are known; beyond that all are forgotten.
const MAX_LONG_MODULES: usize = 1024;

/// Maximum concurrent checks of failed versions: one leaves a thread for policies in force even if all slow jobs run.
const MAX_CHECKS: usize = 1;

/// Work that calls guests or waits for files, which the thread that decides must not do.
pub(crate) enum Job {
    Load(Box<LoadJob>),
    Check(RollbackCheck),
}

/// The jobs that wait, and those that run.
#[derive(Default)]
pub(super) struct JobQueue {
    loads: BTreeMap<LoadClass, FairQueue<Box<LoadJob>>>,
    checks: VecDeque<RollbackCheck>,
    long_modules: HashSet<ModuleFile>,
    running: RunningLoads,
    /// Loads with long modules that run.
    running_long: usize,
    running_checks: usize,
}

/// The class of a load job. Those that are less come first: large modules have few places, and do not keep small ones
/// from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LoadClass {
    /// Its policy is not in force, or has failed before.
    is_slow: bool,
    /// Its files were refused before.
    is_retry: bool,
    is_small: bool,
}

/// The loads that run.
#[derive(Default)]
struct RunningLoads {
    /// Their number, by class and group; without zeros.
    counts: BTreeMap<(LoadClass, Arc<str>), usize>,
    /// Whether the directory has groups beside itself.
    has_groups: bool,
}

/// The part of the bounds that a running job takes.
pub(super) enum JobPermit {
    Load { class: LoadClass, group: Arc<str>, is_long: bool },
    Check,
}

// === impl JobQueue ===

impl JobQueue {
    pub(super) fn insert(&mut self, job: Job) {
        match job {
            Job::Load(job) => {
                let group = Arc::clone(&job.id.group);
                self.running.has_groups = job.scan.groups.len() > 1;
                self.loads.entry(LoadClass::of(&job)).or_default().push(&group, size(&job), job);
            }
            Job::Check(check) => self.checks.push_back(check),
        }
    }

    /// Takes the next job that may start.
    pub(super) fn next(&mut self) -> Option<(Job, JobPermit)> {
        self.next_check().or_else(|| self.next_load(false)).or_else(|| self.next_load(true))
    }

    fn next_check(&mut self) -> Option<(Job, JobPermit)> {
        if self.running_checks == MAX_CHECKS {
            return None;
        }
        let check = self.checks.pop_front()?;
        self.running_checks += 1;
        Some((Job::Check(check), JobPermit::Check))
    }

    /// Takes the next job whose module is a long one, or is not.
    fn next_load(&mut self, is_long: bool) -> Option<(Job, JobPermit)> {
        if is_long && self.running_long == MAX_LONG {
            return None;
        }
        let Self { loads, long_modules, running, .. } = self;
        let may_start = |job: &LoadJob| job.module.as_ref().is_some_and(|of| long_modules.contains(of)) == is_long;
        let (class, job) = loads.iter_mut().find_map(|(class, queue)| {
            Some((*class, queue.take(|group| running.places_of(*class, group) > 0, |job| may_start(job))?))
        })?;
        let group = Arc::clone(&job.id.group);
        running.add(class, &group);
        self.running_long += usize::from(is_long);
        Some((Job::Load(job), JobPermit::Load { class, group, is_long }))
    }

    /// Records that a policy with this module took long.
    pub(super) fn note_long(&mut self, module: Option<ModuleFile>) {
        if self.long_modules.len() == MAX_LONG_MODULES {
            self.long_modules.clear();
        }
        self.long_modules.extend(module);
    }

    /// Records that a job has ended.
    pub(super) fn end(&mut self, permit: JobPermit) {
        match permit {
            JobPermit::Load { class, group, is_long } => {
                self.running.remove(class, group);
                self.running_long -= usize::from(is_long);
            }
            JobPermit::Check => self.running_checks -= 1,
        }
    }

    /// Jobs that a thread could start now: more only start a thread that soon ends.
    pub(super) fn startable(&self) -> usize {
        let of_class = |class: &LoadClass| -> usize {
            let lengths = self.loads[class].lengths();
            let startable: usize =
                lengths.map(|(group, length)| length.min(self.running.places_of(*class, group))).sum();
            startable.min(self.running.places(*class))
        };
        let loads = [false, true].map(|is_slow| {
            let startable: usize = self.loads.keys().filter(|class| class.is_slow == is_slow).map(of_class).sum();
            startable.min(self.running.places(LoadClass { is_slow, is_retry: false, is_small: true }))
        });
        loads.iter().sum::<usize>() + self.checks.len().min(MAX_CHECKS - self.running_checks)
    }
}

// === impl LoadClass ===

impl LoadClass {
    fn of(job: &LoadJob) -> Self {
        Self { is_slow: job.is_slow, is_retry: job.is_retry, is_small: size(job) <= SMALL_BYTES }
    }
}

// === impl RunningLoads ===

impl RunningLoads {
    fn add(&mut self, class: LoadClass, group: &Arc<str>) {
        *self.counts.entry((class, Arc::clone(group))).or_default() += 1;
    }

    fn remove(&mut self, class: LoadClass, group: Arc<str>) {
        if let Entry::Occupied(mut running) = self.counts.entry((class, group)) {
            *running.get_mut() -= 1;
            if *running.get() == 0 {
                running.remove();
            }
        }
    }

    /// The number of jobs of this class that may start now.
    fn places(&self, class: LoadClass) -> usize {
        let of_urgency = |other: LoadClass| other.is_slow == class.is_slow;
        let most = if class.is_slow { MAX_SLOW } else { MAX_URGENT };
        let all = most - self.count(|other, _| of_urgency(other));
        if class.is_small {
            return all;
        }
        all.min(MAX_LARGE - self.count(|other, _| of_urgency(other) && !other.is_small))
    }

    /// The number of those that may be of this group. With small modules a group gets another place while it has less
    /// than are free, so that places are left for other groups, if there are any. The few places for large ones are not
    /// divided.
    fn places_of(&self, class: LoadClass, group: &str) -> usize {
        let free = self.places(class);
        if !class.is_small || !self.has_groups {
            return free;
        }
        let is_alike = |other: LoadClass| other.is_slow == class.is_slow && other.is_small;
        let held = self.count(|other, of| is_alike(other) && of == group);
        free.saturating_sub(held).div_ceil(2)
    }

    fn count(&self, is_counted: impl Fn(LoadClass, &str) -> bool) -> usize {
        self.counts.iter().filter(|((class, group), _)| is_counted(*class, group)).map(|(_, running)| running).sum()
    }
}

fn size(job: &LoadJob) -> u64 {
    job.module.as_ref().map_or(0, ModuleFile::size)
}

#[cfg(test)]
mod tests;
