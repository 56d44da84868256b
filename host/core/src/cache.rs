//! What policies have answered, in the decision cache of [`plimsoll_decision_cache`]: pods are its subjects, the nodes
//! of a [`Cluster`] its rows.
//!
//! ```text
//!  Member ── DecisionCache ──> AnswerCache<Verdict>, AnswerCache<u32>     (one for each verb)
//!  Cluster ── Columns                                                     (what was read of its nodes)
//!  View ── ViewSource ──> Attribute ──> Fingerprint                       (what the cache reads)
//!       └── Recording ──> ReadLog                                         (what a guest reads)
//! ```

mod attribute;
mod recheck;
mod recording;
mod source;
mod table;

pub use self::{
    recording::ReadLine,
    table::{Condition, DecisionRow, DecisionTable},
};
pub use plimsoll_decision_cache::Disabled;

pub(crate) use self::{
    attribute::{Attribute, NODE, PODS},
    recheck::{Draw, Recheck},
    recording::Recording,
    source::{ViewSource, fingerprints_of_nodes},
};
use plimsoll_decision_cache::{Evict, HeapSize, evict_to};

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::{Ask, Cluster, Fault, Policy, Roster, Turns, Verb, Verdict, pace::Pace};

pub(crate) type AnswerCache<A> = plimsoll_decision_cache::AnswerCache<ViewSource, A>;
pub(crate) type Answers<A> = plimsoll_decision_cache::Answers<Attribute, A>;
pub(crate) type ByClass<A> = plimsoll_decision_cache::ByClass<Attribute, A>;
pub(crate) type Columns = plimsoll_decision_cache::Columns<Attribute>;
pub(crate) type Evaluation<A> = plimsoll_decision_cache::Evaluation<ViewSource, A>;
pub(crate) type Lookup<A> = plimsoll_decision_cache::Lookup<Attribute, A>;
pub(crate) type RecentCombined = plimsoll_decision_cache::RecentCombined<Attribute>;
pub(crate) type Update<A> = plimsoll_decision_cache::Update<ViewSource, A>;

/// What one version of a policy has answered.
#[derive(Debug, Default)]
pub struct DecisionCache {
    filter: AnswerCache<Verdict>,
    score: AnswerCache<u32>,
    /// How long it takes to answer.
    pub(crate) pace: Pace,
}

/// How much is cached, and how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimit {
    /// Bytes of all cached answers and columns together.
    pub bytes: usize,
    /// One in this many cached answers is evaluated again after the reply; 0: none is.
    pub recheck_every: u64,
}

/// An answer that is cached, and the verb that it answers.
pub(crate) trait CachedAnswer: HeapSize + Clone + PartialEq + Send + Sync + 'static {
    /// A policy's answers of this type.
    fn cache(cache: &DecisionCache) -> &AnswerCache<Self>;
    /// Asks the policy about one node after another.
    fn ask(policy: &dyn Policy, ask: &Ask, turns: &mut dyn Turns<Self>) -> Result<(), Fault>;
    /// Asks the policy about each of some nodes.
    fn ask_all(policy: &dyn Policy, ask: &Ask, nodes: &[u32]) -> Result<Vec<Self>, Fault>;
}

/// A number that no record had before: two records with one stamp are the same record.
pub(crate) fn stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

// === impl DecisionCache ===

impl DecisionCache {
    /// Bytes of everything.
    pub fn bytes(&self) -> usize {
        self.caches().iter().map(|cache| cache.bytes()).sum()
    }

    /// Why answers to a verb are not cached, if that is so; those to other verbs never are.
    pub fn disabled(&self, verb: Verb) -> Option<Disabled> {
        match verb {
            Verb::Filter => self.filter.disabled(),
            Verb::Score => self.score.disabled(),
            _ => None,
        }
    }

    /// The decision table that the policy has shown so far; none for a verb whose answers are never cached.
    pub fn decision_table(&self, verb: Verb, cluster: &Arc<Cluster>) -> Option<DecisionTable> {
        match verb {
            Verb::Filter => Some(DecisionTable::of(&self.filter, cluster)),
            Verb::Score => Some(DecisionTable::of(&self.score, cluster)),
            _ => None,
        }
    }

    fn caches(&self) -> [&dyn Evict; 2] {
        [&self.filter, &self.score]
    }
}

// === impl CacheLimit ===

impl CacheLimit {
    /// What the columns of one cluster may take: of the one in force, or of that of the nodes that requests bring.
    pub(crate) const fn columns(self) -> usize {
        self.bytes / 4
    }

    /// Drops the least recently used answers, where there are more than may be.
    pub(crate) fn keep_within(self, roster: &Roster) {
        let most = self.bytes - 2 * self.columns();
        if roster.cached_bytes() <= most {
            return;
        }
        roster.groups().for_each(|(_, group)| group.drop_combined());
        let caches: Vec<&dyn Evict> = roster.members().flat_map(|member| member.cache.caches()).collect();
        // The rest is for combined classes, which are small: the next request makes them again.
        evict_to(&caches, most / 8 * 7);
    }
}

impl Default for CacheLimit {
    fn default() -> Self {
        Self { bytes: 256 << 20, recheck_every: 1_000 }
    }
}

// === impl CachedAnswer ===

impl CachedAnswer for Verdict {
    fn cache(cache: &DecisionCache) -> &AnswerCache<Self> {
        &cache.filter
    }

    fn ask(policy: &dyn Policy, ask: &Ask, turns: &mut dyn Turns<Self>) -> Result<(), Fault> {
        policy.filter_in_turn(ask, turns)
    }

    fn ask_all(policy: &dyn Policy, ask: &Ask, nodes: &[u32]) -> Result<Vec<Self>, Fault> {
        policy.filter(ask, nodes)
    }
}

impl CachedAnswer for u32 {
    fn cache(cache: &DecisionCache) -> &AnswerCache<Self> {
        &cache.score
    }

    fn ask(policy: &dyn Policy, ask: &Ask, turns: &mut dyn Turns<Self>) -> Result<(), Fault> {
        policy.score_in_turn(ask, turns)
    }

    fn ask_all(policy: &dyn Policy, ask: &Ask, nodes: &[u32]) -> Result<Vec<Self>, Fault> {
        policy.score(ask, nodes)
    }
}

impl HeapSize for Verdict {
    fn heap_size(&self) -> usize {
        match self {
            Self::Fits => 0,
            Self::Unschedulable(reason) | Self::Unresolvable(reason) => reason.len(),
        }
    }
}
