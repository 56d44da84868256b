//! Nominations of pods for nodes that kube-scheduler has not looked at: it tries the nominated node first, with all of its
//! filters and extenders.
//!
//! ```text
//!  refused, a node is free ──> Chosen ──> Patching ──> Nominated ──> TakingBack ──> over
//!                              ▲  │ its watch shows     │ its time is over, or 1 s since kube-scheduler tried it (Tried)
//!                              │  │ the new condition,  │
//!                              │  │ or 100 ms are over  ├──> bound, or another's: over
//!                              └────────────────────────┘ cleared by an attempt that began before it: twice at most
//! ```
//!
//! kube-scheduler clears a nomination with the failed attempt that it answers, and not always later: so none is made before
//! the new condition is shown, and each has an end of ours (docs/decisions/0077-the-whole-cluster.md).

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;

use super::ScheduledCondition;
use crate::model::{Cluster, NominatedFor, Pod, Slot, WaitingPod};

/// The time between a reply and a nomination, where the watch shows no new condition.
const DELAY: Duration = Duration::from_millis(100);

/// The time after which a nomination is taken back. It is doubled each time that kube-scheduler has not tried one meanwhile,
/// and halved when it has: the pod waits for its back-off, up to 10 s, and for its turn.
const LIFETIME: Duration = Duration::from_secs(5);
const MAX_DOUBLED: u32 = 4;
pub(crate) const LONGEST_NOMINATION: Duration = LIFETIME.saturating_mul(1 << MAX_DOUBLED);

/// The time that kube-scheduler has to clear a nomination that it has tried, with its own patch of the failed attempt.
const CLEARING: Duration = Duration::from_secs(1);

/// Maximum nominations of a pod that kube-scheduler has tried in vain, in [`TRY_PERIOD`].
const MAX_TRIES: usize = 5;
const TRY_PERIOD: Duration = Duration::from_mins(1);

/// The time for which nodes that were tried in vain, or were free then, are remembered, and their number.
const MEMORY: Duration = Duration::from_mins(10);
const MAX_KNOWN: usize = 256;

/// Maximum times that a nomination is repeated which kube-scheduler has cleared at once: with an attempt that had begun
/// before it.
const MAX_CLEARED: usize = 2;

/// A node that this many pods have tried in vain, as it is now, is no node to try for any other.
const MAX_PODS_IN_VAIN: usize = 5;

/// Maximum pods with nominations, and nodes that pods have tried in vain.
const MAX_PODS: usize = 10_000;

/// The nominations by UID.
#[derive(Debug, Default)]
pub(crate) struct Nominations {
    pods: Mutex<HashMap<Box<str>, Tries>>,
    /// How many pods have tried a node in vain, and when the last one did.
    in_vain: Mutex<HashMap<u64, (usize, Instant)>>,
    /// How often the lifetime is doubled.
    doubled: AtomicU32,
}

/// The nominations of one pod.
#[derive(Debug)]
struct Tries {
    pod: Arc<Pod>,
    /// The nomination that its watch has shown last.
    shown: Option<NominatedFor>,
    now: Option<Try>,
    /// When kube-scheduler tried a nomination in vain; the last ones.
    failed: Vec<Instant>,
    /// The nodes that were tried in vain, and once there were too many, all that were free then.
    known: HashSet<u64>,
    /// Whether there were too many free nodes to remember.
    knows_all: bool,
}

/// The nomination under way.
#[derive(Debug, Clone)]
struct Try {
    node: Arc<str>,
    /// The node as it was chosen; none: by another replica, or before a restart.
    place: Option<u64>,
    state: TryState,
    /// Whether the watch has shown it.
    is_shown: bool,
    /// The number of times that kube-scheduler has cleared it without having tried it.
    cleared: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TryState {
    /// It is sent then.
    Chosen(Instant),
    Patching,
    /// It is taken back then.
    Nominated(Instant),
    /// kube-scheduler has tried it; it is taken back then.
    Tried(Instant),
    TakingBack,
}

/// A change of `status.nominatedNodeName` to send.
#[derive(Debug, Clone)]
pub struct NominationPatch {
    /// The pod.
    pub pod: Arc<Pod>,
    /// The value that it must have.
    pub was: Option<Arc<str>>,
    /// The value that it gets.
    pub node: Option<Arc<str>>,
}

/// What the watch of a pod means for its nomination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NominationNews {
    Nothing,
    /// A patch may be due earlier.
    Due,
    /// It is over: preemption has chosen another node, or kube-scheduler has cleared it again and again.
    Cancelled,
}

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

