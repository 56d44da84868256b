//! One request: the group, the cluster and the moment that it began with, and its verbs.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use super::state::{Gateway, PostReplyWork, Work};
use crate::{
    decide::{
        self, BindOutcome, BindReport, Bound, Caller, CandidateQuery, DecideError, EarlyPod, Explanation,
        FilterOutcome, Group, KnownNodes, MAX_LIFETIME, Nodes, PLACES_OF_EARLIER_LEADER, PODS_OF_EARLIER_LEADER,
        PreemptOutcome, Query, RequestContext, Roster, ScoreScale, Survey, Unbound,
    },
    model::{BindQuery, Binder, Cluster, Leader, Mode, Pod, RequestId, Verb, cluster::OwnPlace, facts::Moment},
};

/// Why a pod has no node yet under a new leader.
const GOES_AFTER: &str = "this one leads for less than 30 s, and pods go first whose gang or volumes are bound";

/// A request to one group: all of it is decided from what was in force when it began.
pub struct Deciding<'g> {
    pub(super) gateway: &'g Gateway,
    pub(super) roster: Arc<Roster>,
    pub(super) name: Arc<str>,
    pub(super) group: Group,
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) moment: Moment,
    /// The number of changes before it.
    pub(super) changes: u64,
}

// === impl Gateway ===

impl Gateway {
    /// Begins a request to a group: what is in force now is used to its end.
    ///
    /// # Errors
    /// If there is no such group.
    pub fn begin(&self, group: &str) -> Result<Deciding<'_>, DecideError> {
        let changes = self.changes.load(Ordering::SeqCst);
        let roster = self.roster();
        let (name, group) = roster.named(group).ok_or_else(|| DecideError::UnknownGroup(group.to_owned()))?;
        let (name, group) = (Arc::clone(name), group.clone());
        Ok(Deciding { gateway: self, roster, name, group, cluster: self.cluster(), moment: self.moment(), changes })
    }
}

// === impl Deciding ===

