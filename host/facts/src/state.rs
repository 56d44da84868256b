//! The state of one source: values that were read, their age, and what went wrong since.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::FactSource;

use crate::parse::ParsedFacts;

/// The first pause after a failure; it doubles from failure to failure, up to the interval of the source.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The state of a source.
#[derive(Debug, Clone)]
pub(crate) struct SourceState {
    max_age: Duration,
    /// When a source with this name was declared first.
    pub(crate) declared_at: Instant,
    /// None: nothing was read yet, or it was too long ago.
    pub(crate) values: Option<Arc<FactSource>>,
    /// When the last good fetch began: its values are not newer than that.
    pub(crate) read_at: Option<Instant>,
    /// Samples of the last good answer that made no fact.
    pub(crate) left_out: u64,
    pub(crate) good: u64,
    pub(crate) failed: u64,
    /// Failures since the last good fetch.
    failures_in_a_row: u32,
    /// The error of the last fetch, if it failed.
    pub(crate) error: Option<String>,
    /// Whether values have expired since the last good fetch.
    has_expired: bool,
}

/// The effect of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FetchEffect {
    /// Whether the values in force changed.
    pub(crate) values_changed: bool,
    /// Whether the previous fetch had the other outcome, or values have expired since it.
    pub(crate) health_changed: bool,
}

// === impl SourceState ===

impl SourceState {
    pub(crate) fn new(max_age: Duration) -> Self {
        Self {
            max_age,
            declared_at: Instant::now(),
            values: None,
            read_at: None,
            left_out: 0,
            good: 0,
            failed: 0,
            failures_in_a_row: 0,
            error: None,
            has_expired: false,
        }
    }

    /// The state under another declaration of the same source, which is fetched at once.
    pub(crate) fn declared_again(&self, max_age: Duration) -> Self {
        Self { max_age, failures_in_a_row: 0, ..self.clone() }
    }

    /// A fetch that began then has brought these values.
    pub(crate) fn succeeded(&mut self, began: Instant, parsed: ParsedFacts) -> FetchEffect {
        let values_changed = self.values.as_deref() != Some(&parsed.facts);
        if values_changed {
            self.values = Some(Arc::new(parsed.facts));
        }
        self.read_at = Some(began);
        self.left_out = parsed.left_out;
        self.good += 1;
        self.failures_in_a_row = 0;
        // Both are reset: an absence mostly has failures too, and is one recovery.
        let (had_failed, had_expired) = (self.error.take().is_some(), std::mem::take(&mut self.has_expired));
        FetchEffect { values_changed, health_changed: had_failed || had_expired }
    }

    /// A fetch has failed: the values before it stay until they are too old.
    pub(crate) fn failed(&mut self, error: String) -> FetchEffect {
        self.failed += 1;
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        FetchEffect { values_changed: false, health_changed: self.error.replace(error).is_none() }
    }

    /// When the values in force are too old.
    pub(crate) fn expiry(&self) -> Option<Instant> {
        self.values.as_ref().and(self.read_at).map(|read_at| read_at + self.max_age)
    }

    /// Drops values that are too old now; whether there were any.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let is_over = self.expiry().is_some_and(|expiry| now >= expiry);
        if is_over {
            self.values = None;
            self.has_expired = true;
        }
        is_over
    }

    /// The pause from the start of the last fetch to that of the next.
    pub(crate) fn pause(&self, every: Duration) -> Duration {
        match self.failures_in_a_row {
            0 => every,
            failures => every.min(FIRST_RETRY.saturating_mul(1 << (failures - 1).min(16))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_AGE: Duration = Duration::from_mins(1);

    fn parsed_facts(value: &str) -> ParsedFacts {
        ParsedFacts { facts: FactSource::from_texts([("k", value)]).unwrap(), left_out: 3 }
    }

    #[test]
    fn the_same_values_are_no_change_and_stay_the_same_source() {
        let (mut state, now) = (SourceState::new(MAX_AGE), Instant::now());
        assert_eq!(
            state.succeeded(now, parsed_facts("1")),
            FetchEffect { values_changed: true, health_changed: false }
        );
        let first = state.values.clone().unwrap();
        assert_eq!(
            state.succeeded(now, parsed_facts("1")),
            FetchEffect { values_changed: false, health_changed: false }
        );
        assert!(Arc::ptr_eq(&first, state.values.as_ref().unwrap()));
        assert_eq!(
            state.succeeded(now, parsed_facts("2")),
            FetchEffect { values_changed: true, health_changed: false }
        );
        assert_eq!((state.good, state.failed, state.left_out), (3, 0, 3));
    }

    #[test]
    fn values_outlive_failures_until_they_are_too_old() {
        let (mut state, now) = (SourceState::new(MAX_AGE), Instant::now());
        state.succeeded(now, parsed_facts("1"));
        assert_eq!(state.failed("away".to_owned()), FetchEffect { values_changed: false, health_changed: true });
        assert_eq!(state.failed("away".to_owned()), FetchEffect { values_changed: false, health_changed: false });
        assert_eq!(state.expiry(), Some(now + MAX_AGE));
        assert!(!state.expire(now + Duration::from_millis(59_999)) && state.values.is_some());
        assert!(state.expire(now + MAX_AGE) && state.values.is_none());
        assert!(!state.expire(now + 2 * MAX_AGE), "it is over once");
        let later = now + 3 * MAX_AGE;
        assert_eq!(
            state.succeeded(later, parsed_facts("1")),
            FetchEffect { values_changed: true, health_changed: true }
        );
        assert_eq!((state.expiry(), state.error.as_deref()), (Some(later + MAX_AGE), None));
    }

    #[test]
    fn values_that_come_back_after_they_have_expired_are_a_recovery_even_without_a_failure() {
        let (mut state, now) = (SourceState::new(MAX_AGE), Instant::now());
        state.succeeded(now, parsed_facts("1"));
        assert!(state.expire(now + MAX_AGE));
        assert!(state.succeeded(now + MAX_AGE, parsed_facts("1")).health_changed);
        assert!(!state.succeeded(now + MAX_AGE, parsed_facts("1")).health_changed);
    }

    #[test]
    fn an_absence_after_failures_is_one_recovery() {
        let (mut state, now) = (SourceState::new(MAX_AGE), Instant::now());
        state.succeeded(now, parsed_facts("1"));
        state.failed("away".to_owned());
        assert!(state.expire(now + MAX_AGE));
        let recoveries = (0..3).filter(|_| state.succeeded(now + MAX_AGE, parsed_facts("1")).health_changed).count();
        assert_eq!(recoveries, 1);
    }

    #[test]
    fn retries_slow_down_to_the_interval_of_the_source() {
        let (mut state, every) = (SourceState::new(MAX_AGE), Duration::from_secs(5));
        assert_eq!(state.pause(every), every);
        let mut pauses = Vec::new();
        for _ in 0..40 {
            state.failed(String::new());
            pauses.push(state.pause(every).as_secs());
        }
        assert_eq!((&pauses[..4], pauses[39]), (&[1, 2, 4, 5][..], 5));
        state.succeeded(Instant::now(), parsed_facts("1"));
        assert_eq!(state.pause(every), every);
    }
}