// === impl Nominations ===

impl Nominations {
    /// Whether kube-scheduler has tried this node for the pod in vain, as it is now.
    pub(crate) fn is_vain(&self, cluster: &Cluster, pod: &Pod, slot: &Slot) -> bool {
        let place = place_of(cluster, slot);
        let is_known = |tries: &Tries| tries.knows_all || tries.known.contains(&place);
        self.pods.lock().get(pod.uid()).is_some_and(is_known)
            || self.in_vain.lock().get(&place).is_some_and(|(pods, _)| *pods >= MAX_PODS_IN_VAIN)
    }

    /// Counts a pod that has tried a node in vain.
    fn count_in_vain(&self, place: u64, now: Instant) {
        let mut in_vain = self.in_vain.lock();
        if in_vain.len() >= MAX_PODS {
            in_vain.clear();
        }
        let (pods, last) = in_vain.entry(place).or_insert((0, now));
        (*pods, *last) = (*pods + 1, now);
    }

    /// Whether the pod may be nominated now.
    pub(crate) fn may_choose(&self, uid: &str, now: Instant) -> bool {
        let pods = self.pods.lock();
        pods.get(uid).map_or(pods.len() < MAX_PODS, |tries| tries.is_idle() && !tries.is_exhausted(now))
    }

    /// Chooses a node for the pod, which its watch shows with this nomination.
    pub(crate) fn choose(
        &self,
        cluster: &Cluster,
        pod: &Arc<Pod>,
        slot: &Slot,
        shown: Option<NominatedFor>,
        now: Instant,
    ) {
        let state = TryState::Chosen(now + DELAY);
        let chosen = Try::new(slot.node.name(), Some(place_of(cluster, slot)), state);
        let mut pods = self.pods.lock();
        let tries = pods.entry(pod.uid().into()).or_insert_with(|| Tries::new(Arc::clone(pod)));
        (tries.pod, tries.shown, tries.now) = (Arc::clone(pod), shown, Some(chosen));
    }

    /// The watch shows a pod that waits. A nomination of plimsoll that is not known is from before a restart, or of another
    /// replica: it is taken back like one of this replica.
    pub(crate) fn shown(&self, WaitingPod { pod, nominated }: &WaitingPod, now: Instant) -> NominationNews {
        let own = nominated.as_ref().filter(|nominated| nominated.is_own);
        let mut pods = self.pods.lock();
        let tries = match (pods.get_mut(pod.uid()), own) {
            (Some(tries), _) => tries,
            (None, Some(_)) => pods.entry(pod.uid().into()).or_insert_with(|| Tries::new(Arc::clone(pod))),
            (None, None) => return NominationNews::Nothing,
        };
        let has_new_condition = ScheduledCondition::of(&tries.pod) != ScheduledCondition::of(pod);
        (tries.pod, tries.shown) = (Arc::clone(pod), nominated.clone());
        match (&mut tries.now, own) {
            // Preemption has chosen a node: it is its own to end.
            (Some(_), None) if nominated.is_some() => {
                tries.now = None;
                NominationNews::Cancelled
            }
            (Some(Try { state: TryState::Chosen(at), .. }), _) if has_new_condition => {
                *at = now;
                NominationNews::Due
            }
            (None, Some(own)) => {
                let state = TryState::Nominated(now + LIFETIME);
                tries.now = Some(Try::new(&own.node, None, state));
                NominationNews::Due
            }
            // The watch may be faster than the API server's reply.
            (Some(known @ Try { state: TryState::Patching | TryState::Nominated(_), .. }), Some(own))
                if known.node == own.node =>
            {
                known.is_shown = true;
                NominationNews::Nothing
            }
            (Some(known @ Try { state: TryState::Patching | TryState::Nominated(_), is_shown: true, .. }), None)
                if nominated.is_none() =>
            {
                let Some(place) = known.place else {
                    tries.now = None;
                    return NominationNews::Cancelled;
                };
                if known.cleared < MAX_CLEARED {
                    (known.state, known.is_shown) = (TryState::Chosen(now), false);
                    known.cleared += 1;
                    return NominationNews::Due;
                }
                tries.now = None;
                if tries.fail(place, now) {
                    self.count_in_vain(place, now);
                }
                NominationNews::Cancelled
            }
            _ => NominationNews::Nothing,
        }
    }

