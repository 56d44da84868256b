//! How often a pod may cause a wake.

use std::time::{Duration, Instant};

/// The wakes that a pod may cause without another change, while it would keep a node and gets none.
const MAX_WAKES: u32 = 6;

/// The longest pause after a wake; the pauses double from 1 s.
const MAX_PAUSE: Duration = Duration::from_secs(64);

/// The time without a wake after which the pauses begin with 1 s again.
const RECOVERY: Duration = Duration::from_mins(10);

/// The wakes that one pod has had, for itself or for others: each makes kube-scheduler try all pods again.
///
/// After [`MAX_WAKES`] in vain only a change counts that makes the pod fit after it did not.
#[derive(Debug, Default)]
pub(super) struct WakeBudget {
    wakes: u32,
    last: Option<Instant>,
    /// Whether it has come to fit since the last wake.
    is_news: bool,
    /// The number of pods that wakes had freed at the last one.
    freed: u64,
}

// === impl WakeBudget ===

impl WakeBudget {
    /// The pod was decided again.
    pub(super) fn decided(&mut self, was_free: bool, is_free: bool) {
        self.is_news = is_free && (self.is_news || !was_free);
    }

    /// kube-scheduler has asked about the pod. If other pods have taken the places, its wakes were not in vain.
    pub(super) fn asked(&mut self, is_free: bool, freed: u64) {
        if !is_free && freed != self.freed {
            *self = Self::default();
        }
    }

    pub(super) fn allows_wake(&self, now: Instant) -> bool {
        let since_last = self.last.map_or(Duration::MAX, |last| now.saturating_duration_since(last));
        let pause = Duration::from_secs(1 << self.wakes.saturating_sub(1).min(MAX_WAKES)).min(MAX_PAUSE);
        since_last >= pause && (self.is_news || self.wakes < MAX_WAKES)
    }

    /// All pods are woken; wakes have freed this many so far.
    pub(super) fn charge(&mut self, freed: u64, now: Instant) {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) >= RECOVERY) {
            self.wakes = 0;
        }
        *self = Self { wakes: self.wakes.saturating_add(1), last: Some(now), is_news: false, freed };
    }

    pub(super) fn has_woken(&self) -> bool {
        self.wakes > 0
    }
}
