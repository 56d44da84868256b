//! A call that a policy failed.

use std::sync::Arc;

use crate::{Fault, Verb, View};

/// A call that a policy failed, kept so that another version of the policy can be tried with it.
#[derive(Debug)]
pub struct FailedCall {
    verb: Verb,
    view: Arc<View>,
    fault: Fault,
}

// === impl FailedCall ===

impl FailedCall {
    pub(crate) fn new(verb: Verb, view: &Arc<View>, fault: &Fault) -> Self {
        Self { verb, view: Arc::clone(view), fault: fault.clone() }
    }

    /// The verb that was asked.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The fault that ended the call.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }
}
