//! The gateway: holds the roster and the cluster in force, and answers each request from one snapshot of both.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;

use crate::{
    cache::DecisionTable,
    decide::{
        self, BIND_CALL_WAIT, BackgroundObserver, BindCalls, BindOutcome, BindQueue, BindReport, Bound, Caller,
        CandidateQuery, DecideError, Explanation, FilterOutcome, Gangs, Group, KnownNodes, NodeCache, Nodes, Observer,
        PreemptOutcome, Query, RejectedPod, RejectedPods, RequestContext, Roster, ScoreScale, Survey, Unbound,
    },
    model::{
        BindQuery, Binder, Blocking, Clock, Cluster, Facts, Leader, Mode, Pod, RequestId, Verb,
        cluster::OwnPlace,
        facts::{FactStore, Moment},
    },
};

/// Upper bound of a request's time, so that no deadline overflows.
const MAX_REQUEST_TIMEOUT: Duration = Duration::from_hours(24);

/// Maximum bytes of the decision cache, where nothing else is said.
pub const DEFAULT_CACHE_BYTES: usize = 256 << 20;

/// Decides requests. Each keeps the group and the cluster that it starts with to its end.
pub struct Gateway {
    roster: ArcSwap<Roster>,
    cluster: ArcSwapOption<Cluster>,
    /// Held while another cluster is put in force: each follows the one before it.
    publishing: Mutex<()>,
    facts: FactStore,
    bind_calls: BindCalls,
    gangs: Gangs,
    pub(crate) node_cache: NodeCache,
    binder: OnceLock<Arc<dyn Binder>>,
    binds: BindQueue,
    /// None where nobody wakes them.
    rejected: OnceLock<RejectedPods>,
    /// Counts the changes that kube-scheduler has no event for: of policies, facts and namespaces.
    changes: AtomicU64,
    /// The last of them after which the rejected pods were decided again.
    last_revisited: AtomicU64,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    request_timeout: Duration,
    /// Maximum bytes of all cached answers and columns together.
    cache_bytes: usize,
    blocking: OnceLock<Blocking>,
}

/// Work that a request defers: run it after the reply.
#[must_use = "shadow policies are asked by `run`"]
#[derive(Default)]
pub struct PostReplyWork {
    /// They take the host some milliseconds at most.
    cache_inserts: Vec<Work>,
    /// They take as long as guests may.
    guest_calls: Vec<Work>,
}

type Work = Box<dyn FnOnce() + Send>;

// === impl Gateway ===

impl Gateway {
    /// A gateway with no policies and no cluster.
    pub fn new(clock: Arc<dyn Clock>, observer: Arc<dyn Observer>, request_timeout: Duration) -> Self {
        Self {
            roster: ArcSwap::default(),
            cluster: ArcSwapOption::default(),
            facts: FactStore::default(),
            publishing: Mutex::default(),
            bind_calls: BindCalls::new(BIND_CALL_WAIT),
            gangs: Gangs::default(),
            node_cache: NodeCache::new(column_bytes(DEFAULT_CACHE_BYTES)),
            binder: OnceLock::new(),
            binds: BindQueue::default(),
            rejected: OnceLock::new(),
            changes: AtomicU64::default(),
            last_revisited: AtomicU64::default(),
            clock,
            observer,
            request_timeout: request_timeout.min(MAX_REQUEST_TIMEOUT),
            cache_bytes: DEFAULT_CACHE_BYTES,
            blocking: OnceLock::new(),
        }
    }

    /// Bounds the bytes of the decision cache.
    #[must_use]
    pub fn with_cache_limit(self, bytes: usize) -> Self {
        Self { cache_bytes: bytes, node_cache: NodeCache::new(column_bytes(bytes)), ..self }
    }

    /// Bounds the bytes of the nodes that requests bring whole, as far as they are kept for the next.
    #[must_use]
    pub fn with_node_memory(self, max_bytes: usize) -> Self {
        Self { node_cache: self.node_cache.with_max_bytes(max_bytes), ..self }
    }

    /// Filters that count wait at most this long for bind calls of pods that were decided just before, and at most half
    /// of a request's time; 0: they do not wait.
    #[must_use]
    pub fn with_bind_call_wait(self, max_wait: Duration) -> Self {
        Self { bind_calls: BindCalls::new(max_wait.min(self.request_timeout / 2)), ..self }
    }

    /// Runs work that may take long in this way, such as calls of guests; of several calls the first counts.
    pub fn set_blocking(&self, blocking: Blocking) {
        let _ = self.blocking.set(blocking);
    }

