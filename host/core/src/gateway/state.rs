//! The gateway: holds the roster and the cluster in force; each request begins with one snapshot of both.

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
        BIND_CALL_WAIT, BindCalls, BindQueue, DecideError, ModelDifference, ModelWatch, NodeCache, NominationNews,
        NominationPatch, Nominations, Observer, PendingPod, Roster, TentativePlaces, WaitingPods,
    },
    model::{
        BindQuery, Binder, Blocking, Clock, Cluster, Facts, Places, Pod, Verb, WaitingChange,
        facts::{FactStore, Moment},
    },
};

/// Upper bound of a request's time, so that no deadline overflows.
const MAX_REQUEST_TIMEOUT: Duration = Duration::from_hours(24);

/// Maximum bytes of the decision cache, where nothing else is said.
pub const DEFAULT_CACHE_BYTES: usize = 256 << 20;

/// Decides requests. Each keeps the group and the cluster that it starts with to its end.
pub struct Gateway {
    pub(super) roster: ArcSwap<Roster>,
    pub(super) cluster: ArcSwapOption<Cluster>,
    /// Held while another cluster is put in force: each follows the one before it.
    pub(super) publishing: Mutex<()>,
    pub(super) facts: FactStore,
    pub(super) bind_calls: BindCalls,
    pub(super) early: TentativePlaces,
    pub(crate) node_cache: NodeCache,
    pub(super) binder: OnceLock<Arc<dyn Binder>>,
    pub(super) binds: BindQueue,
    /// The pods without a node.
    pub(super) waiting: WaitingPods,
    pub(super) nominations: Nominations,
    pub(super) places: OnceLock<Arc<dyn Places>>,
    pub(super) keeper: OnceLock<Keeper>,
    pub(super) model: ModelWatch,
    /// Set once a watch follows the whole cluster: replies name nodes that requests do not.
    pub(super) knows_whole_cluster: OnceLock<()>,
    /// Counts the changes that kube-scheduler has no event for: of policies, facts, namespaces, and ended places.
    pub(super) changes: AtomicU64,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) request_timeout: Duration,
    /// Maximum bytes of all cached answers and columns together.
    pub(super) cache_bytes: usize,
    pub(super) blocking: OnceLock<Blocking>,
}

/// Whoever ends places and sends nominations.
pub(super) struct Keeper {
    pub(super) nominates: bool,
    /// Called when there may be something to do earlier than was said.
    pub(super) notify: Box<dyn Fn() + Send + Sync>,
}

/// Work that a request defers: run it after the reply.
#[must_use = "shadow policies are asked by `run`"]
#[derive(Default)]
pub struct PostReplyWork {
    /// They take the host some milliseconds at most.
    pub(super) cache_inserts: Vec<Work>,
    /// They take as long as guests may.
    pub(super) guest_calls: Vec<Work>,
}

