//! The tentative places of pods that have a node long before their bind call: members of pod groups (gangs), and pods
//! whose volumes or claims are bound late.
//!
//! kube-scheduler takes the node of a reply that leaves only one. So such a pod gets one node, and counts there for every
//! other pod, whichever asks, until its bind.
//!
//! ```text
//!  /filter of a ──> one node ──> a's place ──┬──> nominated or bound: counts as that
//!                                            ├──> /bind of a: a reservation
//!                                            ├──> asked about again: another place, or none
//!                                            └──> its time is over: pods that it kept away are woken
//! ```

use std::{
    cmp::Reverse,
    hash::{BuildHasher, RandomState},
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::{
    Caller, FilterOutcome, Group, Query, Reason, RejectedBy, Rejection, RequestContext, ScheduledCondition, ScoreScale,
    prioritize,
};
use crate::model::{Cluster, Mode, PlaceMode, Pod, Slot, Verb};

/// The time that a place lasts after kube-scheduler has asked about the pod, or about a member of its gang.
const AFTER_ASK: Duration = Duration::from_secs(2);

/// The time that the other members' places last once a member of the gang is nominated or bound: kube-scheduler nominates
/// 250 members within 3 s.
const AFTER_SUCCESS: Duration = Duration::from_mins(1);

/// The longest time of a place where kube-scheduler nominates no pod that waits for volumes (before 1.35): its
/// `bindTimeoutSeconds`.
const WITHOUT_NOMINATION: Duration = Duration::from_mins(10);

/// The longest time that any place lasts.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_mins(11);

/// The time for which pods may have tentative places that an earlier leader has given.
pub(crate) const PLACES_OF_EARLIER_LEADER: Duration = Duration::from_secs(2);

/// The time for which pods of gangs or with volumes that are bound under an earlier leader go first: kube-scheduler tries
/// them again after 10 s at most.
pub(crate) const PODS_OF_EARLIER_LEADER: Duration = Duration::from_secs(30);

/// Maximum places.
const MAX_PLACES: usize = 10_000;

/// The reason for the nodes that the pod could have and does not get.
const NOT_CHOSEN: &str = "another node was chosen for this pod, which has it before its bind";

/// The label of a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The pods with a tentative place.
#[derive(Debug, Default)]
pub(crate) struct TentativePlaces(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// By UID.
    places: HashMap<Box<str>, Place>,
    /// By namespace and name of the pod group.
    gangs: HashMap<Box<str>, GangTimes>,
    /// Whether kube-scheduler nominates pods that wait for volumes or claims.
    has_nominations: bool,
}

#[derive(Debug)]
struct Place {
    pod: Arc<Pod>,
    gang: Option<Box<str>>,
    asked: Instant,
}

#[derive(Debug)]
struct GangTimes {
    last_asked: Instant,
    /// When a member was first seen nominated or bound since it was asked about.
    succeeded: Option<Instant>,
}

/// The pod of a filter request that gets one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EarlyPod {
    /// A member of this pod group.
    OfGang(Box<str>),
    /// One that waits for volumes or claims, or any pod where a policy says so.
    Alone,
}

/// Which pods of a group get one node, if kube-scheduler asks and a filter of the group counts pods.
pub(crate) fn place_mode(group: &Group, query: &Query<'_>, cluster: Option<&Arc<Cluster>>) -> Option<PlaceMode> {
    if !query.may_bind || query.pod.uid().is_empty() {
        return None;
    }
    let counting = group
        .answering(Mode::Enforce, Verb::Filter, &query.pod, cluster.map(AsRef::as_ref))
        .filter(|member| member.may_count());
    let modes: Vec<PlaceMode> = counting.map(|member| member.config.places).collect();
    [PlaceMode::All, PlaceMode::Early].into_iter().find(|mode| modes.contains(mode))
}

/// Whether the pod gets one node in this mode: it has its node long before its bind call.
pub(crate) fn early_pod(mode: PlaceMode, pod: &Pod, cluster: Option<&Arc<Cluster>>) -> Option<EarlyPod> {
    if let Some(name) = pod.pod_group() {
        return Some(EarlyPod::OfGang(format!("{}/{name}", pod.namespace()).into()));
    }
    let is_late = || cluster.is_some_and(|cluster| cluster.has_late_volumes(pod) == Some(true));
    (mode == PlaceMode::All || is_late()).then_some(EarlyPod::Alone)
}

/// Leaves one node, the [best](best_of).
pub(crate) fn keep_best(caller: &Caller, group: &Group, context: &RequestContext, outcome: &mut FilterOutcome) {
    let mut left = outcome.kept(context.len());
    let nodes = 0..context.slots().len() as u32;
    let candidates: Vec<u32> = nodes.filter(|node| left.binary_search(&context.request_index(*node)).is_ok()).collect();
    if left.len() < 2 || candidates.is_empty() {
        return;
    }
    let best = best_of(caller, group, &context.of_nodes(&candidates));
    let best = candidates.iter().find(|node| best == Some(context.slots()[**node as usize]));
    let best = best.map(|node| context.request_index(*node));
    left.retain(|index| Some(*index) != best);
    let reason = outcome.reasons.len() as u32;
    outcome.reasons.push(Reason::new(RejectedBy::Plimsoll, NOT_CHOSEN));
    outcome.rejected.extend(left.into_iter().map(|node| Rejection { node, reason, unresolvable: false }));
    outcome.rejected.sort_unstable_by_key(|rejection| rejection.node);
}

