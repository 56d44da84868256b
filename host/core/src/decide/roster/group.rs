//! The policies behind one URL.

use std::sync::Arc;

use super::member::Member;
use crate::{
    cache::RecentCombined,
    model::{Mode, Pod, Verb},
};

/// The policies behind one URL, in the order in which filters run.
#[derive(Debug, Default, Clone)]
pub struct Group {
    /// Shared, so that a request takes the whole group without a copy.
    members: Arc<[Arc<Member>]>,
    /// Whether the filter of one is in force and may read placed pods.
    reads_pods: bool,
    /// Whether any may score nodes.
    has_scores: bool,
    /// The classes of nodes that they tell apart together, by verb.
    combined: Arc<[RecentCombined; Verb::ALL.len()]>,
}

// === impl Group ===

impl Group {
    /// A group of these policies, in order.
    pub fn new(mut members: Vec<Arc<Member>>) -> Self {
        members.sort_by(|a, b| (a.config.order, &a.name).cmp(&(b.config.order, &b.name)));
        let scores = |member: &Arc<Member>| {
            let verbs = member.policy.verbs();
            member.config.mode != Mode::Off && (verbs.has(Verb::Score) || verbs.has(Verb::Rank))
        };
        let reads_pods = members.iter().any(|member| member.reads_pods());
        let has_scores = members.iter().any(scores);
        Self { members: members.into(), reads_pods, has_scores, combined: Arc::default() }
    }

    /// Whether a filter that is in force may read placed pods.
    pub(crate) const fn reads_pods(&self) -> bool {
        self.reads_pods
    }

    /// Whether kube-scheduler may ask for scores.
    pub(crate) const fn has_scores(&self) -> bool {
        self.has_scores
    }

    /// All policies, in the order in which filters run.
    pub fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    /// The classes of nodes that its policies tell apart together when they are asked a verb.
    pub(crate) fn combined(&self, verb: Verb) -> &RecentCombined {
        &self.combined[verb as usize]
    }

    /// Bytes of the entries of [`Group::combined`].
    pub(super) fn combined_bytes(&self) -> usize {
        self.combined.iter().map(RecentCombined::bytes).sum()
    }

    /// Drops the entries of [`Group::combined`].
    pub(crate) fn drop_combined(&self) {
        self.combined.iter().for_each(RecentCombined::clear);
    }

    /// Those that are asked this verb about the pod in this mode, in order.
    pub fn answering(&self, mode: Mode, verb: Verb, pod: &Pod) -> impl Iterator<Item = &Arc<Member>> {
        self.members.iter().filter(move |member| member.answers(mode, verb, pod))
    }
}
