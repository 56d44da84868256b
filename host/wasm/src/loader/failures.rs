//! A negative cache of modules that did not load. It bounds the cost of further attempts all together. The directory of
//! a policy decides when it is tried again; its pauses double.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::LoadError;

/// All further attempts together take at most one part in this many of the time.
const REST: f64 = 20.0;

/// A module that was not requested for this long (or two pauses, if longer) is forgotten. The directory retries every 5
/// minutes, but may have to try many others before.
const FORGOTTEN: Duration = Duration::from_mins(15);

/// Maximum entries; a directory has at most 2,000 files.
const MAX_MODULES: usize = 2_000;

/// The modules that did not load, by digest.
#[derive(Default)]
pub(super) struct FailedModules(Mutex<HashMap<[u8; 32], FailedModule>>);

struct FailedModule {
    error: LoadError,
    /// The time that the last attempt took.
    took: Duration,
    failed: Instant,
    asked: Instant,
}

// === impl FailedModules ===

impl FailedModules {
    /// The recorded error, if the module must not be tried again now.
    pub(super) fn of(&self, module: &[u8; 32], now: Instant) -> Option<LoadError> {
        let mut failures = self.0.lock();
        let sum_of_roots = failures.values().map(FailedModule::root_cost).sum();
        failures.retain(|_, failure| {
            let remembered = FORGOTTEN.max(failure.fair_pause(sum_of_roots).saturating_mul(2));
            now.saturating_duration_since(failure.asked) < remembered
        });
        let failure = failures.get_mut(module)?;
        failure.asked = now;
        failure.rests(sum_of_roots, now).then(|| failure.error.clone())
    }

    /// Records a failed attempt and its duration.
    pub(super) fn add(&self, module: &[u8; 32], error: &LoadError, took: Duration, now: Instant) {
        let mut failures = self.0.lock();
        if failures.len() >= MAX_MODULES && !failures.contains_key(module) {
            return;
        }
        failures.insert(*module, FailedModule { error: error.clone(), took, failed: now, asked: now });
    }

    /// Removes the entry of a module that has loaded.
    pub(super) fn remove(&self, module: &[u8; 32]) {
        self.0.lock().remove(module);
    }
}

// === impl FailedModule ===

impl FailedModule {
    /// The root of the seconds that the next attempt takes; zero if the error is permanent, since it is not retried.
    fn root_cost(&self) -> f64 {
        if self.error.is_transient() { self.took.as_secs_f64().sqrt() } else { 0.0 }
    }

    /// The pause that bounds the total time of further attempts, without making cheap ones wait for dear ones: pauses
    /// in proportion to the roots of the costs (the square-root rule of scheduling).
    ///
    /// A module of cost `c` takes `c / (REST * sqrt(c) * sum)` of the time, so that all of them take `1 / REST`.
    fn fair_pause(&self, sum_of_roots: f64) -> Duration {
        let seconds = REST * self.root_cost() * sum_of_roots;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    fn rests(&self, sum_of_roots: f64, now: Instant) -> bool {
        // A permanent error stays: neither the module nor the compiler settings change while this process runs.
        let has_rested = now.saturating_duration_since(self.failed) >= self.fair_pause(sum_of_roots);
        !self.error.is_transient() || !has_rested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: [u8; 32] = [1; 32];

    fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_refusal_stands_and_a_transient_failure_rests_for_twenty_times_its_cost() {
        let (failures, start) = (FailedModules::default(), Instant::now());
        assert_eq!(failures.of(&MODULE, start), None);
        failures.add(&[2; 32], &LoadError::permanent("no verb"), secs(9), start);
        assert!((0..10).all(|step| failures.of(&[2; 32], start + 500 * secs(step)).is_some()));
        let error = LoadError::transient("killed");
        for took in [1, 3, 60] {
            failures.add(&MODULE, &error, secs(took), start);
            assert_eq!(failures.of(&MODULE, start + secs(20 * took - 1)), Some(error.clone()));
            assert_eq!(failures.of(&MODULE, start + secs(20 * took + 1)), None, "after {took} s");
        }
        failures.add(&MODULE, &error, Duration::ZERO, start);
        assert_eq!(failures.of(&MODULE, start), None, "when to try again is the directory's decision");
    }

    /// A day with modules that take a minute each and never load: each is tried, and all together take a twentieth.
    #[test]
    fn modules_that_take_long_and_never_load_take_a_twentieth_of_the_time_together() {
        let (failures, start, took) = (FailedModules::default(), Instant::now(), secs(60));
        let error = LoadError::transient("stopped after 60 s");
        for count in [1, 5, 20_u8] {
            let (mut tries, mut now) = (vec![0_u32; count.into()], start);
            // One compile after another is more than is ever done with modules that fail.
            while now < start + Duration::from_hours(24) {
                now += secs(10);
                for number in 0..count {
                    if failures.of(&[number; 32], now).is_none() {
                        now += took;
                        failures.add(&[number; 32], &error, took, now);
                        tries[usize::from(number)] += 1;
                    }
                }
            }
            let spent = took * (tries.iter().sum::<u32>() - u32::from(count));
            assert!(spent <= Duration::from_hours(24).div_f64(REST), "{count}: {spent:?}");
            assert!(tries.iter().all(|tries| *tries >= 2), "{count}: {tries:?}");
            (0..count).for_each(|number| failures.remove(&[number; 32]));
        }
    }

    /// A module that takes a minute each time must not hold one whose process failed for a moment.
    #[test]
    fn a_cheap_attempt_waits_seconds_beside_a_dear_one_that_waits_minutes() {
        let (failures, start) = (FailedModules::default(), Instant::now());
        let error = LoadError::transient("killed");
        failures.add(&[2; 32], &error, secs(64), start);
        failures.add(&MODULE, &error, Duration::from_millis(10), start);
        // 20 * 0.1 * (8 + 0.1), and 20 * 8 * (8 + 0.1).
        assert!(failures.of(&MODULE, start + secs(16)).is_some());
        assert_eq!(failures.of(&MODULE, start + secs(17)), None);
        assert!(failures.of(&[2; 32], start + secs(1_295)).is_some());
        assert_eq!(failures.of(&[2; 32], start + secs(1_297)), None);
    }

    #[test]
    fn a_module_that_is_gone_lengthens_the_pauses_of_others_until_it_is_forgotten() {
        let (failures, start) = (FailedModules::default(), Instant::now());
        let error = LoadError::transient("killed");
        failures.add(&[2; 32], &error, secs(64), start);
        failures.add(&MODULE, &error, secs(1), start);
        assert!(failures.of(&MODULE, start + secs(179)).is_some());
        assert_eq!(failures.of(&MODULE, start + secs(181)), None);
        // Asked now and then, so that it is remembered itself.
        let forgotten = start + secs(2 * 20 * 8 * 9 + 1);
        failures.of(&MODULE, start + secs(800));
        failures.of(&MODULE, start + secs(1_600));
        failures.of(&MODULE, forgotten);
        failures.add(&MODULE, &error, secs(1), forgotten);
        assert!(failures.of(&MODULE, forgotten + secs(19)).is_some());
        assert_eq!(failures.of(&MODULE, forgotten + secs(21)), None);
    }
}
