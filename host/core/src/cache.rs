//! Answers of policies in the decision cache of [`plimsoll_decision_cache`]: pods are its subjects, the nodes
//! of a [`Cluster`] its rows. A pod class is a subject class of the cache, and a node class is one of its row classes.
//!
//! ```text
//!  Member ── DecisionCache ──> AnswerCache<Verdict>, AnswerCache<u32>     (one for each verb)
//!  Cluster ── Columns                                                     (the values that were read of its nodes)
//!  View ── ViewSource ──> Attribute ──> Fingerprint                       (the reads of the cache)
//!       └── Recording ──> ReadLog                                         (the reads of a guest)
//! ```

mod table;

pub use self::table::{Condition, DecisionRow, DecisionTable};
pub use plimsoll_decision_cache::Disabled;

use std::{fmt::Debug, sync::Arc};

use plimsoll_decision_cache::{Answer, Evict, HeapSize};

use crate::model::{Ask, Attribute, Cluster, Fault, NodeSource, Policy, Verb, Verdict, ViewSource, answer::VerbAnswer};

pub(crate) type AnswerCache<A> = plimsoll_decision_cache::AnswerCache<ViewSource, A>;
/// The answers of one policy to one request.
pub type Answers<A> = plimsoll_decision_cache::Answers<Attribute, A>;
pub(crate) type Lookup<A> = plimsoll_decision_cache::Lookup<Attribute, A>;
pub(crate) type Evaluation<A> = plimsoll_decision_cache::Evaluation<ViewSource, A>;
pub(crate) type RecentCombined = plimsoll_decision_cache::RecentCombined<Attribute>;

/// The cached answers of one version of a policy.
#[derive(Debug, Default)]
pub struct DecisionCache {
    filter: AnswerCache<Verdict>,
    score: AnswerCache<u32>,
}

/// An answer that is cached, and the verb that it answers.
pub(crate) trait CachedAnswer: Answer + VerbAnswer + Debug {
    /// A policy's answers of this type.
    fn cache(cache: &DecisionCache) -> &AnswerCache<Self>;
    /// Asks the policy about one node after another.
    fn ask(policy: &dyn Policy, ask: &Ask, nodes: &mut dyn NodeSource<Self>) -> Result<(), Fault>;
}

// === impl DecisionCache ===

impl DecisionCache {
    /// The cache of a policy whose answers each depend on everything: it keeps nothing.
    pub(crate) fn off() -> Self {
        let cache = Self::default();
        cache.filter.disable(Disabled::ReadsEverything);
        cache.score.disable(Disabled::ReadsEverything);
        cache
    }

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

    /// The caches of all verbs.
    pub(crate) fn caches(&self) -> [&dyn Evict; 2] {
        [&self.filter, &self.score]
    }
}

// === impl CachedAnswer ===

impl CachedAnswer for Verdict {
    fn cache(cache: &DecisionCache) -> &AnswerCache<Self> {
        &cache.filter
    }

    fn ask(policy: &dyn Policy, ask: &Ask, nodes: &mut dyn NodeSource<Self>) -> Result<(), Fault> {
        policy.filter_each(ask, nodes)
    }
}

impl CachedAnswer for u32 {
    fn cache(cache: &DecisionCache) -> &AnswerCache<Self> {
        &cache.score
    }

    fn ask(policy: &dyn Policy, ask: &Ask, nodes: &mut dyn NodeSource<Self>) -> Result<(), Fault> {
        policy.score_each(ask, nodes)
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
