//! The gateway: holds the roster and the cluster in force, and answers each request from one snapshot of both.

mod binding;
mod deferring;
mod facts;
mod post_reply;
mod setup;

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;

pub use self::post_reply::PostReplyWork;
use crate::{
    cache::DecisionTable,
    decide::{
        self, BindCalls, BindQueue, CacheLimit, Caller, CandidateQuery, DecideError, Explanation, FilterOutcome, Group,
        KnownNodes, NodeCache, Observer, PreemptOutcome, PrioritizeOutcome, Query, RequestContext, Roster, ScoreScale,
        Survey,
    },
    model::{Binder, Blocking, Clock, Cluster, Pod, Verb, cluster::OwnPlace, facts::FactStore},
};

/// Decides requests. Each keeps the group and the cluster that it starts with to its end.
pub struct Gateway {
    roster: ArcSwap<Roster>,
    cluster: ArcSwapOption<Cluster>,
    /// Held while another cluster is put in force: each follows the one before it.
    publishing: Mutex<()>,
    facts: FactStore,
    bind_calls: BindCalls,
    node_cache: NodeCache,
    binder: OnceLock<Arc<dyn Binder>>,
    binds: BindQueue,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    request_timeout: Duration,
    cache_limit: CacheLimit,
    /// Whether a view of the cluster is on its way.
    expects_cluster: AtomicBool,
    blocking: OnceLock<Blocking>,
}

// === impl Gateway ===

impl Gateway {
    /// The policies in force.
    pub fn roster(&self) -> Arc<Roster> {
        self.roster.load_full()
    }

    /// Puts other policies in force; requests in flight finish with those that they started with.
    pub fn set_roster(&self, roster: Arc<Roster>) {
        self.set_facts_of(&roster);
        self.roster.store(roster);
    }

    /// The cluster in force, where the gateway has a view of the cluster; pods whose place is reserved are on their nodes.
    pub fn cluster(&self) -> Option<Arc<Cluster>> {
        self.cluster.load_full()
    }

    /// The nodes that requests brought whole, to compare those of the next with.
    pub fn known_nodes(&self) -> KnownNodes {
        self.node_cache.known()
    }

    /// Turns `NoCluster` into `Listing` while the first list is under way.
    fn with_listing(&self, error: DecideError) -> DecideError {
        match error {
            DecideError::NoCluster if self.expects_cluster.load(Ordering::Relaxed) => DecideError::Listing,
            error => error,
        }
    }

    /// When the time of a request is over that came in at this moment.
    pub fn deadline(&self, received: Instant) -> Instant {
        received + self.request_timeout
    }

    /// Which nodes may the pod run on?
    ///
    /// # Errors
    /// If the request makes no sense, or a policy failed whose faults fail the decision.
    pub fn filter(&self, group: &str, query: &Query<'_>) -> Result<(FilterOutcome, PostReplyWork), DecideError> {
        let name = group;
        let (group, expects_binds) = self.group_and_binds(name)?;
        let context = self.context(query, self.cluster().as_ref())?;
        let (outcome, mut after) = self.decide(query.received, |caller| {
            let outcome = decide::filter(caller, &group, &context)?;
            if outcome.rejected.len() < context.len() {
                return Ok(outcome);
            }
            let Some(without) = context.without_forwarded() else { return Ok(outcome) };
            // The other replica may not bind them. kube-scheduler would take the reply for "unschedulable", evict pods for
            // it, and try again when it hears of a change: of a failed bind it hears none.
            decide::filter(caller, &group, &self.context(&query.of_cluster(&without), Some(&without))?)
        })?;
        let left = query.nodes.len() - outcome.rejected.len();
        // kube-scheduler asks for no scores of a single node.
        if expects_binds && query.may_bind && (left == 1 || (left > 1 && !group.has_scores())) {
            self.bind_calls.decided(name, &query.pod);
        }
        self.defer_shadow(&mut after, group, context, &[Verb::Filter]);
        Ok((outcome, after))
    }

    /// How good is each node, on this scale?
    ///
    /// # Errors
    /// As for [`Gateway::filter`].
    pub fn prioritize(
        &self,
        scale: ScoreScale,
        group: &str,
        query: &Query<'_>,
    ) -> Result<(PrioritizeOutcome, PostReplyWork), DecideError> {
        let name = group;
        let (group, expects_binds) = self.group_and_binds(name)?;
        let context = self.context(query, self.cluster().as_ref())?;
        let (outcome, mut after) =
            self.decide(query.received, |caller| decide::prioritize(caller, &group, &context, scale))?;
        if expects_binds && query.may_bind {
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
            decide::preempt(&caller, &group, &pod, candidates, cluster.as_ref(), &self.node_cache, &moment)
                .map_err(|error| self.with_listing(error))?;
        let mut after = PostReplyWork::default();
        if let Some(proposal) = proposal {
            after.guest_calls.push(self.shadow(move |caller| decide::shadow_preempt(caller, &group, &pod, &proposal)));
        }
        Ok((outcome, after))
    }

    /// Asks every matching policy about every node, each by itself.
    ///
    /// # Errors
    /// If the request makes no sense.
    pub fn survey(&self, group: &str, query: &Query<'_>) -> Result<Survey, DecideError> {
        let group = self.group(group)?;
        let context = self.context_at(query, self.cluster().as_ref(), OwnPlace::Anywhere)?;
        Ok(decide::survey(&self.caller(query.received).in_background(), &group, &context))
    }

    /// Returns the answers of each matching policy about the node with this index in the request, and the values that
    /// it reads for them.
    ///
    /// # Errors
    /// If the request makes no sense, or the cluster does not have the node.
    pub fn explain(&self, group: &str, query: &Query<'_>, node: u32) -> Result<Explanation, DecideError> {
        let group = self.group(group)?;
        let context = self.context_at(query, self.cluster().as_ref(), OwnPlace::Anywhere)?;
        let node = context.node_index(node).ok_or_else(|| DecideError::UnknownNode(query.nodes.describe(node)))?;
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

    #[cfg(test)]
    pub(crate) fn node_cache(&self) -> &NodeCache {
        &self.node_cache
    }

    fn group(&self, name: &str) -> Result<Group, DecideError> {
        self.roster.load().group(name).cloned().ok_or_else(|| DecideError::UnknownGroup(name.to_owned()))
    }

    /// The group, and whether bind calls change an answer before the watch shows their pods: both by one roster.
    fn group_and_binds(&self, name: &str) -> Result<(Group, bool), DecideError> {
        let roster = self.roster.load();
        let group = roster.group(name).cloned().ok_or_else(|| DecideError::UnknownGroup(name.to_owned()))?;
        Ok((group, self.expects_binds(&roster)))
    }

    fn context(&self, query: &Query<'_>, cluster: Option<&Arc<Cluster>>) -> Result<RequestContext, DecideError> {
        self.context_at(query, cluster, OwnPlace::AsThePodSays)
    }

    fn context_at(
        &self,
        query: &Query<'_>,
        cluster: Option<&Arc<Cluster>>,
        own: OwnPlace,
    ) -> Result<RequestContext, DecideError> {
        let context = RequestContext::new(query, cluster, &self.node_cache, &self.moment());
        Ok(context.map_err(|error| self.with_listing(error))?.without_own_pod(own))
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

#[cfg(test)]
mod tests;
