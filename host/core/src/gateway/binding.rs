//! Binds: by this replica, if it leads.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{Gateway, PostReplyWork};
use crate::{
    decide::{self, BindCalls, BindOutcome, BindReport, DecideError, Done, Group, Roster, Unbound},
    model::{BindQuery, Cluster, Leader},
};

// === impl Gateway ===

impl Gateway {
    /// Filters that count wait at most this long for bind calls of pods that were decided just before, and at most half
    /// of a request's time; 0: they do not wait.
    #[must_use]
    pub fn with_bind_call_wait(self, max_wait: Duration) -> Self {
        Self { bind_calls: BindCalls::new(max_wait.min(self.request_timeout / 2)), ..self }
    }

    /// The cluster that a filter of this group is decided from. If a filter of the group counts, it waits first until pods
    /// that were decided just before have their places.
    pub fn cluster_for_filter(&self, group: &str, may_bind: bool) -> Option<Arc<Cluster>> {
        let roster = self.roster.load();
        if may_bind && self.expects_binds(&roster) && roster.group(group).is_some_and(Group::reads_pods) {
            let blocking = self.blocking.get().copied().unwrap_or_default();
            if let Some(wait) = self.bind_calls.wait(blocking) {
                self.observer.waited_for_bind_calls(group, wait);
            }
        }
        self.cluster()
    }

    /// The replica that a bind was forwarded to does not bind the pod, so it counts no more.
    pub fn not_forwarded(&self, query: &BindQuery<'_>) {
        if let Some(binder) = self.binder.get() {
            binder.not_forwarded(&query.uid);
        }
    }

    /// Whether the places of pods change an answer before the watch shows them.
    pub(super) fn expects_binds(&self, roster: &Roster) -> bool {
        self.binder.get().is_some() && roster.reads_pods()
    }

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
        let call = self.bind_calls.arrived(query);
        let binder = self.binder.get().ok_or(Unbound::NoBinder)?;
        match binder.leader() {
            Leader::ThisReplica => {}
            Leader::Peer(url) => {
                if let Some(pod) = &call.pod {
                    binder.forwarded(pod.placed_on(&query.node, &BTreeMap::new(), &BTreeMap::new()));
                }
                return Ok(Done::of(BindOutcome::Forward(url)));
            }
            Leader::Nobody(why) => return Err(Unbound::NoLeader(why).into()),
        }
        let caller = self.caller(query.received);
        let asking = (&caller, group, self.moment());
        decide::bind(asking, binder.as_ref(), query, call, &self.binds, || self.cluster())
    }
}
