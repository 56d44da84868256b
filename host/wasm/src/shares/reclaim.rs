//! Memory that can be given back when it is short.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Holds memory that it does not need.
pub(crate) trait Reclaim: Send + Sync {
    /// Frees that memory; returns whether there was any.
    fn reclaim(&self) -> bool;
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
        let all: Vec<Arc<dyn Reclaim>> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        // `count` visits each; `any` would stop at the first.
        all.iter().filter(|reclaimer| reclaimer.reclaim()).count() > 0
    }
}