    /// The pod has a tentative place on the node that it is nominated for: the nomination lasts as long.
    pub(crate) fn prolong(&self, uid: &str, node: &str, until: Instant) {
        let mut pods = self.pods.lock();
        let current = pods.get_mut(uid).and_then(|tries| tries.now.as_mut()).filter(|current| *current.node == *node);
        if let Some(current) =
            current.filter(|current| matches!(current.state, TryState::Patching | TryState::Nominated(_)))
        {
            current.state = TryState::Nominated(until);
        }
    }

    /// Whether a nomination of the pod is under way that kube-scheduler has not tried.
    pub(crate) fn is_under_way(&self, uid: &str) -> bool {
        self.pods.lock().get(uid).is_some_and(|tries| !tries.is_idle())
    }

    /// Whether this replica has nominated the pod for the node.
    pub(crate) fn is_for(&self, uid: &str, node: &str) -> bool {
        let pods = self.pods.lock();
        pods.get(uid).and_then(|tries| tries.now.as_ref()).is_some_and(|current| *current.node == *node)
    }

    /// The pod has a node, or is gone.
    pub(crate) fn gone(&self, uid: &str) {
        let tries = self.pods.lock().remove(uid);
        if tries.and_then(|tries| tries.now).is_some_and(|current| matches!(current.state, TryState::Nominated(_))) {
            self.was_tried();
        }
    }

    /// kube-scheduler had the time to try a nomination.
    fn was_tried(&self) {
        let halve = |doubled: u32| doubled.checked_sub(1);
        let _ = self.doubled.fetch_update(Ordering::Relaxed, Ordering::Relaxed, halve);
    }

    /// A filter request about other nodes than the nominated one alone says that the pod is nominated for this node: where
    /// this is ours, it was tried in vain. Returns whether it was ours.
    pub(crate) fn tried(&self, uid: &str, node: &str, now: Instant) -> bool {
        let mut pods = self.pods.lock();
        let Some(tries) = pods.get_mut(uid) else { return false };
        let Some(current) = tries.now.as_mut().filter(|current| *current.node == *node) else { return false };
        let (TryState::Patching | TryState::Nominated(_)) = current.state else { return false };
        current.state = TryState::Tried(now + CLEARING);
        let place = current.place;
        self.was_tried();
        if let Some(place) = place
            && tries.fail(place, now)
        {
            self.count_in_vain(place, now);
        }
        true
    }

    /// After too many tries only a node counts that is not among these.
    pub(crate) fn remember(&self, uid: &str, free: &[u64], now: Instant) {
        let mut pods = self.pods.lock();
        let Some(tries) = pods.get_mut(uid).filter(|tries| tries.is_exhausted(now)) else { return };
        tries.knows_all = free.len() > MAX_KNOWN;
        tries.known.extend(free.iter().take(MAX_KNOWN));
    }

