//! What is known of the calls of a policy since it was loaded.

use std::time::SystemTime;

use parking_lot::Mutex;

use crate::model::{Fault, Pod, PodId, Verb};

/// The calls of one version of a policy.
#[derive(Debug, Default)]
pub struct Calls(Mutex<Option<LastFault>>);

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
            *self.0.lock() = Some(LastFault { at: SystemTime::now(), verb, pod, fault: fault.clone() });
        }
    }

    /// The last fault, if there was one.
    pub fn last_fault(&self) -> Option<LastFault> {
        self.0.lock().clone()
    }
}
