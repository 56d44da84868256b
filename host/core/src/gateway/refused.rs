//! A pod that a filter leaves without a node: the answer for the whole cluster, its reasons, and a nomination.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::deciding::Deciding;
use crate::{
    decide::{
        self, DecideError, FilterOutcome, FreeNodes, Group, LONGEST_NOMINATION, LeftWithoutNode, MAX_NAMED, MIN_SAMPLE,
        Nodes, Query, Refusal, RejectedNodes, RequestContext, Said, complete, place_of, unite,
    },
    model::{Leader, Pod, Slot},
};

/// Requests of several groups about one pod within this time belong to one attempt of kube-scheduler.
const ATTEMPT: Duration = Duration::from_secs(10);

// === impl Deciding ===

impl Deciding<'_> {
    /// Notes what a request says about the nomination of its pod: kube-scheduler asks about the nominated node alone
    /// before it asks about others. Returns whether the nomination is plimsoll's own.
    pub(super) fn note_nomination(&self, query: &Query<'_>, now: Instant) -> bool {
        let Some(node) = query.pod.nominated_node() else { return false };
        let gateway = self.gateway;
        let uid = query.pod.uid();
        if query.nodes.len() > 1 && gateway.nominations.tried(uid, node, now) {
            gateway.end_nominated_place(uid);
            gateway.notify_keeper();
        }
        gateway.waiting.nominated(uid).is_some_and(|shown| shown.is_own && *shown.node == *node)
            || gateway.nominations.is_for(uid, node)
    }

    /// Completes the outcome of a filter that leaves the pod without a node, and keeps the pod for later.
    ///
    /// # Errors
    /// If another replica has to answer.
    pub(super) fn refuse(
        &self,
        query: &Query<'_>,
        context: &RequestContext,
        is_own_nomination: bool,
        outcome: &mut FilterOutcome,
    ) -> Result<(), DecideError> {
        let (gateway, pod, now) = (self.gateway, &query.pod, self.gateway.clock.now());
        let cluster = context.whole();
        outcome.nominated =
            pod.nominated_node().filter(|_| !is_own_nomination).and_then(|node| context.request_index_of(node));
        let is_sample = self.may_be_sample(query, now);
        let completes = is_sample && gateway.knows_whole_cluster() && Self::names_nodes_freely(query);
        let free = if completes { self.complete(query, context, outcome) } else { FreeNodes::default() };
        // One replica nominates, so that no two pods are nominated for one place.
        let may_nominate = !free.untried.is_empty()
            && gateway.nominates()
            && match gateway.binder.get().map(|binder| binder.leader()) {
                Some(Leader::Peer(url)) => return Err(DecideError::Elsewhere(url)),
                Some(Leader::Nobody(_)) => false,
                Some(Leader::ThisReplica) | None => true,
            };
        let is_large = || cluster.is_some_and(|cluster| cluster.slots().len() > MAX_NAMED);
        let is_small = is_sample && (!completes || is_large());
        let whole = cluster.filter(|_| completes).map(|cluster| cluster.slots().len());
        let rejected = Arc::new(RejectedNodes::of(outcome, whole));
        let said = Said::of(&self.group, outcome, is_sample && !completes, |index| context.slot_of(index));
        let refusal = Refusal {
            group: &self.name,
            pod,
            offered: context.len(),
            cluster,
            changes: self.changes,
            is_free: completes.then_some(!free.untried.is_empty()),
            is_united: is_small,
            rejected: (!is_nominated_alone(query)).then_some(&rejected),
            now,
        };
        let (form, is_news) = gateway.waiting.refused(&refusal, said);
        if let Some(text) = form.united {
            unite(outcome, &text, is_small);
        }
        if form.is_newly_unstable {
            gateway.observer.unstable_reasons(&self.name, pod);
        }
        let chosen = if may_nominate { self.nominate(query, context, &free, now) } else { None };
        if is_news {
            let nominated = chosen.as_deref().or(pod.nominated_node());
            gateway.observer.left_without_node(&LeftWithoutNode {
                group: &self.name,
                pod,
                rejected: &rejected,
                nominated,
            });
        }
        Ok(())
    }

    /// Whether kube-scheduler may have left out nodes.
    fn may_be_sample(&self, query: &Query<'_>, now: Instant) -> bool {
        // An extender before this one may have cut a sample down.
        let since = now.checked_sub(ATTEMPT).unwrap_or(now);
        let most_offered = || self.gateway.waiting.most_offered_to_others(query.pod.uid(), &self.name, since);
        query.nodes.len() >= MIN_SAMPLE || (!is_nominated_alone(query) && most_offered() >= MIN_SAMPLE)
    }

    /// Whether the nodes are those that kube-scheduler has found by itself: of a pod group it names those of one placement,
    /// and whole nodes come without a view of the cluster.
    fn names_nodes_freely(query: &Query<'_>) -> bool {
        !matches!(query.nodes, Nodes::Objects(_)) && query.pod.pod_group().is_none()
    }

    /// Adds the nodes that the request does not name.
    fn complete(&self, query: &Query<'_>, context: &RequestContext, outcome: &mut FilterOutcome) -> FreeNodes {
        let (gateway, pod) = (self.gateway, &query.pod);
        let Some(cluster) = context.whole() else { return FreeNodes::default() };
        // A pod whose fields cannot be read is not modelled.
        let Ok(filters) = gateway.model.filters(pod, context.cluster()) else { return FreeNodes::default() };
        let slots = context.cluster().slots();
        let offered = context.slots().iter().filter_map(|slot| slots.get(*slot as usize));
        for difference in gateway.model.compare(&filters, offered, cluster, gateway.clock.now()) {
            gateway.observer.model_differs(&difference, pod);
        }
        // The policies have had their time for the offered nodes.
        let half = query.received + gateway.request_timeout / 2;
        let caller = self.caller(query.received).without_effects().until(half);
        let groups = self.groups_of(pod);
        let is_vain = |slot: &Slot| gateway.nominations.is_vain(cluster, pod, slot);
        let free = complete(&caller, &groups, context, &filters, &is_vain, outcome);
        caller.take_deferred().into_iter().for_each(|insert| insert());
        free
    }

    /// This group, and the others that kube-scheduler has asked about the pod.
    fn groups_of(&self, pod: &Pod) -> Vec<Group> {
        let others = self.gateway.waiting.other_groups(pod.uid(), &self.name);
        let others = others.iter().filter_map(|name| self.roster.group(name)).cloned();
        std::iter::once(self.group.clone()).chain(others).collect()
    }

    /// Nominates the pod for the best of the nodes that kube-scheduler has not looked at, and returns it.
    fn nominate(
        &self,
        query: &Query<'_>,
        context: &RequestContext,
        free: &FreeNodes,
        now: Instant,
    ) -> Option<Arc<str>> {
        let (gateway, pod) = (self.gateway, &query.pod);
        let slots = context.cluster().slots();
        if !gateway.nominations.may_choose(pod.uid(), now) {
            let places =
                free.untried.iter().filter_map(|slot| Some(place_of(context.whole()?, slots.get(*slot as usize)?)));
            gateway.nominations.remember(pod.uid(), &places.collect::<Vec<_>>(), now);
            return None;
        }
        let candidates = context.of_slots(free.untried.as_slice().into());
        let caller = self.caller(query.received).without_effects();
        let slot = slots.get(decide::best_of(&caller, &self.group, &candidates)? as usize)?;
        // A pod that the watch does not show may not exist.
        if !gateway.waiting.is_shown(pod.uid()) {
            return None;
        }
        // Another's nomination, above all one of preemption, stays: with one over it a second victim was evicted.
        let shown = gateway.waiting.nominated(pod.uid());
        if shown.as_ref().is_some_and(|shown| !shown.is_own) {
            return None;
        }
        gateway.nominations.choose(context.whole()?, pod, slot, shown, now);
        gateway.hold(pod, slot.node.name(), now + 2 * LONGEST_NOMINATION);
        gateway.notify_keeper();
        Some(Arc::clone(slot.node.name()))
    }
}

/// kube-scheduler asks about the node that a pod is nominated for, before it asks about others.
fn is_nominated_alone(query: &Query<'_>) -> bool {
    query.nodes.len() == 1 && query.pod.nominated_node().is_some()
}
