//! A call that a policy failed.

use std::sync::Arc;

use crate::{Fault, Verb, View};

/// A call that a policy failed, kept so that another version of the policy can be tried with it.
#[derive(Debug)]
pub struct FailedCall {
    verb: Verb,
    view: Arc<View>,
    fault: Fault,
    is_of_one_pod: bool,
}

// === impl FailedCall ===

impl FailedCall {
    pub(crate) fn new(verb: Verb, view: &Arc<View>, fault: &Fault) -> Self {
        Self { verb, view: Arc::clone(view), fault: fault.clone(), is_of_one_pod: true }
    }

    /// The verb that was asked.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// The fault that ended the call.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Whether the calls that failed so far were all about one pod, which may be the cause.
    pub fn is_of_one_pod(&self) -> bool {
        self.is_of_one_pod
    }

    pub(crate) fn of_one_pod(self, is_of_one_pod: bool) -> Self {
        Self { is_of_one_pod, ..self }
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }
}
