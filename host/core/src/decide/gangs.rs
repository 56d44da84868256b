//! The tentative places of the members of pod groups (gangs).
//!
//! kube-scheduler simulates a pod group: it asks about its members one after another, before any of them is bound, and
//! tells nobody the nodes that it has chosen. It takes the node of a reply that leaves only one. So each member gets one
//! node, and the members after it see it there.
//!
//! ```text
//!  /filter of a ──> one node ──> a is there ──> /filter of b ──> ... ──┬──> /bind of a, of b, ...
//!       ^                                                              │
//!       └──────────────── the simulation has failed ───────────────────┘
//! ```

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::{
    Caller, FilterOutcome, Group, Query, Reason, RejectedBy, Rejection, RequestContext, ScoreScale, prioritize,
};
use crate::model::{Gang, Mode, Placed, Pod, Verb};

/// A simulation is over when no member was asked about for this long. kube-scheduler asks about the next member as soon
/// as it has the reply and has run its own plugins and other extenders, of which the slow ones take some 100 ms.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Maximum members of all simulations together; the oldest simulations go first.
const MAX_MEMBERS: usize = 10_000;

/// The reason for the nodes that a member could have and does not get.
const NOT_CHOSEN: &str = "another node was chosen for this member of the pod group";

/// The simulations that are under way, by pod group.
#[derive(Debug, Default)]
pub(crate) struct Gangs(Mutex<HashMap<Box<str>, Simulation>>);

#[derive(Debug)]
struct Simulation {
    /// In the order of the requests.
    members: Vec<GangMember>,
    last_asked: Instant,
}

/// A member that was asked about.
#[derive(Debug)]
struct GangMember {
    /// A pod that is created again has the same name often, and never the same UID.
    name: Box<str>,
    /// The pod on its node; none where it got none.
    place: Option<Arc<Pod>>,
    /// Whether it was asked about the node that it is nominated for, alone. If that is rejected, kube-scheduler asks about
    /// the others.
    is_preliminary: bool,
}

/// The key of the simulation that a filter request belongs to; none if the pod gets all nodes that fit.
pub(crate) fn gang_of(name: &str, group: &Group, query: &Query<'_>) -> Option<String> {
    let pod = &query.pod;
    let mut members = group.answering(Mode::Enforce, Verb::Filter, pod);
    let is_exact = members.any(|member| member.config.gang == Gang::Exact && member.may_count());
    let pod_group = pod.pod_group().filter(|_| is_exact && query.may_bind && !pod.uid().is_empty())?;
    Some(format!("{name} {}/{pod_group}", pod.namespace()))
}

/// Leaves one node: of those with the best score of the group those with the fewest pods, and of these the first by name.
pub(crate) fn keep_best(
    caller: &Caller,
    group: &Group,
    context: &RequestContext,
    mut outcome: FilterOutcome,
) -> FilterOutcome {
    let is_left = |index: u32| outcome.rejected.binary_search_by_key(&index, |rejection| rejection.node).is_err();
    let mut left: Vec<u32> = (0..context.len() as u32).filter(|index| is_left(*index)).collect();
    let nodes = 0..context.node_set.slots.len() as u32;
    let candidates: Vec<u32> = nodes.filter(|node| is_left(context.request_index(*node))).collect();
    if left.len() < 2 || candidates.is_empty() {
        return outcome;
    }
    let best = best_of(caller, group, &context.of_nodes(&candidates));
    let best = candidates.iter().find(|node| best == Some(context.slots()[**node as usize]));
    let best = best.map(|node| context.request_index(*node));
    left.retain(|index| Some(*index) != best);
    let reason = outcome.reasons.len() as u32;
    outcome.reasons.push(Reason::new(RejectedBy::Plimsoll, NOT_CHOSEN));
    outcome.rejected.extend(left.into_iter().map(|node| Rejection { node, reason, unresolvable: false }));
    outcome.rejected.sort_unstable_by_key(|rejection| rejection.node);
    outcome
}

