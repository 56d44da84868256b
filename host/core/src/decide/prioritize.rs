//! prioritize: how good is each node?

use std::sync::Arc;

use crate::{Ask, Group, Member, Mode, Verb, View, cache::Answers};

use super::{
    Caller, DecideError, RequestContext,
    cores::{run_all, threads_for},
    jointly,
};

/// kube-scheduler's `MaxExtenderPriority`.
const MAX_EXTENDER_SCORE: u64 = 10;

/// The score of each node of the request, 0 to 10, in its order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PrioritizeOutcome {
    /// By index in the request.
    pub scores: Vec<u8>,
}

pub(crate) fn prioritize(
    caller: &Caller,
    group: &Group,
    context: &RequestContext,
) -> Result<PrioritizeOutcome, DecideError> {
    let all = context.node_set().whole_view();
    let known = jointly::score(caller, group, &all);
    let asked = |verb| {
        let members = group.answering(Mode::Enforce, verb, context.pod());
        members.filter(|member| member.config.weight > 0).map(move |member| (member, verb))
    };
    let scores = asked(Verb::Score).filter(|_| known.is_none());
    let jobs: Vec<_> = if all.node_count() == 0 { vec![] } else { scores.chain(asked(Verb::Rank)).collect() };
    if let (Some(known), true) = (&known, jobs.is_empty()) {
        let by_node = known.map(all.slots(), |total| weighted_mean(total, known.weights));
        return Ok(PrioritizeOutcome { scores: context.by_request(by_node) });
    }
    let everyone = context.node_set().everyone();
    let (mut totals, mut weights) = match known {
        Some(known) => (known.map(all.slots(), |total| total), known.weights),
        None => (vec![0; everyone.len()], 0),
    };
    let takes_long = |(member, verb): &(&Arc<Member>, Verb)| threads_for(member.cache.call_times.last(*verb)) > 1;
    let answers =
        run_all(caller.blocking(), &jobs, takes_long, |(member, verb)| ask(caller, member, *verb, &all, &everyone));
    for ((member, _), scores) in jobs.iter().zip(answers) {
        let Some(scores) = scores? else { continue };
        let weight = u64::from(member.config.weight);
        weights += weight;
        let weighted: Vec<u64> = scores.distinct().map(|score| weight * u64::from(*score)).collect();
        for (total, which) in totals.iter_mut().zip(scores.numbers()) {
            *total += weighted[*which as usize];
        }
    }
    let by_node = totals.iter().map(|total| weighted_mean(*total, weights)).collect();
    Ok(PrioritizeOutcome { scores: context.by_request(by_node) })
}

/// A score is about one node and cached; a rank is about all, and computed every time.
fn ask(
    caller: &Caller,
    member: &Arc<Member>,
    verb: Verb,
    all: &View,
    nodes: &[u32],
) -> Result<Option<Answers<u32>>, DecideError> {
    if verb == Verb::Score {
        return caller.lookup_or_skip(member, verb, all, nodes, || all.clone());
    }
    let ask = |ask: &Ask, _: &[u32]| member.policy.rank(ask);
    Ok(caller.call_or_skip(member, verb, all.clone(), ask)?.map(Answers::plain))
}

pub(super) fn ask_scores(member: &Member, verb: Verb, ask: &Ask, nodes: &[u32]) -> Result<Vec<u32>, crate::Fault> {
    if verb == Verb::Rank { member.policy.rank(ask) } else { member.policy.score(ask, nodes) }
}

/// The mean of scores of 0 to 100 on the scale of 0 to 10, rounded half up.
fn weighted_mean(total: u64, weights: u64) -> u8 {
    if weights == 0 {
        return 0;
    }
    ((total + 5 * weights) / (10 * weights)).min(MAX_EXTENDER_SCORE) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_rounded_half_up_to_tenths() {
        let table = [(0, 1, 0), (4, 1, 0), (5, 1, 1), (14, 1, 1), (15, 1, 2), (94, 1, 9), (95, 1, 10), (100, 1, 10)];
        for (total, weights, expected) in table {
            assert_eq!(weighted_mean(total, weights), expected, "{total}/{weights}");
        }
        assert_eq!(weighted_mean(100 + 3 * 20, 4), 4);
        assert_eq!(weighted_mean(0, 0), 0);
    }
}
