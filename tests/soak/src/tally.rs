//! Counts of correct answers, expected refusals and failures, by kind of work.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Failures that are printed.
const PRINTED: u64 = 50;

/// The end of a piece of work that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// A refusal that was to be expected, and why.
    Declined(&'static str),
}

#[derive(Default)]
pub(crate) struct Tally(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// By kind of work and outcome.
    outcomes: BTreeMap<(&'static str, &'static str), u64>,
    failures: u64,
}

// === impl Tally ===

impl Tally {
    pub(crate) fn note(&self, kind: &'static str, outcome: Outcome) {
        let text = if let Outcome::Declined(why) = outcome { why } else { "ok" };
        *self.lock().outcomes.entry((kind, text)).or_default() += 1;
    }

    /// Counts something that should not have happened, and prints it.
    pub(crate) fn failure(&self, kind: &'static str, text: &str) {
        let mut counts = self.lock();
        counts.failures += 1;
        if counts.failures <= PRINTED {
            println!("{kind}: {}", &text[..text.floor_char_boundary(600)]);
        }
    }

    pub(crate) fn failures(&self) -> u64 {
        self.lock().failures
    }

    pub(crate) fn print(&self) {
        for ((kind, outcome), count) in &self.lock().outcomes {
            println!("{kind:<30} {outcome:<30} {count:>9}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
