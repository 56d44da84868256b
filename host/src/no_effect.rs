//! What a sidecar says and has no effect: nobody notices, since nothing fails.

use std::sync::Arc;

use plimsoll_core::{Cluster, Group, Member, Mode, Pod, Roster, Verb};

use crate::{facts::UNDECLARED_SOURCE, text};

/// What has no effect in a policy's sidecar. `is_declared`: whether a source of the gateway has this name.
pub(crate) fn of(
    member: &Member,
    roster: &Roster,
    cluster: Option<&Cluster>,
    is_declared: impl Fn(&str) -> bool,
) -> Vec<String> {
    if member.config.mode == Mode::Off || member.is_stand_in() {
        return vec![];
    }
    let sources = member.gateway_sources().filter(|(_, global)| !is_declared(global));
    let sources = sources.map(|(source, _)| format!("facts: {source}: {UNDECLARED_SOURCE}"));
    let nobody = cluster.and_then(|cluster| unknown_namespaces(member, cluster).or_else(|| no_pods(member, cluster)));
    nobody.into_iter().chain(weight(member, roster)).chain(sources).collect()
}

/// A match with namespaces of which the cluster has none: no pod can be there.
fn unknown_namespaces(member: &Member, cluster: &Cluster) -> Option<String> {
    let names = member.config.matches.namespaces.as_ref().filter(|_| cluster.knows_namespaces())?;
    let is_none_known = names.iter().all(|name| cluster.namespace(name).is_none());
    is_none_known.then(|| format!("match.namespaces: the cluster has no namespace {}", names.join(", ")))
}

/// A match that no pod on a node has, of a policy that was asked about none.
fn no_pods(member: &Member, cluster: &Cluster) -> Option<String> {
    let accepts = |pod: &Arc<Pod>| member.config.matches.accepts(pod, cluster.namespace(pod.namespace()));
    let mut placed = cluster.slots().iter().flat_map(|slot| slot.placed.iter().flat_map(|placed| placed.pods()));
    let is_none = member.calls.count() == 0 && cluster.pod_count() > 0 && !placed.any(accepts);
    let pods = text::count(cluster.pod_count(), "pod");
    is_none.then(|| format!("its match has no effect yet: it matches none of {pods} on nodes"))
}

fn weight(member: &Member, roster: &Roster) -> Option<String> {
    let (weight, scores) = (member.config.weight, |other: &Member| {
        let verbs = other.policy.verbs();
        verbs.has(Verb::Score) || verbs.has(Verb::Rank)
    });
    if weight < 2 {
        return None;
    }
    if !scores(member) {
        return Some(format!("the weight {weight} has no effect: the policy does not score"));
    }
    let counts = |other: &Member| other.config.mode == Mode::Enforce && other.config.weight > 0 && scores(other);
    let in_group = roster.group(&member.group).map(Group::members).unwrap_or_default();
    let is_alone = counts(member) && in_group.iter().filter(|other| counts(other)).count() == 1;
    is_alone.then(|| format!("the weight {weight} has no effect, since no other policy of its group scores"))
}