    /// Binds through this from now on; of several calls the first counts.
    pub fn set_binder(&self, binder: Arc<dyn Binder>) {
        // A second one could not know the pods that the first has bound.
        let _ = self.binder.set(binder);
    }

    /// The policies in force.
    pub fn roster(&self) -> Arc<Roster> {
        self.roster.load_full()
    }

    /// Puts other policies in force; requests in flight finish with those that they started with.
    pub fn set_roster(&self, roster: Arc<Roster>) {
        // The facts that come with policies are in force before the policies are.
        let sources = roster.members().flat_map(|member| member.sidecar_facts.iter().cloned()).collect();
        if self.facts.set_sidecar_sources(sources) {
            self.publish_facts();
        }
        self.roster.store(roster);
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The cluster in force, where the gateway has a view of the cluster; pods whose place is reserved are on their nodes.
    pub fn cluster(&self) -> Option<Arc<Cluster>> {
        self.cluster.load_full()
    }

    /// The nodes that requests brought whole, to compare those of the next with.
    pub fn known_nodes(&self) -> KnownNodes {
        self.node_cache.known()
    }

    /// The facts in force.
    pub fn facts(&self) -> Arc<Facts> {
        self.facts.current()
    }

    /// Replaces the facts of the sources of the gateway. Requests in flight finish with those that they started with.
    pub fn set_facts(&self, facts: &Facts) {
        if self.facts.set_gateway_sources(facts) {
            self.publish_facts();
        }
    }

    /// Replaces the cluster, and prepares the data for requests that follow from it alone.
    pub fn set_cluster(&self, cluster: Arc<Cluster>) {
        let _publishing = self.publishing.lock();
        if self.cluster().is_none_or(|before| !Arc::ptr_eq(&before, &cluster)) {
            self.publish(cluster);
            self.binds.notify_change();
        }
    }

    /// Publishes a cluster with the facts in force. Binds wait for this lock, so the facts are compared before it is
    /// taken. If calls overlap, each publishes the newest facts.
    fn publish_facts(&self) {
        let _publishing = self.publishing.lock();
        if let Some(before) = self.cluster() {
            self.publish(Arc::new(before.successor(before.slots().clone())));
        }
    }

    /// Puts a cluster in force. It takes over columns and totals from the one before it.
    fn publish(&self, cluster: Arc<Cluster>) {
        // No request must wait for it.
        cluster.names();
        cluster.set_facts(self.facts.current());
        cluster.columns().set_limit(column_bytes(self.cache_bytes));
        let before = self.cluster();
        if let Some(before) = &before {
            cluster.follow(before);
        }
        let is_changed = before.is_none_or(|before| !cluster.has_facts_and_namespaces_of(&before));
        self.cluster.store(Some(cluster));
        self.changes.fetch_add(is_changed.into(), Ordering::SeqCst);
    }

    /// The time and the facts that a request sees to its end.
    fn moment(&self) -> Moment {
        Moment { now: self.clock.unix_seconds(), facts: self.facts.current() }
    }

    /// When the time of a request is over that came in at this moment.
    pub fn deadline(&self, received: Instant) -> Instant {
        received + self.request_timeout
    }

    /// The cluster that a filter of this group is decided from. If a filter of the group counts, it waits first until pods
    /// that were decided just before have their places.
    pub fn cluster_for_filter(&self, group: &str, may_bind: bool) -> Option<Arc<Cluster>> {
        if may_bind && self.expects_binds() && self.group(group).is_ok_and(|group| group.reads_pods()) {
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

    /// Which nodes may the pod run on?
    ///
    /// # Errors
    /// If the request makes no sense, or a policy failed whose faults fail the decision.
    pub fn filter(&self, group: &str, query: &Query<'_>) -> Result<(FilterOutcome, PostReplyWork), DecideError> {
        let (name, changes) = (group, self.changes.load(Ordering::SeqCst));
        let group = self.group(name)?;
        let gang = decide::gang_of(name, &group, query);
        // kube-scheduler has connections to several replicas, and one of them has the simulation.
        if gang.is_some()
            && let Some(Leader::Peer(url)) = self.binder.get().map(|binder| binder.leader())
        {
            return Err(DecideError::Elsewhere(url));
        }
        let tentative = gang.as_ref().map_or_else(Vec::new, |gang| self.gangs.ask(gang, query, self.clock.now()));
        let context_in = |query: &Query<'_>, cluster: Option<&Arc<Cluster>>| {
            let context = self.context(query, cluster, OwnPlace::AsThePodSays);
            context.map(|context| context.with_tentative(&tentative))
        };
        let filter = |caller: &Caller, context: &RequestContext| {
            let outcome = decide::filter(caller, &group, context)?;
            Ok(if gang.is_some() { decide::keep_best(caller, &group, context, outcome) } else { outcome })
        };
        let context = context_in(query, self.cluster().as_ref())?;
        let (outcome, mut after) = self.decide(&self.caller(query.received), |caller| {
            let outcome = filter(caller, &context)?;
            if outcome.rejected.len() < context.len() {
                return Ok(outcome);
            }
            let Some(without) = context.without_forwarded() else { return Ok(outcome) };
            // The other replica may not bind them. kube-scheduler would take the reply for "unschedulable", evict pods for
            // it, and try again when it hears of a change: of a failed bind it hears none.
            let query = query.of_cluster(&without);
            filter(caller, &context_in(&query, Some(&without))?)
        })?;
        if let Some((gang, place)) = gang.as_ref().zip(decide::place_of(&context, &outcome)) {
            self.gangs.place(gang, place, self.clock.now());
        }
        let left = query.nodes.len() - outcome.rejected.len();
        if let Some(rejected) = self.rejected.get() {
            if left == 0 {
                rejected.insert(name, &context, tentative, self.clock.now());
                if self.changes.load(Ordering::SeqCst) != changes {
                    // It was decided before a change, and missed by those who decide again after it.
                    self.changes.fetch_add(1, Ordering::SeqCst);
                }
            } else {
                rejected.remove(query.pod.uid());
            }
        }
        // kube-scheduler asks for no scores of a single node.
        if query.may_bind && self.expects_binds() && (left == 1 || (left > 1 && !group.has_scores())) {
            self.bind_calls.decided(name, &query.pod);
        }
        self.defer_shadow(&mut after, group, context, &[Verb::Filter]);
        Ok((outcome, after))
    }

    /// Keeps the pods that filter requests leave without a node, for [`Gateway::frees_rejected_pods`].
    pub fn keep_rejected_pods(&self) {
        let _ = self.rejected.set(RejectedPods::default());
    }

    /// Decides again about the pods that filter requests left without a node, after changes that kube-scheduler has no
    /// event for, of policies, facts, namespaces and the time, and after those of pods and nodes that kube-scheduler may
    /// have seen first. Returns whether any of them would keep a node now. It takes as long as guests may.
    pub fn frees_rejected_pods(&self) -> bool {
        let changes = self.changes.load(Ordering::SeqCst);
        // A cluster that comes after this counts as another change.
        let (Some(rejected), Some(cluster)) = (self.rejected.get(), self.cluster()) else { return false };
        let is_changed = self.last_revisited.swap(changes, Ordering::SeqCst) != changes;
        let mut due = rejected.due(is_changed, self.roster().reads_time(), &cluster, self.clock.now());
        if due.is_empty() {
            return false;
        }
        for pod in cluster.slots().iter().filter_map(|slot| slot.placed.as_ref()).flat_map(|placed| placed.pods()) {
            if pod.nomination().is_none() && due.remove(pod.uid()).is_some() {
                rejected.remove(pod.uid());
            }
        }
        // One wake is for all pods.
        due.values().any(|pod| {
            let keeps_node = self.keeps_node(pod, &cluster);
            let is_free = keeps_node == Ok(true);
            // A fault of a policy may pass.
            rejected.decided(pod, keeps_node.unwrap_or(true), &cluster, self.clock.now()) && is_free
        })
    }

    /// The wake after [`Gateway::frees_rejected_pods`] has failed: no pod has spent its last one.
    pub fn not_woken(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether a filter request about the pod would keep a node now.
    fn keeps_node(&self, rejected: &RejectedPod, cluster: &Arc<Cluster>) -> Result<bool, DecideError> {
        let (group, slots, received) = (self.group(&rejected.group)?, rejected.slots(cluster), self.clock.now());
        let nodes = Nodes::Slots { cluster: Some(cluster), slots: &slots };
        let query = Query { pod: Arc::clone(&rejected.pod), nodes, received, may_bind: false };
        let context = self.context(&query, Some(cluster), OwnPlace::AsThePodSays)?;
        let context = context.with_tentative(rejected.tentative(received));
        let observer = Arc::new(BackgroundObserver(Arc::clone(&self.observer)));
        let caller = Caller::new(Arc::clone(&self.clock), observer, received, self.request_timeout).in_background();
        let (outcome, inserts) = self.decide(&caller, |caller| decide::filter(caller, &group, &context))?;
        inserts.run();
        Ok(outcome.rejected.len() < context.len())
    }

    /// How good is each node, on this scale? The scores are in the order of the request.
    ///
    /// # Errors
    /// As for [`Gateway::filter`].
    pub fn prioritize(
        &self,
        scale: ScoreScale,
        group: &str,
        query: &Query<'_>,
    ) -> Result<(Vec<u32>, PostReplyWork), DecideError> {
        let name = group;
        let group = self.group(name)?;
        let context = self.context(query, self.cluster().as_ref(), OwnPlace::AsThePodSays)?;
        let (outcome, mut after) =
            self.decide(&self.caller(query.received), |caller| decide::prioritize(caller, &group, &context, scale))?;
        if query.may_bind && self.expects_binds() {
            self.bind_calls.decided(name, &query.pod);
        }
        self.defer_shadow(&mut after, group, context, &[Verb::Score, Verb::Rank]);
        Ok((outcome, after))
    }

    /// Which of these candidates may be preempted, and whom would it evict?
    ///
    /// Where the request has whole pods, their nodes are those that earlier requests have brought.
    ///
    /// # Errors
    /// As for [`Gateway::filter`].
    pub fn preempt(
        &self,
        group: &str,
        pod: Arc<Pod>,
        candidates: &[CandidateQuery<'_>],
        received: Instant,
    ) -> Result<(PreemptOutcome, PostReplyWork), DecideError> {
        let group = self.group(group)?;
        let (caller, moment) = (self.caller(received), self.moment());
        let cluster = self.cluster();
        let (outcome, proposal) =
            decide::preempt(&caller, &group, &pod, candidates, cluster.as_ref(), &self.node_cache, &moment)?;
        let mut after = PostReplyWork::default();
        if let Some(proposal) = proposal {
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
    pub fn bind(&self, group: &str, query: &BindQuery<'_>) -> Result<(BindOutcome, PostReplyWork), DecideError> {
        let (name, group) = (group, self.group(group)?);
        let result = self.bind_in(&group, query);
        let elapsed = self.clock.now().saturating_duration_since(query.received);
        let outcome = result.as_ref().map(|(outcome, _)| outcome);
        self.observer.bound(&BindReport { group: name, query, outcome, elapsed });
        let (outcome, view) = result?;
        let mut after = PostReplyWork::default();
        if let Some(view) = view {
            after.guest_calls.push(self.shadow(move |caller| decide::shadow_bind(caller, &group, &view)));
        }
        Ok((outcome, after))
    }

    fn bind_in(&self, group: &Group, query: &BindQuery<'_>) -> Result<Bound, DecideError> {
        let call = self.bind_calls.arrived(query);
        self.gangs.bound(&query.uid);
        let binder = self.binder.get().ok_or(Unbound::NoBinder)?;
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
        let caller = self.caller(query.received);
        let asking = (&caller, group, self.moment());
        decide::bind(asking, binder.as_ref(), query, call, &self.binds, || self.cluster())
    }

    /// Asks every matching policy about every node, each by itself.
    ///
    /// # Errors
    /// If the request makes no sense.
    pub fn survey(&self, group: &str, query: &Query<'_>) -> Result<Survey, DecideError> {
        let group = self.group(group)?;
        let context = self.context(query, self.cluster().as_ref(), OwnPlace::Anywhere)?;
        Ok(decide::survey(&self.caller(query.received).in_background(), &group, &context))
    }

    /// Returns the answers of each matching policy about a node among all nodes of the cluster, and the values that it
    /// reads for them.
    ///
    /// # Errors
    /// If there is no such group, or the cluster does not have the node.
    pub fn explain(&self, group: &str, pod: &Arc<Pod>, node: &str) -> Result<Explanation, DecideError> {
        let (group, cluster) = (self.group(group)?, self.cluster().ok_or(DecideError::NoCluster)?);
        let node = cluster.find(node).ok_or_else(|| DecideError::UnknownNode(node.to_owned()))?;
        let all = Nodes::Slots { cluster: Some(&cluster), slots: cluster.all_slots() };
        let query = Query::new(Arc::clone(pod), all);
        let context = self.context(&query, Some(&cluster), OwnPlace::Anywhere)?;
        Ok(decide::explain(&self.caller(query.received).in_background(), &group, &context, node))
    }

    /// The decision tables that a policy (with its group: `gpu/binpack`) has shown so far, by verb.
    ///
    /// # Errors
    /// If there is no such policy.
    pub fn decision_tables(&self, policy: &str) -> Result<Vec<(Verb, DecisionTable)>, DecideError> {
        let roster = self.roster();
        let member = roster.members().find(|member| member.id() == policy);
        let member = member.ok_or_else(|| DecideError::UnknownPolicy(policy.to_owned()))?;
        let (cluster, verbs) = (self.cluster().unwrap_or_default(), member.policy.verbs());
        let table = |verb| Some((verb, member.cache.decision_table(verb, &cluster)?.into_shown(&member.fact_access)));
        Ok(verbs.iter().filter_map(table).collect())
    }

    /// Bytes of all cached answers, and of the columns and totals that they are found by.
    pub fn cached_bytes(&self) -> usize {
        let answers = self.roster.load().cached_bytes();
        let columns =
            self.cluster.load().as_ref().map_or(0, |cluster| cluster.columns().bytes() + cluster.tallies().bytes());
        answers + columns + self.node_cache.column_bytes()
    }

    fn group(&self, name: &str) -> Result<Group, DecideError> {
        self.roster.load().group(name).cloned().ok_or_else(|| DecideError::UnknownGroup(name.to_owned()))
    }

    fn context(
        &self,
        query: &Query<'_>,
        cluster: Option<&Arc<Cluster>>,
        own: OwnPlace,
    ) -> Result<RequestContext, DecideError> {
        RequestContext::new(query, cluster, &self.node_cache, &self.moment(), own)
    }

    /// Whether the places of pods change an answer before the watch shows them.
    fn expects_binds(&self) -> bool {
        self.binder.get().is_some() && self.roster.load().reads_pods()
    }

    /// Decides. New answers are inserted into the cache after the reply; if the decision failed, before it.
    fn decide<T>(
        &self,
        caller: &Caller,
        decide: impl FnOnce(&Caller) -> Result<T, DecideError>,
    ) -> Result<(T, PostReplyWork), DecideError> {
        let outcome = decide(caller);
        let mut after = PostReplyWork { cache_inserts: caller.take_deferred(), ..PostReplyWork::default() };
        if !after.is_empty() {
            // The columns of the cluster in force and those of whole nodes have a quarter each.
            let (roster, limit) = (self.roster(), self.cache_bytes - 2 * column_bytes(self.cache_bytes));
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
    fn defer_shadow(&self, after: &mut PostReplyWork, group: Group, context: RequestContext, verbs: &'static [Verb]) {
        let pod = context.pod();
        let in_shadow = |verb: &Verb| group.answering(Mode::Shadow, *verb, pod).next().is_some();
        if verbs.iter().any(in_shadow) {
            after.guest_calls.push(self.shadow(move |caller| decide::shadow(caller, &group, &context, verbs)));
        }
    }

    /// Work that asks policies in shadow mode.
    fn shadow(&self, ask: impl FnOnce(&Caller) + Send + 'static) -> Work {
        let (clock, observer, timeout) = (Arc::clone(&self.clock), Arc::clone(&self.observer), self.request_timeout);
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

    fn caller(&self, received: Instant) -> Caller {
        let (clock, observer) = (Arc::clone(&self.clock), Arc::clone(&self.observer));
        let mut caller = Caller::new(clock, observer, received, self.request_timeout);
        caller.blocking = self.blocking.get().copied().unwrap_or_default();
        caller
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("roster", &self.roster).finish_non_exhaustive()
    }
}

// === impl PostReplyWork ===

impl PostReplyWork {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.cache_inserts.is_empty() && self.guest_calls.is_empty()
    }

    /// The inserts into the cache, which take little time, and the calls of guests, which may take long: so that the
    /// first need not wait for the second.
    pub fn split(self) -> (Self, Self) {
        (
            Self { cache_inserts: self.cache_inserts, ..Self::default() },
            Self { guest_calls: self.guest_calls, ..Self::default() },
        )
    }

    /// Does the work; it may take as long as the shadow policies may.
    pub fn run(self) {
        for work in self.cache_inserts.into_iter().chain(self.guest_calls) {
            // A bug that one policy sets off must not keep another's work from being done; the panic has told of it.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }
}

impl fmt::Debug for PostReplyWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostReplyWork")
            .field("cache_inserts", &self.cache_inserts.len())
            .field("guest_calls", &self.guest_calls.len())
            .finish()
    }
}

/// The bytes of a decision cache's limit that the columns of one cluster may take: of the one in force, or of the one of
/// the nodes that requests bring.
const fn column_bytes(cache_bytes: usize) -> usize {
    cache_bytes / 4
}

#[cfg(test)]
mod tests;