pub(super) type Work = Box<dyn FnOnce() + Send>;

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
            early: TentativePlaces::default(),
            node_cache: NodeCache::new(column_bytes(DEFAULT_CACHE_BYTES)),
            binder: OnceLock::new(),
            binds: BindQueue::default(),
            waiting: WaitingPods::default(),
            nominations: Nominations::default(),
            places: OnceLock::new(),
            keeper: OnceLock::new(),
            model: ModelWatch::default(),
            knows_whole_cluster: OnceLock::new(),
            changes: AtomicU64::default(),
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
    pub(super) fn moment(&self) -> Moment {
        Moment { now: self.clock.unix_seconds(), facts: self.facts.current() }
    }

    /// When the time of a request is over that came in at this moment.
    pub fn deadline(&self, received: Instant) -> Instant {
        received + self.request_timeout
    }

    /// Whether there is such a group of policies.
    pub fn has_group(&self, name: &str) -> bool {
        self.roster.load().group(name).is_some()
    }

    /// The replica that a bind was forwarded to does not bind the pod, so it counts no more.
    pub fn not_forwarded(&self, query: &BindQuery<'_>) {
        if let Some(binder) = self.binder.get() {
            binder.not_forwarded(&query.uid);
        }
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

    /// Takes what the watch of pods without a node shows.
    pub fn waiting_changed(&self, change: WaitingChange) {
        let now = self.clock.now();
        match &change {
            WaitingChange::Shown(shown) => {
                let uid = shown.pod.uid();
                match self.nominations.shown(shown, now) {
                    NominationNews::Nothing => {}
                    NominationNews::Due => self.notify_keeper(),
                    NominationNews::Cancelled => self.end_nominated_place(uid),
                }
                // The same nomination again is no news: the pod may have got a place since.
                let is_news = self.waiting.nominated(uid) != shown.nominated;
                if is_news && shown.nominated.as_ref().is_some_and(|nominated| !nominated.is_own) {
                    self.early.settled(uid, now);
                } else if self.early.shown(&shown.pod) {
                    self.end_places(&[uid.into()]);
                }
            }
            WaitingChange::Gone(uid) => {
                self.nominations.gone(uid);
                self.early.settled(uid, now);
            }
            WaitingChange::Listed => {}
        }
        self.waiting.change(change, now);
    }

    /// From now on the cluster is the whole one as a watch shows it: a reply about a pod that is left without a node names
    /// every node.
    pub fn answer_for_whole_cluster(&self) {
        let _ = self.knows_whole_cluster.set(());
    }

    pub(super) fn knows_whole_cluster(&self) -> bool {
        self.knows_whole_cluster.get().is_some()
    }

    /// Keeps tentative places there; of several calls the first counts.
    pub fn set_places(&self, places: Arc<dyn Places>) {
        let _ = self.places.set(places);
    }

    /// Has somebody call [`Gateway::keep_places`] when `notify` says that there may be news. `nominates`: pods are nominated
    /// from now on.
    pub fn set_keeper(&self, nominates: bool, notify: Box<dyn Fn() + Send + Sync>) {
        let _ = self.keeper.set(Keeper { nominates, notify });
    }

    /// kube-scheduler nominates pods that wait for volumes or claims (from 1.35 on).
    pub fn expect_nominations(&self) {
        self.early.set_nominations(true);
    }

    /// Ends the tentative places whose time is over. Returns the nominations to send now, each of which is to be reported
    /// by [`Gateway::nomination_sent`], and when there may be more to do.
    pub fn keep_places(&self) -> (Vec<NominationPatch>, Option<Instant>) {
        let now = self.clock.now();
        let (over, next) = self.early.take_over(now);
        self.end_places(&over);
        let (patches, next_patch) = self.nominations.take_due(now);
        (patches, next.into_iter().chain(next_patch).min())
    }

    /// Ends tentative places; pods that they have kept away are decided again.
    pub(super) fn end_places(&self, uids: &[Box<str>]) {
        for uid in uids {
            self.leave(uid);
        }
        self.changes.fetch_add((!uids.is_empty()).into(), Ordering::SeqCst);
    }

    /// A nomination was sent; `is_written`: the API server has taken it.
    pub fn nomination_sent(&self, patch: &NominationPatch, is_written: bool) {
        if !self.nominations.sent(patch, is_written, self.clock.now()) {
            self.end_nominated_place(patch.pod.uid());
        }
    }

    /// The ends of all nominations, to send before the process ends.
    pub fn take_back_nominations(&self) -> Vec<NominationPatch> {
        self.nominations.take_all()
    }

    /// Whether pods are nominated.
    pub(super) fn nominates(&self) -> bool {
        self.keeper.get().is_some_and(|keeper| keeper.nominates) && self.places.get().is_some()
    }

    pub(super) fn notify_keeper(&self) {
        if let Some(keeper) = self.keeper.get() {
            (keeper.notify)();
        }
    }

    /// Counts the pod on this node until then.
    pub(super) fn hold(&self, pod: &Pod, node: &str, until: Instant) {
        if let Some(places) = self.places.get() {
            places.hold(Arc::new(pod.placed_on(node, &BTreeMap::new(), &BTreeMap::new())), until);
        }
    }

    /// Ends the tentative place of a pod.
    pub(super) fn leave(&self, uid: &str) {
        if let Some(places) = self.places.get() {
            places.leave(uid);
        }
    }

    /// Ends the place of a pod that is nominated no more, unless it has one by an answer of a filter.
    pub(super) fn end_nominated_place(&self, uid: &str) {
        if !self.early.has(uid) {
            self.leave(uid);
        }
    }

    /// The reasons for which the model of kube-scheduler's filters rejects nodes that kube-scheduler accepts.
    pub fn model_differences(&self) -> Vec<ModelDifference> {
        self.model.differences()
    }

    /// The text of a policy's fault about a pod, as it was told first: kube-scheduler tries a pod again at once when the
    /// message of its condition changes. `fault` names policy, verb and kind.
    pub fn stable_fault(&self, pod: &Arc<Pod>, policy: &str, fault: String, message: &str) -> String {
        self.waiting.fault_text(pod, policy, fault, message, self.clock.now())
    }

    /// The pods that wait for a node.
    pub fn pending(&self) -> Vec<PendingPod> {
        self.waiting.pending(self.clock.now())
    }

    /// The pod with this name, if it waits for a node.
    pub fn pending_pod(&self, namespace: &str, name: &str) -> Option<PendingPod> {
        self.waiting.pending_pod(namespace, name, self.clock.now())
    }

    /// Bytes of all cached answers, and of the columns and totals that they are found by.
    pub fn cached_bytes(&self) -> usize {
        let answers = self.roster.load().cached_bytes();
        let columns =
            self.cluster.load().as_ref().map_or(0, |cluster| cluster.columns().bytes() + cluster.tallies().bytes());
        answers + columns + self.node_cache.column_bytes()
    }

    /// The bytes that cached answers may take: the columns of the cluster in force and those of whole nodes have a quarter
    /// of the limit each.
    pub(super) const fn answer_bytes(&self) -> usize {
        self.cache_bytes - 2 * column_bytes(self.cache_bytes)
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