/// The slot of the best node: of those with the best score of the group one in a zone with the fewest pods of the same
/// owner, of these one with the fewest of them itself, and of these any.
pub(crate) fn best_of(caller: &Caller, group: &Group, context: &RequestContext) -> Option<u32> {
    // kube-scheduler goes on without scores, too.
    let scores = prioritize(caller, group, context, ScoreScale::Fine);
    let scores = scores.unwrap_or_else(|_| vec![0; context.slots().len()]);
    let best = scores.iter().max().copied()?;
    let (slots, pod) = (context.cluster().slots(), context.pod());
    let zone = |slot: &Slot| slot.node.labels().get(ZONE).map(Box::<str>::from);
    let mut by_zone: HashMap<Option<Box<str>>, usize> = HashMap::new();
    for slot in slots.iter() {
        *by_zone.entry(zone(slot)).or_default() += siblings(slot, pod);
    }
    let order = |slot: &&u32| {
        let known = slots.get(**slot as usize)?;
        let random = HASHER.hash_one((pod.uid(), known.node.name(), caller.deadline));
        Some((by_zone.get(&zone(known)).copied(), siblings(known, pod), Reverse(random)))
    };
    let candidates = context.slots().iter().zip(&scores).filter(|(_, score)| **score == best).map(|(slot, _)| slot);
    candidates.min_by_key(order).copied()
}

/// The number of pods on a node that have the same owner, or are of the same namespace if the pod has none.
fn siblings(slot: &Slot, pod: &Pod) -> usize {
    let owner = pod.controller();
    let is_sibling = |other: &&Arc<Pod>| match owner {
        Some(owner) => other.controller() == Some(owner),
        None => other.namespace() == pod.namespace(),
    };
    slot.placed.iter().flat_map(|placed| placed.pods()).filter(is_sibling).count()
}

// === impl TentativePlaces ===

impl TentativePlaces {
    /// Whether kube-scheduler nominates pods that wait for volumes or claims, as from 1.35 on.
    pub(crate) fn set_nominations(&self, has_nominations: bool) {
        self.0.lock().has_nominations = has_nominations;
    }

    /// kube-scheduler asks about the pod. Returns whether it had a place, which is over.
    pub(crate) fn ask(&self, early: &EarlyPod, uid: &str, now: Instant) -> bool {
        let mut table = self.0.lock();
        if let EarlyPod::OfGang(gang) = early {
            let times = GangTimes { last_asked: now, succeeded: None };
            // A gang that is asked about again is simulated again.
            table.gangs.insert(gang.clone(), times);
        }
        table.places.remove(uid).is_some()
    }

    /// The pod gets a place. Returns whether there is room for it.
    pub(crate) fn give(&self, early: &EarlyPod, pod: &Arc<Pod>, now: Instant) -> bool {
        let mut table = self.0.lock();
        if table.places.len() >= MAX_PLACES {
            return false;
        }
        let gang = if let EarlyPod::OfGang(gang) = early { Some(gang.clone()) } else { None };
        if let Some(times) = gang.as_ref().and_then(|gang| table.gangs.get_mut(gang)) {
            times.last_asked = now;
        }
        table.places.insert(pod.uid().into(), Place { pod: Arc::clone(pod), gang, asked: now });
        true
    }

    /// Whether the pod has a place.
    pub(crate) fn has(&self, uid: &str) -> bool {
        self.0.lock().places.contains_key(uid)
    }

    /// The pod's bind has failed. Returns whether it had a place, which is over.
    pub(crate) fn not_bound(&self, uid: &str) -> bool {
        self.0.lock().places.remove(uid).is_some()
    }

    /// The pod is bound, nominated by kube-scheduler, or gone: the store of the cluster knows where it counts.
    pub(crate) fn settled(&self, uid: &str, now: Instant) {
        let mut table = self.0.lock();
        let Some(place) = table.places.remove(uid) else { return };
        if let Some(times) = place.gang.as_ref().and_then(|gang| table.gangs.get_mut(gang)) {
            times.succeeded.get_or_insert(now);
        }
    }

    /// The watch shows a pod that waits. Returns whether its place is over: a new condition says that its attempt has
    /// failed. A gang's members get theirs together.
    pub(crate) fn shown(&self, pod: &Pod) -> bool {
        let mut table = self.0.lock();
        let has_failed =
            |place: &Place| place.gang.is_none() && ScheduledCondition::of(&place.pod) != ScheduledCondition::of(pod);
        let is_over = table.places.get(pod.uid()).is_some_and(has_failed);
        if is_over {
            table.places.remove(pod.uid());
        }
        is_over
    }

    /// Ends the places whose time is over; returns their pods' UIDs, and when the next one ends.
    pub(crate) fn take_over(&self, now: Instant) -> (Vec<Box<str>>, Option<Instant>) {
        let mut table = self.0.lock();
        let Table { places, gangs, has_nominations } = &mut *table;
        let end = |place: &Place| match place.gang.as_ref().and_then(|gang| gangs.get(gang)) {
            Some(GangTimes { succeeded: Some(at), .. }) => *at + AFTER_SUCCESS,
            Some(GangTimes { last_asked, .. }) => *last_asked + AFTER_ASK,
            None if *has_nominations => place.asked + AFTER_ASK,
            None => place.asked + WITHOUT_NOMINATION,
        };
        let over: Vec<Box<str>> = places.extract_if(|_, place| end(place) <= now).map(|(uid, _)| uid).collect();
        let next = places.values().map(end).min();
        gangs.retain(|_, times| now.saturating_duration_since(times.last_asked) < MAX_LIFETIME);
        (over, next)
    }
}
