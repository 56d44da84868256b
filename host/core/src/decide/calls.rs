//! What is known of the calls of a policy since it was loaded.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use parking_lot::Mutex;

use crate::model::{Fault, Pod, PodId, Verb};

/// The calls of one version of a policy.
#[derive(Debug)]
pub struct Calls {
    since: SystemTime,
    asked: AtomicU64,
    last_fault: Mutex<Option<LastFault>>,
}

/// The last call of a policy that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastFault {
    /// When it failed.
    pub at: SystemTime,
    /// The verb that was asked.
    pub verb: Verb,
    /// The pod's namespace and name; empty if it has no name.
    pub pod: String,
    /// Its detail has the node and the place in the code, where they are known.
    pub fault: Fault,
}

// === impl Calls ===

impl Calls {
    pub(super) fn failed(&self, verb: Verb, pod: &Pod, fault: &Fault) {
        if !fault.kind.is_of_earlier_cause() {
            let pod = PodId::of(pod).map(|pod| pod.to_string()).unwrap_or_default();
            *self.last_fault.lock() = Some(LastFault { at: SystemTime::now(), verb, pod, fault: fault.clone() });
        }
    }

    /// The last fault, if there was one.
    pub fn last_fault(&self) -> Option<LastFault> {
        self.last_fault.lock().clone()
    }

    pub(super) fn asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of calls, those that the decision cache answered among them.
    pub fn count(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// When the version was loaded.
    pub fn since(&self) -> SystemTime {
        self.since
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self { since: SystemTime::now(), asked: AtomicU64::default(), last_fault: Mutex::default() }
    }
}
