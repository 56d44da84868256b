//! Pods between their decision and their bind: filters that count wait for their bind calls, and then see the pods on
//! their nodes.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use hashbrown::HashSet;

use super::Gateway;
use crate::{
    decide::{self, Announced, BindCalls, Caller, FilterOutcome, Group, Query, RequestContext, Roster},
    model::{BindQuery, Cluster, Pod, Sender},
};

/// The most nodes of a request that is decided twice. The second decision has no columns, so each node costs a look-up
/// for each attribute. kube-scheduler sends 500 of 5,000 nodes.
const MAX_DECIDED_TWICE: usize = 1024;

/// A pod that counts on its node since its bind call arrived. Dropping it withdraws the pod, unless it has a reserved
/// place by then, or the watch shows it there.
#[must_use = "the pod counts until this is dropped"]
pub struct Announcement {
    gateway: Arc<Gateway>,
    number: u64,
}

// === impl Gateway ===

impl Gateway {
    /// Filters that count wait at most this long for bind calls of pods that were decided just before, and at most half
    /// of a request's time; 0: they do not wait.
    #[must_use]
    pub fn with_bind_call_wait(self, max_wait: Duration) -> Self {
        Self { bind_calls: BindCalls::new(max_wait.min(self.request_timeout / 2)), ..self }
    }

    /// Replaces the cluster, and prepares the data for requests that follow from it alone.
    pub fn set_cluster(&self, cluster: Arc<Cluster>) {
        let mut announced = self.announced.lock();
        if announced.base().is_none_or(|base| !Arc::ptr_eq(base, &cluster)) {
            self.prepare(&cluster, announced.shown());
            announced.set_base(Arc::clone(&cluster));
            self.bound_cluster.store(Some(Arc::clone(&cluster)));
            self.binds.notify_change();
            announced.set_shown(cluster);
        }
        if let Some(with_announced) = announced.cluster() {
            self.follow_up(&mut announced, with_announced);
        }
        self.publish(&announced);
    }

    /// A bind call has arrived: from now on requests see its pod on the node, and filters no longer wait for the call.
    ///
    /// None if no policy counts, or the pod is not known from a request: then it counts once its place is reserved.
    pub fn announce(self: &Arc<Self>, sender: Sender, query: &BindQuery<'_>) -> Option<Announcement> {
        if !self.expects_binds(&self.roster.load()) {
            return None;
        }
        let pod = self.bind_calls.find(sender, query);
        let announcement =
            pod.and_then(|pod| self.show(pod.placed_on(&query.node, &BTreeMap::new(), &BTreeMap::new())));
        self.bind_calls.arrived(&query.uid);
        announcement
    }

    /// The cluster that binds are decided from: announced pods are not on their nodes there.
    pub fn bound_cluster(&self) -> Option<Arc<Cluster>> {
        self.bound_cluster.load_full()
    }

    /// Before a filter that counts: waits for the bind calls of other pods.
    pub(super) fn await_bind_calls(&self, name: &str, query: &Query<'_>) {
        if !query.may_bind {
            return;
        }
        let blocking = self.blocking.get().copied().unwrap_or_default();
        if let Some(wait) = self.bind_calls.wait(query.sender, query.pod.uid(), blocking) {
            self.observer.waited_for_bind_calls(name, wait);
        }
    }

    /// If the filter rejects every node, gives back those that it rejects only because of announced pods; the bind
    /// decides about them.
    ///
    /// An announced pod may yet fail to bind, and has no annotations of its bind. kube-scheduler would take the reply
    /// for "unschedulable", evict pods for it, and try again when it hears of a change: of a failed bind it hears none.
    pub(super) fn leave_to_bind(
        caller: &Caller,
        group: &Group,
        context: &RequestContext,
        outcome: FilterOutcome,
    ) -> FilterOutcome {
        let rejects_all = outcome.rejected.len() == context.len();
        if !rejects_all || context.len() > MAX_DECIDED_TWICE {
            return outcome;
        }
        let Some(again) = context.without_announced() else { return outcome };
        // If it fails, the first answer stands.
        let Ok(without) = decide::filter(caller, group, &again) else { return outcome };
        let still_rejected = without.rejected.iter().map(|rejection| context.request_index(rejection.node));
        let still_rejected: HashSet<u32> = still_rejected.chain(context.unknown().iter().copied()).collect();
        let rejected = outcome.rejected.into_iter().filter(|rejection| still_rejected.contains(&rejection.node));
        FilterOutcome { rejected: rejected.collect(), ..outcome }
    }

    /// After a filter: its reply may be the last word before a bind.
    pub(super) fn after_filter(&self, name: &str, group: &Group, query: &Query<'_>, outcome: &FilterOutcome) {
        if !query.may_bind {
            return;
        }
        match query.nodes.len() - outcome.rejected.len() {
            0 => self.bind_calls.rejected(query.sender, query.pod.uid()),
            // kube-scheduler asks for no scores of a single node.
            left => self.bind_calls.decided(query.sender, name, &query.pod, left == 1 || !group.has_scores()),
        }
    }

    /// After prioritize: a bind follows, unless the pod fails in the scheduler itself.
    pub(super) fn after_prioritize(&self, name: &str, query: &Query<'_>) {
        if query.may_bind {
            self.bind_calls.decided(query.sender, name, &query.pod, true);
        }
    }

    /// Whether bind calls change an answer before the watch shows the pods.
    pub(super) fn expects_binds(&self, roster: &Roster) -> bool {
        self.binder.get().is_some() && roster.reads_pods()
    }

    fn show(self: &Arc<Self>, pod: Pod) -> Option<Announcement> {
        let mut announced = self.announced.lock();
        let number = announced.add(pod)?;
        self.update(&mut announced);
        self.observer.announced();
        Some(Announcement { gateway: Arc::clone(self), number })
    }

    fn withdraw(&self, number: u64) {
        let mut announced = self.announced.lock();
        if announced.remove(number) {
            self.update(&mut announced);
        }
    }

    /// Puts the announced pods and the facts in force as they are now.
    pub(super) fn update(&self, announced: &mut Announced) {
        let without = |base: &Arc<Cluster>| base.successor(base.slots().clone());
        let next = announced.cluster().or_else(|| announced.base().map(without));
        if let Some(next) = next {
            self.follow_up(announced, next);
            self.publish(announced);
        }
    }

    /// The next cluster for requests.
    fn follow_up(&self, announced: &mut Announced, next: Cluster) {
        let next = Arc::new(next);
        self.prepare(&next, announced.shown());
        announced.set_shown(next);
    }

    /// Takes over columns and totals from the cluster that was made before this one. Each one is followed by one alone,
    /// so clusters with announced pods and those without take turns in one line.
    fn prepare(&self, cluster: &Cluster, before: Option<&Arc<Cluster>>) {
        // No request must wait for it.
        cluster.names();
        cluster.set_facts(self.facts.current());
        cluster.columns().set_limit(self.cache_limit.columns());
        if let Some(before) = before {
            cluster.follow(before);
        }
    }

    fn publish(&self, announced: &Announced) {
        self.cluster.store(announced.shown().cloned());
        if let (Some(follower), Some(cluster)) = (self.follower.get(), announced.shown()) {
            follower(cluster);
        }
    }
}

// === impl Announcement ===

impl Drop for Announcement {
    fn drop(&mut self) {
        self.gateway.withdraw(self.number);
    }
}

impl fmt::Debug for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announcement").field("number", &self.number).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
