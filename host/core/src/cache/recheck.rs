//! When a cached answer is evaluated again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// A recheck is followed by a rest of 500 times its length: creating and dropping its instance takes several times as
/// long as the time that is measured here.
const REST: u32 = 500;

/// Stands for a time that has not come: a recheck is under way.
const CLAIMED: u64 = u64::MAX;

/// Counts cached answers; one in `every` is evaluated again.
#[derive(Debug)]
pub(crate) struct Recheck {
    every: u64,
    cached: AtomicU64,
    born: Instant,
    /// Nanoseconds after `born` until which nothing is rechecked.
    rests_until: AtomicU64,
}

/// A reservoir sample of size one: each due answer of a request is as likely to be rechecked.
pub(crate) struct RecheckSampler {
    recheck: Arc<Recheck>,
    drawn: Mutex<SampledRecheck>,
}

#[derive(Default)]
struct SampledRecheck {
    due: u64,
    work: Option<Work>,
}

type Work = Box<dyn FnOnce() + Send>;

/// Held by the one recheck that is under way.
struct RecheckSlot(Option<Arc<Recheck>>);

// === impl Recheck ===

impl Recheck {
    /// Rechecks one in `every` answers; 0: none.
    pub(crate) fn new(every: u64, now: Instant) -> Self {
        Self { every, cached: AtomicU64::new(0), born: now, rests_until: AtomicU64::new(0) }
    }

    /// Counts answers; if one of them is due, returns a number to pick it by.
    fn due(&self, cached: usize, now: Instant) -> Option<u64> {
        if self.every == 0 || cached == 0 {
            return None;
        }
        let before = self.cached.fetch_add(cached as u64, Ordering::Relaxed);
        let is_due = before / self.every != (before + cached as u64) / self.every;
        // Another one each time, wherever the count stands.
        (is_due && self.has_rested(now)).then(|| before.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32)
    }

    fn claim(self: &Arc<Self>, now: Instant) -> Option<RecheckSlot> {
        let until = self.rests_until.load(Ordering::Relaxed);
        // Compared, so that a rest that began meanwhile is not cut short.
        let is_mine = self.nanos(now) >= until
            && self.rests_until.compare_exchange(until, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_mine.then(|| RecheckSlot(Some(Arc::clone(self))))
    }

    fn has_rested(&self, now: Instant) -> bool {
        self.nanos(now) >= self.rests_until.load(Ordering::Relaxed)
    }

    fn nanos(&self, moment: Instant) -> u64 {
        let nanos = moment.saturating_duration_since(self.born).as_nanos();
        u64::try_from(nanos).unwrap_or(CLAIMED).min(CLAIMED - 1)
    }
}

// === impl RecheckSampler ===

impl RecheckSampler {
    pub(crate) fn of(recheck: &Arc<Recheck>) -> Self {
        Self { recheck: Arc::clone(recheck), drawn: Mutex::default() }
    }

    /// Counts cached answers; if one is due, `pick` returns the work that rechecks one of them, chosen by a number.
    pub(crate) fn count<W>(&self, cached: usize, now: Instant, pick: impl FnOnce(u64) -> Option<W>)
    where
        W: FnOnce() + Send + 'static,
    {
        let Some(number) = self.recheck.due(cached, now) else { return };
        let mut drawn = self.drawn.lock();
        drawn.due += 1;
        if number.is_multiple_of(drawn.due)
            && let Some(work) = pick(number / drawn.due)
        {
            drawn.work = Some(Box::new(work));
        }
    }

    /// The sampled recheck, unless another request's is under way.
    pub(crate) fn take(&self, now: impl Fn() -> Instant + Send + 'static) -> Option<Work> {
        let work = self.drawn.lock().work.take()?;
        let claim = self.recheck.claim(now())?;
        Some(Box::new(move || {
            let started = now();
            work();
            let ended = now();
            claim.rest(ended, ended.saturating_duration_since(started));
        }))
    }
}

// === impl RecheckSlot ===

impl RecheckSlot {
    /// Starts the rest after a recheck that took this long.
    fn rest(mut self, now: Instant, took: Duration) {
        if let Some(recheck) = self.0.take() {
            recheck.rests_until.store(recheck.nanos(now + took * REST), Ordering::Relaxed);
        }
    }
}

impl Drop for RecheckSlot {
    /// A recheck that was dropped must not block the next.
    fn drop(&mut self) {
        if let Some(recheck) = &self.0 {
            recheck.rests_until.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::mpsc};

    use super::*;

    #[test]
    fn one_in_so_many_is_due_unless_the_last_has_just_been() {
        let now = Instant::now();
        let recheck = Arc::new(Recheck::new(1_000, now));
        assert_eq!(recheck.due(999, now), None);
        assert!(recheck.due(1, now).is_some());
        assert_eq!(recheck.due(0, now), None);
        recheck.claim(now).unwrap().rest(now, Duration::from_millis(1));
        assert_eq!(recheck.due(5_000, now + Duration::from_millis(499)), None);
        assert!(recheck.due(5_000, now + Duration::from_millis(500)).is_some());
        assert_eq!(Recheck::new(0, now).due(5_000, now), None);
    }

    #[test]
    fn nothing_else_is_asked_again_while_something_is() {
        let now = Instant::now();
        let recheck = Arc::new(Recheck::new(1, now));
        let drawn = || {
            let draw = RecheckSampler::of(&recheck);
            draw.count(5, now, |_| Some(|| ()));
            draw.take(move || now)
        };
        let first = drawn().unwrap();
        assert!(drawn().is_none());
        drop(first);
        drawn().expect("what was left undone is not waited for")();
        assert!(drawn().is_some());
    }

    #[test]
    fn each_policy_of_a_request_is_drawn_about_as_often() {
        let now = Instant::now();
        let recheck = Arc::new(Recheck::new(1_000, now));
        let (sender, drawn) = mpsc::channel();
        for _ in 0..4_000 {
            let draw = RecheckSampler::of(&recheck);
            for policy in 0..8 {
                let sender = sender.clone();
                draw.count(5_000, now, move |_| Some(move || sender.send(policy).unwrap()));
            }
            draw.take(move || now).unwrap()();
        }
        let mut times: BTreeMap<usize, u32> = BTreeMap::new();
        for policy in drawn.try_iter() {
            *times.entry(policy).or_insert(0) += 1;
        }
        assert!(times.len() == 8 && times.values().all(|times| (350..650).contains(times)), "{times:?}");
    }
}
