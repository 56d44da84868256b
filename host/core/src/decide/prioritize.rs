//! prioritize: how good is each node?

use super::{
    Caller, DecideError, RequestContext, ScoreScale,
    call::{failed, or_skip},
    lookup::PolicyLookup,
};
use crate::{
    decide::{Group, Member},
    model::{Ask, Fault, Mode, Verb},
};

/// The score of each node of the request, in its order.
pub(crate) fn prioritize(
    caller: &Caller,
    group: &Group,
    context: &RequestContext,
    scale: ScoreScale,
) -> Result<Vec<u32>, DecideError> {
    let all = context.node_set.whole_view();
    let members = |verb| {
        group
            .answering(Mode::Enforce, verb, context.pod(), context.in_force())
            .filter(|member| member.config.weight > 0)
    };
    // The value of each node is the weighted sum of its scores.
    let combined = &group.combined[Verb::Score as usize];
    let (lookups, mut nodes) = PolicyLookup::<u32>::of_all(members(Verb::Score), combined, &all);
    let mut weights = 0;
    if !nodes.is_empty() {
        for policy in lookups {
            let member = policy.member;
            let scores = caller.answers(policy, Verb::Score, &all, &nodes);
            let Some(scores) = or_skip(member, Verb::Score, scores)? else { continue };
            let weight = u64::from(member.config.weight);
            weights += weight;
            let weighted: Vec<u64> = scores.answers.iter().map(|score| weight * u64::from(*score)).collect();
            let add = |total: &mut u64, number: usize| {
                *total += weighted[number];
                true
            };
            nodes.apply(&scores, add).map_err(failed(member, Verb::Score))?;
        }
        // A score is about one node and cached; a rank is about all, and computed every time.
        for member in members(Verb::Rank) {
            let ranks = caller.ask(member, Verb::Rank, all.clone(), |ask, _| member.policy.rank(ask));
            let Some(ranks) = or_skip(member, Verb::Rank, ranks)? else { continue };
            let weight = u64::from(member.config.weight);
            weights += weight;
            nodes.split();
            nodes.values.iter_mut().zip(ranks).for_each(|(total, rank)| *total += weight * u64::from(rank));
        }
    }
    let means: Vec<u32> = nodes.values.iter().map(|total| scale.mean(*total, weights)).collect();
    let mut scores = nodes.by_node(&means);
    if matches!(scale, ScoreScale::FineWith(_)) {
        scale.break_ties(&mut scores, all.slots(), weights, context.pod(), context.cluster().order());
    }
    Ok(context.by_request(scores))
}

pub(super) fn ask_scores(member: &Member, verb: Verb, ask: &Ask, nodes: &[u32]) -> Result<Vec<u32>, Fault> {
    if verb == Verb::Rank { member.policy.rank(ask) } else { member.policy.score(ask, nodes) }
}
