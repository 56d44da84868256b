//! Remarks on a sidecar that is accepted and may not do what its author expects.

use plimsoll_core::{Member, PolicyConfig, Verb, secret_settings};

pub(super) fn of(member: &Member) -> Vec<String> {
    [secrets(member), idle_weight(member)].into_iter().flatten().collect()
}

/// Settings that reasons, explanations and the log do not show.
fn secrets(member: &Member) -> Option<String> {
    let hidden = secret_settings(&member.settings);
    let (first, more) = hidden.split_first()?;
    let names = more.iter().fold(first.clone(), |names, name| names + ", " + name);
    Some(format!("these settings count as secrets, so texts of the policy show <not shown> in their place: {names}"))
}

fn idle_weight(member: &Member) -> Option<String> {
    let verbs = member.policy.verbs();
    let is_idle = !verbs.has(Verb::Score) && !verbs.has(Verb::Rank);
    let is_set = member.config.weight != PolicyConfig::default().weight;
    (is_set && is_idle).then(|| "the weight has no effect: the policy does not score".to_owned())
}
