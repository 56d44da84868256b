//! How long a policy takes.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::Verb;

/// How long the last call of each verb took, on one core.
#[derive(Debug, Default)]
pub(crate) struct LastCallTimes([AtomicU64; Verb::ALL.len()]);

impl LastCallTimes {
    pub(crate) fn last(&self, verb: Verb) -> Duration {
        Duration::from_nanos(self.0[verb as usize].load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, verb: Verb, took: Duration) {
        self.0[verb as usize].store(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
