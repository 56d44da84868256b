//! The times of one kind of call.

use std::time::{Duration, Instant};

/// The duration of a measurement, and the most calls that it makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) time: Duration,
    pub(crate) calls: usize,
}

/// The times of many calls.
#[derive(Debug, Default)]
pub(crate) struct Sample(Vec<Duration>);

// === impl Effort ===

impl Effort {
    /// Goes round until the time or the calls are used up; the first rounds, a twentieth, only warm up.
    pub(crate) fn rounds<E>(self, mut round: impl FnMut(bool) -> Result<(), E>) -> Result<(), E> {
        let started = Instant::now();
        for _ in 0..self.calls.div_ceil(20) {
            round(false)?;
            if started.elapsed() > self.time {
                break;
            }
        }
        let started = Instant::now();
        for _ in 0..self.calls {
            round(true)?;
            if started.elapsed() > self.time {
                break;
            }
        }
        Ok(())
    }
}

// === impl Sample ===

impl Sample {
    /// Times one call, and keeps the time if it counts.
    pub(crate) fn time<T>(&mut self, counts: bool, call: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = call();
        if counts {
            self.0.push(started.elapsed());
        }
        result
    }

    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time, in microseconds, that this share of the calls stays within.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let at = (share * last as f64).ceil() as usize;
        sorted.get(at.min(last)).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }
}
