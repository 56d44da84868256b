//! Counts of correct answers, expected refusals and failures, by kind of request.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;

/// Failures that are kept with their text.
const KEPT: usize = 50;

#[derive(Default)]
pub(crate) struct Tally(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    kinds: BTreeMap<&'static str, Kind>,
    failures: Vec<String>,
    failed: u64,
    /// Response times since the last report, in microseconds, of the kinds that are timed.
    window: Vec<u32>,
}

/// One kind of request.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Kind {
    /// Correct answers, or for hostile input: whatever harmless came back.
    pub(crate) ok: u64,
    /// Refusals that were to be expected, by why.
    pub(crate) declined: BTreeMap<&'static str, u64>,
    /// Answers that should not have been.
    pub(crate) failed: u64,
    /// Answers by the logarithm of their time.
    #[serde(skip)]
    times: Vec<u64>,
}

/// Since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Window {
    pub(crate) answers: u64,
    pub(crate) p50_us: u32,
    pub(crate) p99_us: u32,
    /// Failures since the start.
    pub(crate) failed: u64,
    /// Refusals since the start.
    pub(crate) declined: u64,
}

// === impl Tally ===

impl Tally {
    /// Counts a correct answer, with its time if it is one whose time matters.
    pub(crate) fn ok(&self, kind: &'static str, took: Option<Duration>) {
        let mut inner = self.lock();
        let entry = inner.kinds.entry(kind).or_default();
        entry.ok += 1;
        if let Some(took) = took {
            let us = took.as_micros().min(u128::from(u32::MAX)) as u32;
            entry.note(us);
            inner.window.push(us);
        }
    }

    /// Counts a refusal that was to be expected.
    pub(crate) fn declined(&self, kind: &'static str, why: &'static str) {
        *self.lock().kinds.entry(kind).or_default().declined.entry(why).or_default() += 1;
    }

    /// Counts something that should not have happened.
    pub(crate) fn failure(&self, kind: &'static str, text: impl Into<String>) {
        let mut inner = self.lock();
        inner.kinds.entry(kind).or_default().failed += 1;
        inner.failed += 1;
        if inner.failures.len() < KEPT {
            let mut text: String = text.into();
            text.truncate(text.floor_char_boundary(600));
            eprintln!("soak: {kind}: {text}");
            inner.failures.push(format!("{kind}: {text}"));
        }
    }

    pub(crate) fn window(&self) -> Window {
        let mut inner = self.lock();
        let mut times = std::mem::take(&mut inner.window);
        times.sort_unstable();
        Window {
            answers: times.len() as u64,
            p50_us: quantile(&times, 0.5),
            p99_us: quantile(&times, 0.99),
            failed: inner.failed,
            declined: inner.kinds.values().flat_map(|kind| kind.declined.values()).sum(),
        }
    }

    pub(crate) fn kinds(&self) -> BTreeMap<&'static str, Kind> {
        self.lock().kinds.clone()
    }

    pub(crate) fn failures(&self) -> (u64, Vec<String>) {
        let inner = self.lock();
        (inner.failed, inner.failures.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Kind ===

impl Kind {
    /// Buckets of times grow by 2 % from one to the next.
    const STEP: f64 = 1.02;

    /// The time below which a share of the answers came, right to 2 %.
    pub(crate) fn quantile_us(&self, share: f64) -> Option<u32> {
        let wanted = self.times.iter().sum::<u64>() as f64 * share;
        let mut seen = 0;
        let bucket = self.times.iter().position(|count| {
            seen += count;
            *count > 0 && seen as f64 >= wanted
        })?;
        Some(Self::STEP.powi(bucket as i32) as u32)
    }

    fn note(&mut self, us: u32) {
        let bucket = f64::from(us.max(1)).log(Self::STEP) as usize;
        if self.times.len() <= bucket {
            self.times.resize(bucket + 1, 0);
        }
        self.times[bucket] += 1;
    }
}

/// Of times in order; 0 if there are none.
fn quantile(times: &[u32], share: f64) -> u32 {
    let at = (times.len() as f64 * share) as usize;
    times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or(0)
}
