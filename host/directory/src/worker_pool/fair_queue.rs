//! A fair queue: round robin between groups; in a group the smallest job first, with ageing.

use std::{collections::VecDeque, sync::Arc};

/// Jobs by group, each with its size.
///
/// Groups take turns: while a job of a group waits, each other group starts at most one job between two starts of the
/// group. Every second start of a group is its oldest job, so that a job can be overtaken only so often by smaller ones.
///
/// A job that comes after `n` others of its group is the `2n + 2`nd start of the group at the latest, and `n + 1`
/// younger jobs overtake it at most. With `g` groups it is the `g * (2n + 2)`nd start of all. These bounds hold for groups
/// and jobs that may start at any time: those that may not are passed over, and keep their places.
pub(super) struct FairQueue<J> {
    /// The groups that have jobs. The one that has not started a job for longest is the first.
    groups: VecDeque<GroupJobs<J>>,
}

/// The jobs of one group.
struct GroupJobs<J> {
    group: Arc<str>,
    /// With their sizes, the oldest first.
    jobs: VecDeque<(u64, J)>,
    /// Whether the oldest job is next, in place of the smallest one.
    is_oldest_next: bool,
}

// === impl FairQueue ===

impl<J> FairQueue<J> {
    /// Adds a job.
    pub(super) fn push(&mut self, group: &Arc<str>, size: u64, job: J) {
        if let Some(of_group) = self.groups.iter_mut().find(|of_group| of_group.group == *group) {
            of_group.jobs.push_back((size, job));
        } else {
            let jobs = VecDeque::from([(size, job)]);
            self.groups.push_back(GroupJobs { group: Arc::clone(group), jobs, is_oldest_next: false });
        }
    }

    /// Takes the next job that may start, of a group that may.
    pub(super) fn take(&mut self, may: impl Fn(&str) -> bool, may_start: impl Fn(&J) -> bool) -> Option<J> {
        let has_one =
            |of_group: &GroupJobs<J>| may(&of_group.group) && of_group.jobs.iter().any(|(_, job)| may_start(job));
        let mut of_group = self.groups.remove(self.groups.iter().position(has_one)?)?;
        let job = of_group.take(may_start);
        if !of_group.jobs.is_empty() {
            self.groups.push_back(of_group);
        }
        job
    }

    /// The number of jobs of each group that has some.
    pub(super) fn lengths(&self) -> impl Iterator<Item = (&str, usize)> {
        self.groups.iter().map(|of_group| (&*of_group.group, of_group.jobs.len()))
    }
}

impl<J> Default for FairQueue<J> {
    fn default() -> Self {
        Self { groups: VecDeque::new() }
    }
}

// === impl GroupJobs ===

impl<J> GroupJobs<J> {
    fn take(&mut self, may_start: impl Fn(&J) -> bool) -> Option<J> {
        let mut candidates = self.jobs.iter().enumerate().filter(|(_, (_, job))| may_start(job));
        let next = if self.is_oldest_next {
            candidates.next()
        } else {
            // Of several smallest ones, this is the oldest.
            candidates.min_by_key(|(_, (size, _))| *size)
        };
        let at = next?.0;
        self.is_oldest_next = !self.is_oldest_next;
        self.jobs.remove(at).map(|(_, job)| job)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A job that waits, and what has happened since it came.
    #[derive(Debug, Clone)]
    struct Waiting {
        number: usize,
        group: usize,
        /// Jobs of its group that were there before it.
        older: usize,
        /// Starts of jobs of its group that came after it.
        overtaken: usize,
        /// Starts of its group.
        of_group: usize,
        /// Starts of each group since the last one of its own group.
        since: [usize; GROUPS],
    }

    const GROUPS: usize = 3;

    #[derive(Debug, Clone)]
    enum Step {
        Push { group: usize, size: u64 },
        Take,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![(0..GROUPS, 0..4_u64).prop_map(|(group, size)| Step::Push { group, size }), Just(Step::Take)]
    }

    /// Counts a start for those that still wait.
    fn count(waiting: &mut [Waiting], started: &Waiting) {
        for job in waiting {
            job.since[started.group] += 1;
            if job.group == started.group {
                job.since = [0; GROUPS];
                job.of_group += 1;
                job.overtaken += usize::from(started.number > job.number);
            }
        }
    }

    proptest! {
        #[test]
        fn a_job_is_overtaken_a_bounded_number_of_times(steps in prop::collection::vec(step(), 0..200)) {
            let (mut queue, mut waiting) = (FairQueue::default(), Vec::<Waiting>::new());
            let names: [Arc<str>; GROUPS] = ["a", "b", "c"].map(Arc::from);
            for (number, step) in steps.into_iter().chain(std::iter::repeat_n(Step::Take, 200)).enumerate() {
                match step {
                    Step::Push { group, size } => {
                        let older = waiting.iter().filter(|job| job.group == group).count();
                        let (overtaken, of_group, since) = (0, 0, [0; GROUPS]);
                        waiting.push(Waiting { number, group, older, overtaken, of_group, since });
                        queue.push(&names[group], size, number);
                    }
                    Step::Take => {
                        let taken = queue.take(|_| true, |_| true);
                        prop_assert_eq!(taken.is_some(), !waiting.is_empty());
                        let Some(number) = taken else { continue };
                        let at = waiting.iter().position(|job| job.number == number).unwrap();
                        let started = waiting.remove(at);
                        count(&mut waiting, &started);
                        for Waiting { older, overtaken, of_group, since, .. } in &waiting {
                            prop_assert!(*overtaken <= older + 1);
                            prop_assert!(*of_group < 2 * older + 2);
                            prop_assert!(since.iter().all(|starts| *starts <= 1));
                        }
                    }
                }
                prop_assert_eq!(queue.lengths().map(|(_, length)| length).sum::<usize>(), waiting.len());
            }
            prop_assert!(waiting.is_empty());
        }
    }

    #[test]
    fn a_group_that_may_not_start_a_job_keeps_its_turn() {
        let mut queue = FairQueue::default();
        for (group, job) in [("a", 1), ("b", 2), ("b", 3), ("b", 4), ("c", 5)] {
            queue.push(&Arc::from(group), 0, job);
        }
        assert_eq!(queue.take(|_| true, |job| *job != 1), Some(2));
        assert_eq!(queue.take(|group| group != "a", |_| true), Some(5));
        assert_eq!(queue.take(|_| true, |_| true), Some(1));
        assert_eq!(queue.take(|_| true, |job| *job == 1), None);
        assert_eq!(queue.lengths().collect::<Vec<_>>(), [("b", 2)]);
    }
}