/// The slot of the best node: of those with the best score of the group one with the fewest pods, and of these the first
/// by name.
pub(crate) fn best_of(caller: &Caller, group: &Group, context: &RequestContext) -> Option<u32> {
    // kube-scheduler goes on without scores, too.
    let scores = prioritize(caller, group, context, ScoreScale::Fine);
    let scores = scores.unwrap_or_else(|_| vec![0; context.slots().len()]);
    let order = |(slot, score): &(&u32, u32)| {
        let slot = context.cluster().slots().get(**slot as usize);
        let pods = slot.and_then(|slot| slot.placed.as_deref()).map(Placed::pods).map_or(0, <[_]>::len);
        (*score, Reverse(pods), Reverse(slot.map(|slot| slot.node.name())))
    };
    context.slots().iter().zip(scores).max_by_key(order).map(|(slot, _)| *slot)
}

/// The pod on the one node that is left to it; none if none is left.
pub(crate) fn place_of(context: &RequestContext, outcome: &FilterOutcome) -> Option<Pod> {
    if outcome.rejected.len() + 1 != context.len() {
        return None;
    }
    let rejected = outcome.rejected.iter().map(|rejection| rejection.node);
    let left =
        (0..).zip(rejected).find(|(index, node)| index != node).map_or(outcome.rejected.len() as u32, |(at, _)| at);
    let node = context.node_name(left)?;
    Some(context.pod().placed_on(&node, &BTreeMap::new(), &BTreeMap::new()))
}

// === impl Gangs ===

impl Gangs {
    /// A member is asked about; returns the members before it, on their nodes.
    ///
    /// A member that was asked about before begins another simulation.
    pub(crate) fn ask(&self, gang: &str, query: &Query<'_>, now: Instant) -> Vec<Arc<Pod>> {
        let mut gangs = self.0.lock();
        gangs.retain(|_, simulation| now.saturating_duration_since(simulation.last_asked) <= MAX_PAUSE);
        let mut members = gangs.remove(gang).map_or_else(Vec::new, |simulation| simulation.members);
        let name = query.pod.name();
        let (is_again, goes_on) = match members.as_slice() {
            [.., last] if *last.name == *name => (true, last.is_preliminary && last.place.is_none()),
            members => (members.iter().any(|member| *member.name == *name), false),
        };
        if goes_on {
            members.pop();
        } else if is_again {
            members.clear();
        }
        let places = members.iter().filter_map(|member| member.place.clone()).collect();
        let is_preliminary =
            !goes_on && query.nodes.len() == 1 && query.pod.field("/status/nominatedNodeName").is_some();
        members.push(GangMember { name: name.into(), place: None, is_preliminary });
        while members.len() + gangs.values().map(|simulation| simulation.members.len()).sum::<usize>() > MAX_MEMBERS {
            let oldest = gangs.iter().min_by_key(|(_, simulation)| simulation.last_asked).map(|(gang, _)| gang.clone());
            let Some(oldest) = oldest else { break };
            gangs.remove(&oldest);
        }
        gangs.insert(gang.into(), Simulation { members, last_asked: now });
        places
    }

    /// The member that was asked about last has this place.
    pub(crate) fn place(&self, gang: &str, pod: Pod, now: Instant) {
        let mut gangs = self.0.lock();
        let Some(simulation) = gangs.get_mut(gang) else { return };
        simulation.last_asked = now;
        if let Some(member) = simulation.members.iter_mut().rfind(|member| *member.name == *pod.name()) {
            member.place = Some(Arc::new(pod));
        }
    }

    /// A pod is being bound: its place is reserved from now on, or it has none.
    pub(crate) fn bound(&self, uid: &str) {
        let mut gangs = self.0.lock();
        let places = gangs.values_mut().flat_map(|simulation| &mut simulation.members).map(|member| &mut member.place);
        places.filter(|place| place.as_ref().is_some_and(|pod| pod.uid() == uid)).for_each(|place| *place = None);
    }
}