impl Deciding<'_> {
    /// The same request, once the pods that were decided just before have their places, if a filter of the group counts.
    #[must_use]
    pub fn after_bind_calls(self) -> Self {
        if !self.expects_binds() || !self.group.reads_pods() {
            return self;
        }
        let blocking = self.gateway.blocking.get().copied().unwrap_or_default();
        let Some(wait) = self.gateway.bind_calls.wait(blocking) else { return self };
        self.gateway.observer.waited_for_bind_calls(&self.name, wait);
        Self { cluster: self.gateway.cluster(), ..self }
    }

    /// The cluster that the names of a request are looked up in; none where the gateway has no view of the cluster.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.as_ref()
    }

    /// The nodes that requests brought whole, to compare those of this one with.
    pub fn known_nodes(&self) -> KnownNodes {
        self.gateway.node_cache.known()
    }

    /// Which nodes may the pod run on?
    ///
    /// # Errors
    /// If the request makes no sense, or a policy failed whose faults fail the decision.
    pub fn filter(self, query: &Query<'_>) -> Result<(FilterOutcome, PostReplyWork), DecideError> {
        let (gateway, now) = (self.gateway, self.gateway.clock.now());
        let early = self.early_pod(query)?;
        if let Some(early) = &early
            && gateway.early.ask(early, query.pod.uid(), now)
        {
            gateway.leave(query.pod.uid());
        }
        // Where clients are authenticated, only kube-scheduler's questions are kept, and change what becomes of a pod.
        let is_scheduler = query.may_bind || gateway.binder.get().is_none();
        let is_own_nomination = is_scheduler && self.note_nomination(query, now);
        let context = self.context(query, OwnPlace::AsThePodSays)?;
        let (mut outcome, mut after) = self.decide(&self.caller(query.received), |caller| {
            let outcome = decide::filter(caller, &self.group, &context)?;
            if outcome.rejected.len() < context.len() {
                return Ok(outcome);
            }
            let Some(without) = context.without_forwarded() else { return Ok(outcome) };
            // The other replica may not bind them. kube-scheduler would take the reply for "unschedulable", evict pods for
            // it, and try again when it hears of a change: of a failed bind it hears none.
            let query = query.of_cluster(&without);
            decide::filter(caller, &self.group, &self.context_in(&query, Some(&without), OwnPlace::AsThePodSays)?)
        })?;
        if let Some(early) = &early {
            self.give_place(early, query, &context, &mut outcome);
        }
        let left = query.nodes.len() - outcome.rejected.len();
        if !is_scheduler {
            // Its answer is about the nodes that it names.
        } else if left == 0 && context.len() > 0 {
            if let Err(elsewhere) = self.refuse(query, &context, is_own_nomination, &mut outcome) {
                // The next pod like this one is answered from the cache.
                after.split().0.run();
                return Err(elsewhere);
            }
        } else {
            gateway.waiting.passed(&self.name, &query.pod, context.len(), now);
        }
        // kube-scheduler asks for no scores of a single node.
        let is_decided = left == 1 || (left > 1 && !self.group.has_scores());
        if query.may_bind && early.is_none() && self.expects_binds() && is_decided {
            gateway.bind_calls.decided(&self.name, &query.pod);
        }
        self.defer_shadow(&mut after, context, &[Verb::Filter]);
        Ok((outcome, after))
    }

    /// Whether the pod gets one node, and a tentative place there.
    ///
    /// # Errors
    /// If another replica gives places, none does, or pods that have begun go first.
    fn early_pod(&self, query: &Query<'_>) -> Result<Option<EarlyPod>, DecideError> {
        let gateway = self.gateway;
        let (Some(binder), Some(_)) = (gateway.binder.get(), gateway.places.get()) else { return Ok(None) };
        let Some(mode) = decide::place_mode(&self.group, query, self.cluster()) else { return Ok(None) };
        let early = decide::early_pod(mode, &query.pod, self.cluster());
        match binder.leader() {
            // A leader before this one may have given places that only the watch will show. A pod with a node of its own
            // choice would be half of a gang, or tied to a full node; after an error kube-scheduler tries it again.
            Leader::ThisReplica if early.is_some() && binder.leads_for() < PLACES_OF_EARLIER_LEADER => {
                Err(DecideError::NoPlaces("this one leads for less than 2 s".to_owned()))
            }
            Leader::ThisReplica if self.goes_after(binder.as_ref(), &query.pod, early.is_some()) => {
                Err(DecideError::NoPlaces(GOES_AFTER.to_owned()))
            }
            Leader::ThisReplica => Ok(early),
            // kube-scheduler may reach any replica; only the leader gives places.
            Leader::Peer(url) if early.is_some() => Err(DecideError::Elsewhere(url)),
            Leader::Nobody(why) if early.is_some() => Err(DecideError::NoPlaces(why)),
            // The leader is asked for the bind, too.
            Leader::Peer(_) | Leader::Nobody(_) => Ok(None),
        }
    }

    /// Whether this replica has begun to lead lately, and a pod waits that had begun before and this one had not: binds fail
    /// as a leader ends, and with others on the nodes that were left a gang is bound in part for ever, and a volume ties
    /// its pod to a full node.
    ///
    /// A pod has begun if another member of its gang is bound, or, for one that gets one node, if all its volumes are.
    fn goes_after(&self, binder: &dyn Binder, pod: &Pod, gets_one_node: bool) -> bool {
        let Some(cluster) = self.cluster().filter(|_| binder.leads_for() < PODS_OF_EARLIER_LEADER) else {
            return false;
        };
        let waiting = &self.gateway.waiting;
        let has_volumes = |pod: &Pod| !pod.volume_claims().is_empty() && cluster.has_late_volumes(pod) == Some(false);
        let is_tied = |pod: &Pod| gets_one_node && has_volumes(pod);
        // Most clusters have no gang that waits, and need no look at each placed pod.
        if !waiting.any_shown(|pod| pod.pod_group().is_some() || is_tied(pod)) {
            return false;
        }
        let placed = cluster.slots().iter().flat_map(|slot| slot.placed.iter().flat_map(|placed| placed.pods()));
        let bound = placed.filter(|pod| pod.pod_group().is_some() && cluster.is_bound(pod.uid()));
        let gangs: HashSet<_> = bound.map(|pod| (pod.namespace(), pod.pod_group())).collect();
        let has_begun = |pod: &Pod| gangs.contains(&(pod.namespace(), pod.pod_group())) || is_tied(pod);
        !has_begun(pod) && waiting.any_shown(has_begun)
    }

    /// Leaves the pod the best node of those that fit, and counts it there.
    fn give_place(&self, early: &EarlyPod, query: &Query<'_>, context: &RequestContext, outcome: &mut FilterOutcome) {
        let gateway = self.gateway;
        let caller = self.caller(query.received);
        decide::keep_best(&caller, &self.group, context, outcome);
        caller.take_deferred().into_iter().for_each(|insert| insert());
        let [index] = outcome.kept(context.len())[..] else { return };
        let now = gateway.clock.now();
        let Some(node) = context.node_name(index) else { return };
        if gateway.early.give(early, &query.pod, now) {
            gateway.hold(&query.pod, &node, now + MAX_LIFETIME);
            gateway.nominations.prolong(query.pod.uid(), &node, now + MAX_LIFETIME);
            gateway.notify_keeper();
        }
    }

    /// The answer of the policies to [`Deciding::filter`], without regard to nodes that the request does not name. The pod
    /// is not kept.
    ///
    /// # Errors
    /// As for [`Deciding::filter`].
    pub fn dry_filter(self, query: &Query<'_>) -> Result<(FilterOutcome, PostReplyWork), DecideError> {
        let context = self.context(query, OwnPlace::AsThePodSays)?;
        let caller = self.caller(query.received);
        self.decide(&caller, |caller| decide::filter(caller, &self.group, &context))
    }

    /// How good is each node, on this scale? The scores are in the order of the request.
    ///
    /// # Errors
    /// As for [`Deciding::filter`].
    pub fn prioritize(self, scale: ScoreScale, query: &Query<'_>) -> Result<(Vec<u32>, PostReplyWork), DecideError> {
        let context = self.context(query, OwnPlace::AsThePodSays)?;
        let caller = self.caller(query.received);
        let (outcome, mut after) =
            self.decide(&caller, |caller| decide::prioritize(caller, &self.group, &context, scale))?;
        if query.may_bind && self.expects_binds() {
            self.gateway.bind_calls.decided(&self.name, &query.pod);
        }
        self.defer_shadow(&mut after, context, &[Verb::Score, Verb::Rank]);
        Ok((outcome, after))
    }

    /// Which of these candidates may be preempted, and whom would it evict?
    ///
    /// Where the request has whole pods, their nodes are those that earlier requests have brought.
    ///
    /// # Errors
    /// As for [`Deciding::filter`].
    pub fn preempt(
        self,
        pod: Arc<Pod>,
        candidates: &[CandidateQuery<'_>],
        received: Instant,
    ) -> Result<(PreemptOutcome, PostReplyWork), DecideError> {
        let (caller, node_cache) = (self.caller(received), &self.gateway.node_cache);
        let (outcome, proposal) =
            decide::preempt(&caller, &self.group, &pod, candidates, self.cluster(), node_cache, &self.moment)?;
        let mut after = PostReplyWork::default();
        if let Some(proposal) = proposal {
            let group = self.group.clone();
            after.guest_calls.push(self.shadow(move |caller| decide::shadow_preempt(caller, &group, &pod, &proposal)));
        }
        Ok((outcome, after))
    }

    /// Binds the pod to the node, with the annotations that the policies give it there.
    ///
    /// Each policy sees the allocations of every earlier pod, whichever group binds them. A pod that is bound there
    /// already is no error.
    ///
    /// # Errors
    /// If the pod was not bound, or a policy failed whose faults fail the decision.
    pub fn bind(self, query: &BindQuery<'_>) -> Result<(BindOutcome, PostReplyWork), DecideError> {
        let gateway = self.gateway;
        let result = self.ask_binder(query);
        let elapsed = gateway.clock.now().saturating_duration_since(query.received);
        let outcome = result.as_ref().map(|(outcome, _)| outcome);
        gateway.observer.bound(&BindReport { group: &self.name, query, outcome, elapsed });
        let (outcome, view) = result?;
        let mut after = PostReplyWork::default();
        if let Some(view) = view {
            let group = self.group.clone();
            after.guest_calls.push(self.shadow(move |caller| decide::shadow_bind(caller, &group, &view)));
        }
        Ok((outcome, after))
    }

    fn ask_binder(&self, query: &BindQuery<'_>) -> Result<Bound, DecideError> {
        let gateway = self.gateway;
        let call = gateway.bind_calls.arrived(query);
        let binder = gateway.binder.get().ok_or(Unbound::NoBinder)?;
        match binder.leader() {
            Leader::ThisReplica => {}
            Leader::Peer(url) => {
                if let Some(pod) = &call.pod {
                    binder.forwarded(pod.placed_on(&query.node, &BTreeMap::new(), &BTreeMap::new()));
                }
                return Ok((BindOutcome::Forward(url), None));
            }
            Leader::Nobody(why) => return Err(Unbound::NoLeader(why).into()),
        }
        let has_place = gateway.early.has(&query.uid);
        let is_after = |pod: Arc<Pod>| self.group.reads_pods() && self.goes_after(binder.as_ref(), &pod, false);
        if !has_place && gateway.waiting.pod(&query.uid).is_some_and(is_after) {
            return Err(DecideError::NoPlaces(GOES_AFTER.to_owned()));
        }
        let caller = self.caller(query.received);
        // A pod that has a place, is nominated, or may have a place that an earlier leader has given, does not yield to others.
        let is_nominated = || self.cluster().is_some_and(|cluster| cluster.nominates(&query.uid));
        let yields = !has_place && !is_nominated() && binder.leads_for() >= PLACES_OF_EARLIER_LEADER;
        let asking = (&caller, &self.group, self.moment.clone(), yields);
        // The newest cluster, each time: a bind is decided by what earlier binds have taken.
        let bound = decide::bind(asking, binder.as_ref(), query, call, &gateway.binds, || gateway.cluster());
        if bound.is_ok() {
            gateway.early.settled(&query.uid, gateway.clock.now());
        } else if gateway.early.not_bound(&query.uid) {
            gateway.end_places(&[query.uid.as_ref().into()]);
        }
        bound
    }

    /// Asks every matching policy about every node, each by itself.
    ///
    /// # Errors
    /// If the request makes no sense.
    pub fn survey(self, query: &Query<'_>) -> Result<Survey, DecideError> {
        let context = self.context(query, OwnPlace::Anywhere)?;
        Ok(decide::survey(&self.caller(query.received).without_effects(), &self.group, &context))
    }

    /// Returns the answers of each matching policy about a node among all nodes of the cluster, and the values that it
    /// reads for them.
    ///
    /// # Errors
    /// If the cluster does not have the node.
    pub fn explain(self, pod: &Arc<Pod>, node: &str) -> Result<Explanation, DecideError> {
        let cluster = self.cluster().ok_or(DecideError::NoCluster)?;
        let node = cluster.find(node).ok_or_else(|| DecideError::UnknownNode(node.to_owned()))?;
        let all = Nodes::Slots { cluster: Some(cluster), slots: cluster.all_slots() };
        let query = Query::new(Arc::clone(pod), all);
        let context = self.context(&query, OwnPlace::Anywhere)?;
        let gives_places = self.gateway.places.get().is_some();
        let mode = decide::place_mode(&self.group, &query, Some(cluster)).filter(|_| gives_places);
        let gets_one = mode.is_some_and(|mode| decide::early_pod(mode, pod, Some(cluster)).is_some());
        Ok(decide::explain(&self.caller(query.received).without_effects(), &self.group, &context, node, gets_one))
    }

    pub(super) fn context(&self, query: &Query<'_>, own: OwnPlace) -> Result<RequestContext, DecideError> {
        self.context_in(query, self.cluster(), own)
    }

    fn context_in(
        &self,
        query: &Query<'_>,
        cluster: Option<&Arc<Cluster>>,
        own: OwnPlace,
    ) -> Result<RequestContext, DecideError> {
        RequestContext::new(query, cluster, &self.gateway.node_cache, &self.moment, own)
    }

    /// Whether the places of pods change an answer before the watch shows them.
    fn expects_binds(&self) -> bool {
        self.gateway.binder.get().is_some() && self.roster.reads_pods()
    }

    /// Decides. New answers are inserted into the cache after the reply; if the decision failed, before it.
    pub(super) fn decide<T>(
        &self,
        caller: &Caller,
        decide: impl FnOnce(&Caller) -> Result<T, DecideError>,
    ) -> Result<(T, PostReplyWork), DecideError> {
        let outcome = decide(caller);
        let mut after = PostReplyWork { cache_inserts: caller.take_deferred(), ..PostReplyWork::default() };
        if !after.is_empty() {
            let (roster, limit) = (Arc::clone(&self.roster), self.gateway.answer_bytes());
            after.cache_inserts.push(Box::new(move || roster.keep_cached_within(limit)));
        }
        match outcome {
            Ok(outcome) => Ok((outcome, after)),
            Err(error) => {
                // The reply waits for this, so no guest is called.
                after.split().0.run();
                Err(error)
            }
        }
    }

    /// Defers the calls of shadow policies until after the reply.
    fn defer_shadow(&self, after: &mut PostReplyWork, context: RequestContext, verbs: &'static [Verb]) {
        let (pod, known, group) = (context.pod(), context.in_force(), self.group.clone());
        let in_shadow = |verb: &Verb| group.answering(Mode::Shadow, *verb, pod, known).next().is_some();
        if verbs.iter().any(in_shadow) {
            after.guest_calls.push(self.shadow(move |caller| decide::shadow(caller, &group, &context, verbs)));
        }
    }

    /// Work that asks policies in shadow mode.
    fn shadow(&self, ask: impl FnOnce(&Caller) + Send + 'static) -> Work {
        let Gateway { clock, observer, request_timeout, .. } = self.gateway;
        let (clock, observer, timeout) = (Arc::clone(clock), Arc::clone(observer), *request_timeout);
        let request = RequestId::current();
        Box::new(move || {
            // Their time starts now: the work may have waited for its turn.
            let started = clock.now();
            let caller = request.scope(|| Caller::new(clock, observer, started, timeout)).in_background();
            ask(&caller);
            // Nobody waits for a reply any more: the new answers are cached at once.
            caller.take_deferred().into_iter().for_each(|insert| insert());
        })
    }

    pub(super) fn caller(&self, received: Instant) -> Caller {
        let Gateway { clock, observer, request_timeout, blocking, .. } = self.gateway;
        let mut caller = Caller::new(Arc::clone(clock), Arc::clone(observer), received, *request_timeout);
        caller.blocking = blocking.get().copied().unwrap_or_default();
        caller
    }
}
