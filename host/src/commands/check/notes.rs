//! Remarks on a sidecar that is accepted and may not do what its author expects.

use plimsoll_core::{Member, PolicyConfig, Verb};

pub(super) fn of(member: &Member) -> Vec<String> {
    idle_weight(member).into_iter().collect()
}

fn idle_weight(member: &Member) -> Option<String> {
    let verbs = member.policy.verbs();
    let is_idle = !verbs.has(Verb::Score) && !verbs.has(Verb::Rank);
    let is_set = member.config.weight != PolicyConfig::default().weight;
    (is_set && is_idle).then(|| "the weight has no effect: the policy does not score".to_owned())
}