    /// The patches that are due, and when the next one is. Whoever takes them says what became of each.
    pub(crate) fn take_due(&self, now: Instant) -> (Vec<NominationPatch>, Option<Instant>) {
        let (mut due, mut next) = (Vec::new(), None::<Instant>);
        let mut pods = self.pods.lock();
        pods.retain(|_, tries| tries.is_of_use(now));
        self.in_vain.lock().retain(|_, (_, last)| now.saturating_duration_since(*last) < MEMORY);
        for tries in pods.values_mut() {
            let Some(current) = &mut tries.now else { continue };
            let (at, was, node, then) = match current.state {
                TryState::Chosen(at) => {
                    let was = tries.shown.as_ref().map(|shown| Arc::clone(&shown.node));
                    (at, was, Some(Arc::clone(&current.node)), TryState::Patching)
                }
                TryState::Nominated(at) | TryState::Tried(at) => {
                    if at <= now && matches!(current.state, TryState::Nominated(_)) {
                        let double = |doubled: u32| (doubled < MAX_DOUBLED).then_some(doubled + 1);
                        let _ = self.doubled.fetch_update(Ordering::Relaxed, Ordering::Relaxed, double);
                    }
                    (at, Some(Arc::clone(&current.node)), None, TryState::TakingBack)
                }
                TryState::Patching | TryState::TakingBack => continue,
            };
            if at <= now {
                current.state = then;
                due.push(NominationPatch { pod: Arc::clone(&tries.pod), was, node });
            } else {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        (due, next)
    }

    /// A patch was sent. Returns whether the pod keeps its place.
    pub(crate) fn sent(&self, patch: &NominationPatch, is_written: bool, now: Instant) -> bool {
        let mut pods = self.pods.lock();
        let Some(tries) = pods.get_mut(patch.pod.uid()) else { return false };
        match &mut tries.now {
            Some(current) if !matches!(current.state, TryState::Patching | TryState::TakingBack) => true,
            Some(current) if patch.node.is_some() && is_written => {
                let doubled = self.doubled.load(Ordering::Relaxed);
                current.state = TryState::Nominated(now + LIFETIME.saturating_mul(1 << doubled));
                true
            }
            current => {
                *current = None;
                false
            }
        }
    }

    /// The end of all nominations, at shutdown.
    pub(crate) fn take_all(&self) -> Vec<NominationPatch> {
        let mut pods = self.pods.lock();
        let nominated = pods.drain().filter_map(|(_, Tries { pod, now, .. })| {
            let current = now.filter(|current| !matches!(current.state, TryState::Chosen(..)))?;
            Some(NominationPatch { pod, was: Some(current.node), node: None })
        });
        nominated.collect()
    }
}

// === impl Try ===

impl Try {
    fn new(node: &Arc<str>, place: Option<u64>, state: TryState) -> Self {
        Self { node: Arc::clone(node), place, state, is_shown: false, cleared: 0 }
    }
}

// === impl Tries ===

impl Tries {
    fn new(pod: Arc<Pod>) -> Self {
        Self { pod, shown: None, now: None, failed: Vec::new(), known: HashSet::new(), knows_all: false }
    }

    /// kube-scheduler has not taken a place. Returns whether that is new.
    fn fail(&mut self, place: u64, now: Instant) -> bool {
        if self.known.len() >= 4 * MAX_KNOWN {
            self.known.clear();
        }
        self.failed.retain(|at| now.saturating_duration_since(*at) < MEMORY);
        self.failed.push(now);
        self.known.insert(place)
    }

    /// Whether no nomination is under way that kube-scheduler has not tried.
    fn is_idle(&self) -> bool {
        self.now.as_ref().is_none_or(|current| matches!(current.state, TryState::Tried(_)))
    }

    fn is_exhausted(&self, now: Instant) -> bool {
        let recent = self.failed.iter().filter(|at| now.saturating_duration_since(**at) < TRY_PERIOD);
        recent.count() >= MAX_TRIES
    }

    fn is_of_use(&self, now: Instant) -> bool {
        self.now.is_some() || self.failed.last().is_some_and(|at| now.saturating_duration_since(*at) < MEMORY)
    }
}

/// Tells a node, with the pods that are bound to it, from every other state of it. Pods that are nominated for it come and
/// go, and each would make it another node for all others.
pub(crate) fn place_of(cluster: &Cluster, slot: &Slot) -> u64 {
    let pods = slot.placed.iter().flat_map(|placed| placed.pods());
    let bound: Vec<&str> = pods.map(|pod| pod.uid()).filter(|uid| cluster.is_bound(uid)).collect();
    HASHER.hash_one((Arc::as_ptr(&slot.node).addr(), bound))
}
