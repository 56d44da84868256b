//! Memory that can be given back when it is short.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Holds memory that it does not need.
pub(crate) trait Reclaim: Send + Sync {
    /// Frees that memory; returns whether there was any.
    fn reclaim(&self) -> bool;

    /// Frees the part of it that gains less than a pre-initialised module; returns whether there was any.
    fn make_way(&self) -> bool;

    /// Frees the part of it that has no owner.
    fn tidy(&self);
}

/// All who can give memory back; they unregister by being dropped.
#[derive(Default)]
pub(crate) struct Reclaimers(Mutex<Vec<Weak<dyn Reclaim>>>);

// === impl Reclaimers ===

impl Reclaimers {
    /// Registers one.
    pub(crate) fn add<R: Reclaim + 'static>(&self, reclaimer: &Arc<R>) {
        let reclaimer: Weak<R> = Arc::downgrade(reclaimer);
        let mut all = self.0.lock();
        all.retain(|other| other.strong_count() > 0);
        all.push(reclaimer);
    }

    /// Asks all; returns whether any had memory to free.
    pub(crate) fn reclaim(&self) -> bool {
        self.ask_all(|reclaimer| reclaimer.reclaim())
    }

    /// Asks all to make way for a pre-initialised module; returns whether any had memory to free.
    pub(crate) fn make_way(&self) -> bool {
        self.ask_all(|reclaimer| reclaimer.make_way())
    }

    /// Asks all to free what has no owner.
    pub(crate) fn tidy(&self) {
        for reclaimer in self.all() {
            reclaimer.tidy();
        }
    }

    fn ask_all(&self, free: impl Fn(&dyn Reclaim) -> bool) -> bool {
        let all = self.all();
        // `count` visits each; `any` would stop at the first.
        all.iter().filter(|reclaimer| free(reclaimer.as_ref())).count() > 0
    }

    fn all(&self) -> Vec<Arc<dyn Reclaim>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
