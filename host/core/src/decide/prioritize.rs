//! prioritize: how good is each node?

use crate::{Ask, Fault, Group, Member, Mode, Verb, View};

use super::{
    Caller, DecideError, RequestContext, ScoreScale,
    call::{failed, or_skip},
    feasible::{FeasibleNodes, PolicyAnswers, PolicyLookup, check_covered, uncovered},
};

/// The score of each node of the request, in its order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PrioritizeOutcome {
    /// By index in the request.
    pub scores: Vec<u32>,
}

/// The weighted sums of all scores.
#[derive(Default)]
struct Totals {
    by_class: Vec<u64>,
    /// Of the policies whose scores do not follow from classes; empty if there is none.
    by_node: Vec<u64>,
    weights: u64,
}

pub(crate) fn prioritize(
    caller: &Caller,
    group: &Group,
    context: &RequestContext,
    scale: ScoreScale,
) -> Result<PrioritizeOutcome, DecideError> {
    let all = context.node_set().whole_view();
    let members = |verb| group.answering(Mode::Enforce, verb, context.pod()).filter(|member| member.config.weight > 0);
    let recent = group.combined(Verb::Score);
    let (lookups, nodes) = PolicyLookup::<u32>::of_all(caller.blocking, members(Verb::Score), recent, &all);
    let mut totals = Totals::new(&nodes);
    if !nodes.is_empty() {
        for PolicyLookup { member, cached } in lookups {
            let scores = caller.lookup_or_call(member, Verb::Score, &all, &nodes, cached);
            if let Some(scores) = or_skip(member, Verb::Score, scores)? {
                totals.add(member, &scores, &nodes).map_err(failed(member, Verb::Score))?;
            }
        }
        // A score is about one node and cached; a rank is about all, and computed every time.
        for member in members(Verb::Rank) {
            let rank = |ask: &Ask, _: &[u32]| member.policy.rank(ask);
            if let Some(scores) = caller.call_or_skip(member, Verb::Rank, all.clone(), rank)? {
                totals.add_ranks(member, &scores, &nodes).map_err(failed(member, Verb::Rank))?;
            }
        }
    }
    let mut scores = totals.mean(&all, &nodes, scale);
    if matches!(scale, ScoreScale::FineWith(_)) {
        scale.break_ties(&mut scores, all.slots(), totals.weights, context.pod(), context.cluster().order());
    }
    Ok(PrioritizeOutcome { scores: context.by_request(scores) })
}

pub(super) fn ask_scores(member: &Member, verb: Verb, ask: &Ask, nodes: &[u32]) -> Result<Vec<u32>, Fault> {
    if verb == Verb::Rank { member.policy.rank(ask) } else { member.policy.score(ask, nodes) }
}

// === impl Totals ===

impl Totals {
    fn new(nodes: &FeasibleNodes) -> Self {
        let classes = if let FeasibleNodes::ByClass(classes) = nodes { classes.class_count() } else { 0 };
        Self { by_class: vec![0; classes], ..Self::default() }
    }

    /// Adds the scores of a policy about the feasible nodes.
    ///
    /// # Errors
    /// [`uncovered`].
    fn add(&mut self, member: &Member, scores: &PolicyAnswers<u32>, nodes: &FeasibleNodes) -> Result<(), Fault> {
        let weight = u64::from(member.config.weight);
        self.weights += weight;
        match scores {
            PolicyAnswers::ByClass(scores) => {
                let FeasibleNodes::ByClass(classes) = nodes else { return Err(uncovered()) };
                for (class, _, score) in classes.answers(scores) {
                    self.by_class[class] += weight * u64::from(*score.ok_or_else(uncovered)?);
                }
            }
            PolicyAnswers::ByNode(scores) => {
                check_covered(scores, nodes.node_count())?;
                let weighted: Vec<u64> = scores.distinct().map(|score| weight * u64::from(*score)).collect();
                self.by_node.resize(scores.numbers().len(), 0);
                for (total, which) in self.by_node.iter_mut().zip(scores.numbers()) {
                    *total += weighted[*which as usize];
                }
            }
        }
        Ok(())
    }

    /// Adds the ranks by a policy, one for each node.
    ///
    /// # Errors
    /// [`uncovered`].
    fn add_ranks(&mut self, member: &Member, ranks: &[u32], nodes: &FeasibleNodes) -> Result<(), Fault> {
        if ranks.len() != nodes.node_count() {
            return Err(uncovered());
        }
        let weight = u64::from(member.config.weight);
        self.weights += weight;
        self.by_node.resize(ranks.len(), 0);
        for (total, rank) in self.by_node.iter_mut().zip(ranks) {
            *total += weight * u64::from(*rank);
        }
        Ok(())
    }

    /// The mean score of each node.
    fn mean(&self, all: &View, nodes: &FeasibleNodes, scale: ScoreScale) -> Vec<u32> {
        let mean = |total: u64| scale.mean(total, self.weights);
        let FeasibleNodes::ByClass(classes) = nodes else {
            return if self.by_node.is_empty() {
                vec![0; all.node_count()]
            } else {
                self.by_node.iter().map(|total| mean(*total)).collect()
            };
        };
        let (slots, by_slot) = (all.slots().iter(), classes.by_slot());
        if self.by_node.is_empty() {
            let by_class: Vec<u32> = self.by_class.iter().map(|total| mean(*total)).collect();
            return slots.map(|slot| by_class[by_slot[*slot as usize] as usize]).collect();
        }
        let of_class = |slot: &u32| self.by_class[by_slot[*slot as usize] as usize];
        slots.zip(&self.by_node).map(|(slot, total)| mean(total + of_class(slot))).collect()
    }
}
