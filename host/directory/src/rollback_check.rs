//! The check before a rollback: does the last good version answer the call that the new one failed?
//!
//! It calls a guest, which may hang until its timeout, so it runs on a thread of the worker pool.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{FailedCall, Member};

use crate::scan::PolicyId;

/// Timeout of each call of the check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// A check of a version that fails from its first calls on.
pub(crate) struct RollbackCheck {
    pub(crate) id: PolicyId,
    /// The version that fails.
    pub(crate) failing: Arc<Member>,
    /// The version that would be in force again.
    pub(crate) last_good: Arc<Member>,
    /// The call that failed.
    pub(crate) call: FailedCall,
}

// === impl RollbackCheck ===

impl RollbackCheck {
    /// Returns how the new version failed a call that the last good one answers; `None` if that one fails, too. `None` as
    /// well if the new version answers a call about the sample, and fails calls about one pod alone, or for lack of
    /// time or memory: a client chooses the pod and the number of nodes of its requests.
    pub(crate) fn carry_out(&self) -> Option<String> {
        let is_doubtful = self.call.is_of_one_pod() || self.call.fault().kind.depends_on_size();
        if is_doubtful && !self.call.sample_fails(&self.failing, CHECK_TIMEOUT) {
            return None;
        }
        self.call.put_to(&self.last_good, CHECK_TIMEOUT).ok()?;
        Some(format!("it failed to {} from its first calls on ({})", self.call.verb(), self.call.fault()))
    }
}
