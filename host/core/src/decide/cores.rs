//! Several threads for one request, if it is worth them.
//!
//! Threads live as long as the request needs them and share the cores as the system sees fit: a slow policy
//! has no queue in which another group's could wait behind it.

use std::{num::NonZero, panic::resume_unwind, sync::OnceLock, thread, time::Duration};

use crate::Blocking;

/// Work that takes less is not worth a thread, which costs about a tenth of this to start.
const WORTHWHILE: Duration = Duration::from_micros(500);

/// Maximum threads of one request.
const MAX_THREADS: usize = 8;

/// The number of threads worth using for work that takes `took` on one core.
pub(super) fn threads_for(took: Duration) -> usize {
    usize::try_from(took.as_nanos() / WORTHWHILE.as_nanos()).unwrap_or(usize::MAX).clamp(1, threads())
}

/// The number of pieces to cut a list of this length into, if all of it takes `took` on one core.
pub(super) fn pieces(took: Duration, length: usize) -> usize {
    let pieces = threads_for(took);
    if length < 2 * pieces { 1 } else { pieces }
}

/// How many threads one request may use.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS))
}

/// Runs all jobs, the long ones on threads of their own, and returns the results in order.
pub(super) fn run_all<J: Sync, R: Send>(
    blocking: Blocking,
    jobs: &[J],
    is_long: impl Fn(&J) -> bool,
    work: impl Fn(&J) -> R + Sync,
) -> Vec<R> {
    let worth: Vec<bool> = jobs.iter().map(is_long).collect();
    // This thread runs one long job itself.
    let Some(run_here) = worth.iter().rposition(|worth| *worth) else { return jobs.iter().map(work).collect() };
    let mut room = threads() - 1;
    blocking.run(|| {
        thread::scope(|scope| {
            let begun: Vec<_> = jobs
                .iter()
                .enumerate()
                .map(|(at, job)| {
                    let apart = worth[at] && at != run_here && room > 0;
                    room -= usize::from(apart);
                    // If the system has no thread to give, the work is done here.
                    if apart { named().spawn_scoped(scope, || work(job)).ok() } else { None }
                })
                .collect();
            let mut here: Vec<Option<R>> =
                jobs.iter().zip(&begun).map(|(job, begun)| begun.is_none().then(|| work(job))).collect();
            let joined = begun.into_iter().zip(&mut here).map(|(begun, here)| match begun {
                Some(thread) => Some(thread.join().unwrap_or_else(|panic| resume_unwind(panic))),
                None => here.take(),
            });
            joined.flatten().collect()
        })
    })
}

fn named() -> thread::Builder {
    thread::Builder::new().name("guest-calls".to_owned())
}

/// Cuts a list into pieces, works on them in parallel, and concatenates the results.
///
/// # Errors
/// The first in the order of the pieces.
pub(super) fn split<T: Sync, R: Send, E: Send>(
    blocking: Blocking,
    list: &[T],
    pieces: usize,
    work: impl Fn(&[T]) -> Result<Vec<R>, E> + Sync,
) -> Result<Vec<R>, E> {
    if pieces <= 1 || list.is_empty() {
        return work(list);
    }
    let pieces: Vec<&[T]> = list.chunks(list.len().div_ceil(pieces)).collect();
    let mut all = Vec::with_capacity(list.len());
    for result in run_all(blocking, &pieces, |_| true, |piece| work(piece)) {
        all.extend(result?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs_wherever_they_were_done() {
        let jobs: Vec<u32> = (0..40).collect();
        for share in 1..4 {
            let done = run_all(Blocking::default(), &jobs, |job| job % share == 0, |job| job * 2);
            assert_eq!(done, jobs.iter().map(|job| job * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_list_that_is_cut_comes_to_the_same() {
        for (length, pieces) in [(0, 4), (1, 4), (7, 4), (100, 1), (100, 3), (100, 8)] {
            let list: Vec<u32> = (0..length).collect();
            let doubled = split(Blocking::default(), &list, pieces, |piece| {
                Ok::<_, ()>(piece.iter().map(|one| one * 2).collect())
            });
            assert_eq!(doubled.unwrap(), list.iter().map(|one| one * 2).collect::<Vec<_>>());
            let fails_at = |at: u32| {
                split(Blocking::default(), &list, pieces, |piece| {
                    if piece.contains(&at) { Err(at) } else { Ok(piece.to_vec()) }
                })
            };
            assert_eq!(fails_at(length / 2).is_err(), length > 0);
        }
    }

    #[test]
    fn only_what_takes_long_is_cut() {
        assert_eq!((threads_for(Duration::ZERO), threads_for(WORTHWHILE)), (1, 1));
        assert_eq!((threads_for(WORTHWHILE * 100), threads_for(Duration::MAX)), (threads(), threads()));
        assert_eq!((pieces(Duration::MAX, 2 * threads()), pieces(Duration::MAX, 1)), (threads(), 1));
    }
}
