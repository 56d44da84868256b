//! Binds: by this replica, if it leads.

use super::{Gateway, PostReplyWork};
use crate::{
    decide::{self, BindOutcome, BindReport, DecideError, Done, Group, Unbound},
    model::{BindQuery, Leader},
};

// === impl Gateway ===

impl Gateway {
    /// Binds the pod to the node, with the annotations that the policies give it there.
    ///
    /// Each policy sees the allocations of every earlier pod, whichever group binds them. A pod that is bound there
    /// already is no error.
    ///
    /// # Errors
    /// If the pod was not bound, or a policy failed whose faults fail the decision.
    pub fn bind(&self, group: &str, query: &BindQuery<'_>) -> Result<(BindOutcome, PostReplyWork), DecideError> {
        let (name, group) = (group, self.group(group)?);
        let result = self.bind_in(&group, query);
        let elapsed = self.clock.now().saturating_duration_since(query.received);
        let (outcome, authors) = match &result {
            Ok(done) => (Ok(&done.outcome), done.authors.as_slice()),
            Err(error) => (Err(error), [].as_slice()),
        };
        self.observer.bound(&BindReport { group: name, query, outcome, authors, elapsed });
        let Done { outcome, view, .. } = result?;
        let mut after = PostReplyWork::default();
        if let Some(view) = view {
            after.guest_calls.push(self.shadow(move |caller| decide::shadow_bind(caller, &group, &view)));
        }
        Ok((outcome, after))
    }

    fn bind_in(&self, group: &Group, query: &BindQuery<'_>) -> Result<Done, DecideError> {
        let binder = self.binder.get().ok_or(Unbound::NoBinder)?;
        match binder.leader() {
            Leader::ThisReplica => {}
            Leader::Peer(url) => return Ok(Done::of(BindOutcome::Forward(url))),
            Leader::Nobody(why) => return Err(Unbound::NoLeader(why).into()),
        }
        let caller = self.caller(query.received);
        let moment = self.moment();
        decide::bind(&caller, group, binder.as_ref(), query, &self.binds, || self.bound_cluster(), moment)
    }
}
