//! bind: the pod gets its node, and the annotations and labels of the policies, in one write.
//!
//! ```text
//!  bind call ──> ask the policies ───────────> compare and reserve (one step) ──> read the pod ──> write
//!                  ^                               │ a value has changed             │ the pod has changed
//!                  └───────────────────────────────┴─────────────────────────────────┘ at most 8 rounds
//! ```
//!
//! A pod that its scheduler has just asked about is reserved as that request showed it, before anything is awaited, so
//! that the next filter counts it. First come the filters that read placed pods: kube-scheduler decides about the next pod
//! before the last one is bound, so that a count may have passed its limit since. Then come the policies with `bind`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use plimsoll_decision_cache::{Attribute as _, Fingerprint, Parts, Scope};

use super::{
    BindOutcome, Caller, DecideError, Unbound, additions::Merged, call::or_skip, outcome::reason_text,
    query::MAX_ROUNDS,
};
use crate::{
    decide::{Group, Member, bind_calls::BindCall},
    model::{
        Additions, Ask, Attribute, BindAnswer, BindError, BindQuery, Binder, Binding, Cluster, Fault, Mode, NotBound,
        NotReserved, Pod, Recording, Reservation, Verb, Verdict, View,
        cluster::{OwnPlace, WholeCluster},
        facts::Moment,
    },
};

/// The rounds that binds have side by side. A bind that has lost as often has its next ones alone: of binds that read one
/// count, each success makes all others ask again.
const SHARED_ROUNDS: u32 = 2;

/// Maximum number of binds that wait for a change at a time. Each holds the permit of its request, and other binds need
/// theirs.
const MAX_WAITING: usize = 32;

/// The node in question: the only one of its view.
const NODE: u32 = 0;

/// Orders binds that would otherwise ask in vain, and wakes those that wait for a change of the cluster.
#[derive(Debug, Default)]
pub(crate) struct BindQueue {
    /// Held for one round.
    rounds: RwLock<()>,
    changes: Mutex<Changes>,
    changed: Condvar,
}

#[expect(dead_code, reason = "the guards are held, not read")]
enum Round<'q> {
    Shared(RwLockReadGuard<'q, ()>),
    Alone(RwLockWriteGuard<'q, ()>),
}

#[derive(Debug, Default)]
struct Changes {
    /// The number of clusters that have come into force.
    count: u64,
    waiting: usize,
}

/// The outcome of a bind, and the view that policies in shadow mode are to be asked about.
pub(crate) type Bound = (BindOutcome, Option<View>);

/// One pod that is to be bound to one node.
struct Asking<'b> {
    caller: &'b Caller,
    group: &'b Group,
    node: &'b str,
    /// The facts are the same however often the policies are asked: a load that changes must not hold a bind up.
    moment: Moment,
    /// Whether pods with a tentative place count.
    yields: bool,
}

/// The additions that the policies give the pod, by the values that they have read.
#[derive(Default)]
struct Answer {
    additions: Additions,
    /// Why a policy wants to be asked again when the values have changed, if one does.
    retry: Option<Unbound>,
    /// The view that policies in shadow mode are to be asked about.
    for_shadow: Option<View>,
    seen: Option<Seen>,
}

/// The values that the policies in force have read, with the cluster and the view that they were read of.
struct Seen {
    cluster: Arc<Cluster>,
    view: View,
    values: Vec<SeenValues>,
}

/// The attributes that a call has read, each once with its value. [`ReadLog`](plimsoll_decision_cache::ReadLog) bounds
/// their number.
#[derive(Debug)]
struct SeenValues {
    values: Vec<(Attribute, Fingerprint)>,
    /// Whether something else of the node or the pods on it was read: the records must be the same.
    reads_records: bool,
    /// Whether there were reads that are not listed: any other snapshot counts as changed.
    has_lost_reads: bool,
}

/// Binds a pod to a node. `newest` is the cluster in force; the last part of `asking` says whether the pod yields to those
/// with a tentative place.
///
/// Binds ask side by side: a slow policy must not stop other binds. The comparison when the place is reserved keeps them
/// from giving out one device or one seat twice. A bind that keeps losing that race asks alone.
pub(crate) fn bind(
    asking: (&Caller, &Group, Moment, bool),
    binder: &dyn Binder,
    query: &BindQuery<'_>,
    call: BindCall<'_>,
    queue: &BindQueue,
    newest: impl Fn() -> Option<Arc<Cluster>>,
) -> Result<Bound, DecideError> {
    let (caller, group, moment, yields) = asking;
    let asking = Asking { caller, group, node: &query.node, moment, yields };
    let mut is_fresh = call.pod.is_none();
    let mut pod = match &call.pod {
        Some(shown) => Arc::clone(shown),
        None => match read(caller, binder, query)? {
            Some(pod) => pod,
            None => return Ok((BindOutcome::AlreadyBound, None)),
        },
    };
    // Filters wait until it is dropped.
    let mut call = Some(call);
    for number in 0..MAX_ROUNDS {
        let round = queue.round(number, caller)?;
        let mut answer = asking.ask(&pod, newest())?;
        if caller.time_left().is_zero() {
            return Err(Unbound::OutOfTime.into());
        }
        if let Some(retry) = answer.retry.take() {
            drop((round, call.take()));
            let is_changed = || newest().is_none_or(|newest| asking.is_changed(&pod, &answer, &newest));
            // Half of the time that is left: a change in the last moment must leave time for the write.
            if !queue.wait_until(caller.time_left() / 2, is_changed) {
                return Err(retry.into());
            }
            continue;
        }
        let binding = binding(query, std::mem::take(&mut answer.additions));
        let reserved = binder.reserve(&pod, binding, &|newest| !asking.is_changed(&pod, &answer, newest));
        drop(round);
        if matches!(reserved, Err(NotReserved::Changed)) {
            caller.observer.bind_asked_again(query);
            continue;
        }
        // If the pod has its place, the next filter counts it.
        drop(call.take());
        let reservation = match reserved {
            Ok(reservation) if is_fresh => reservation,
            reserved => {
                // The read may also show the outcome of an earlier bind, which holds the place.
                let Some(now) = read(caller, binder, query)? else {
                    return Ok((BindOutcome::AlreadyBound, None));
                };
                let (is_same, was_fresh) = (now.has_substance_of(&pod), is_fresh);
                (pod, is_fresh) = (now, true);
                match reserved {
                    Ok(reservation) if is_same => reservation,
                    Err(NotReserved::Placed(node) | NotReserved::Undecided(node)) if was_fresh => {
                        return Err(Unbound::PodBusy { pod: full_name(query), node: node.into() }.into());
                    }
                    _ => continue,
                }
            }
        };
        return Ok((write(caller, binder, query, reservation, &pod)?, answer.for_shadow));
    }
    Err(Unbound::Restless(query.node.clone().into_owned()).into())
}

// === impl BindQueue ===

impl BindQueue {
    /// Another cluster is in force.
    pub(crate) fn notify_change(&self) {
        self.changes.lock().count += 1;
        self.changed.notify_all();
    }

    /// The right to ask the policies once, and to reserve.
    fn round(&self, round: u32, caller: &Caller) -> Result<Round<'_>, Unbound> {
        let timeout = caller.time_left();
        let round = if round < SHARED_ROUNDS {
            self.rounds.try_read_for(timeout).map(Round::Shared)
        } else {
            self.rounds.try_write_for(timeout).map(Round::Alone)
        };
        round.ok_or(Unbound::OutOfTime)
    }

    /// Waits until `is_so` holds, which is asked now and after each change. Returns whether it came to hold in time; it
    /// is not waited for while too many others wait.
    fn wait_until(&self, timeout: Duration, is_so: impl Fn() -> bool) -> bool {
        let until = Instant::now() + timeout;
        let mut changes = self.changes.lock();
        if changes.waiting == MAX_WAITING {
            drop(changes);
            return is_so();
        }
        changes.waiting += 1;
        let holds = loop {
            let seen = changes.count;
            if MutexGuard::unlocked(&mut changes, &is_so) {
                break true;
            }
            self.changed.wait_while_until(&mut changes, |changes| changes.count == seen, until);
            if changes.count == seen {
                break false;
            }
        };
        changes.waiting -= 1;
        holds
    }
}

// === impl Asking ===

impl Asking<'_> {
    /// Asks the policies about the node as it is in this cluster.
    fn ask(&self, pod: &Arc<Pod>, cluster: Option<Arc<Cluster>>) -> Result<Answer, DecideError> {
        let known = cluster.as_deref();
        let is_in_shadow = self.group.answering(Mode::Shadow, Verb::Bind, pod, known).next().is_some();
        let binders = self.group.answering(Mode::Enforce, Verb::Bind, pod, known);
        if binders.chain(self.pod_readers(pod, known)).next().is_none() {
            // A policy in shadow must not be the reason that a request fails, nor that it is asked again.
            let view = cluster.filter(|_| is_in_shadow).and_then(|cluster| self.view(pod, &cluster).ok());
            return Ok(Answer { for_shadow: view, ..Answer::default() });
        }
        let cluster = cluster.ok_or(DecideError::NoCluster)?;
        let view = self.view(pod, &cluster)?;
        let mut values = Vec::new();
        self.ask_filters(&view, &mut values)?;
        let mut answer = self.ask_binds(&view, &mut values)?;
        answer.for_shadow = is_in_shadow.then(|| view.clone());
        answer.seen = Some(Seen { cluster, view, values });
        Ok(answer)
    }

    /// Whether the policies would read something else in this cluster. It runs while the place is reserved.
    fn is_changed(&self, pod: &Arc<Pod>, answer: &Answer, newest: &Arc<Cluster>) -> bool {
        let Some(seen) = answer.seen.as_ref().filter(|seen| !Arc::ptr_eq(&seen.cluster, newest)) else { return false };
        self.view(pod, newest).map_or(true, |now| seen.values.iter().any(|values| values.is_changed(&seen.view, &now)))
    }

    /// Asks the filters that may read placed pods. One that does, and refuses the node, fails the bind.
    fn ask_filters(&self, view: &View, values: &mut Vec<SeenValues>) -> Result<(), DecideError> {
        for member in self.pod_readers(view.pod(), view.in_force()) {
            let recording = Recording::for_bind();
            let ask = |ask: &Ask, nodes: &[u32]| member.policy.filter(ask, nodes);
            let result = self.caller.ask(member, Verb::Filter, view.clone().recorded(recording.clone()), ask);
            // Its answer is about the nodes of the filter request together, which are not known here.
            if recording.compares_nodes() {
                continue;
            }
            let Some(verdicts) = or_skip(member, Verb::Filter, result)? else { continue };
            let seen = SeenValues::of(&recording, view);
            if !seen.has_read_pods() {
                continue;
            }
            for verdict in verdicts {
                if let Verdict::Unschedulable(reason) | Verdict::Unresolvable(reason) = verdict {
                    let reason = reason_text(&member.name, &reason);
                    let text = format!("{reason} (asked again at bind: the cluster has changed since the filter)");
                    return Err(Unbound::Refused(text.into()).into());
                }
            }
            values.push(seen);
        }
        Ok(())
    }

    /// Asks the policies with `bind` in order, and merges their answers.
    fn ask_binds(&self, view: &View, values: &mut Vec<SeenValues>) -> Result<Answer, DecideError> {
        let mut merged = Merged::default();
        for member in self.group.answering(Mode::Enforce, Verb::Bind, view.pod(), view.in_force()) {
            let recording = Recording::for_bind();
            let ask = |ask: &_, nodes: &[u32]| ask_bind(member, ask, nodes);
            let recorded = view.clone().recorded(recording.clone());
            let answers = self.caller.ask(member, Verb::Bind, recorded, ask);
            let Some(answers) = or_skip(member, Verb::Bind, answers)? else { continue };
            values.push(SeenValues::of(&recording, view));
            for answer in answers {
                let metadata = match answer {
                    Ok(metadata) => metadata,
                    Err(not_bound) => {
                        let why = Unbound::said_by(&member.name, &not_bound);
                        let NotBound::Retry(_) = not_bound else { return Err(why.into()) };
                        return Ok(Answer { retry: Some(why), ..Answer::default() });
                    }
                };
                merged.add(metadata, member.id())?;
            }
        }
        Ok(Answer { additions: merged.for_pod(view.pod())?, ..Answer::default() })
    }

    /// The filters that may count placed pods. Others read nothing that a bind changes, so they are not asked again: a
    /// label that has changed or a minute that has passed must not fail a pod for which all is reserved.
    fn pod_readers<'p>(&'p self, pod: &'p Pod, cluster: Option<&'p Cluster>) -> impl Iterator<Item = &'p Arc<Member>> {
        self.group.answering(Mode::Enforce, Verb::Filter, pod, cluster).filter(|member| member.may_count())
    }

    /// The node alone, with the pods that are placed there in this cluster.
    fn view(&self, pod: &Arc<Pod>, cluster: &Arc<Cluster>) -> Result<View, Unbound> {
        let at = cluster.find(self.node).ok_or_else(|| Unbound::UnknownNode(self.node.to_owned()))?;
        // An earlier bind whose outcome was not known may have left the pod there: it must not stand in its own way.
        let whole = WholeCluster::of(Some(Arc::clone(cluster)), pod, OwnPlace::AsThePodSays);
        let view = View::new(Arc::clone(pod), Arc::clone(cluster), Arc::from([at]), self.moment.now).with_whole(whole);
        Ok(view.with_facts(Arc::clone(&self.moment.facts)).for_bind(self.yields))
    }
}

// === impl SeenValues ===

impl SeenValues {
    /// The reads of a view of one node.
    fn of(recording: &Recording, view: &View) -> Self {
        let log = recording.log();
        let value = |attribute: &Attribute| (attribute.clone(), attribute.fingerprint(view, NODE));
        let (reads_records, has_lost_reads) = (log.is_uncacheable(), log.has_lost_reads());
        Self { values: log.attributes_read().map(value).collect(), reads_records, has_lost_reads }
    }

    /// Whether any of them may change when a pod is bound.
    fn has_read_pods(&self) -> bool {
        self.has_lost_reads || self.values.iter().any(|(attribute, _)| attribute.counts_pods())
    }

    /// Whether a value is not the same in the later of two views of the node. Reads of a record that both share are not
    /// made again.
    fn is_changed(&self, earlier: &View, later: &View) -> bool {
        let differing = earlier.differing_parts(later);
        if self.has_lost_reads || (self.reads_records && differing != Parts::NONE) {
            return true;
        }
        let is_shared =
            |attribute: &Attribute| attribute.scope() == Scope::Row && !attribute.depends_on().intersects(differing);
        self.values
            .iter()
            .any(|(attribute, value)| !is_shared(attribute) && attribute.fingerprint(later, NODE) != *value)
    }
}

// === impl Unbound ===

impl Unbound {
    /// The outcome of a bind whose policy answers with a refusal in place of annotations and labels.
    pub(super) fn said_by(policy: &str, not_bound: &NotBound) -> Self {
        let reason = reason_text(policy, not_bound.reason());
        match not_bound {
            NotBound::Refused(_) => Self::Refused(reason),
            NotBound::Retry(_) => Self::Retry(reason),
        }
    }

    /// Whether this is how a cluster works, and nothing is wrong: another pod or another bind was quicker,
    /// or the pod is gone.
    pub fn is_routine(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Retry(_) | Self::Stale(_) => true,
            Self::Binder { error, .. } => matches!(error, BindError::NoPod | BindError::Conflict(_)),
            _ => false,
        }
    }
}

/// Asks the matching policies in shadow mode; only the observer hears them.
pub(crate) fn shadow_bind(caller: &Caller, group: &Group, view: &View) {
    for member in group.answering(Mode::Shadow, Verb::Bind, view.pod(), view.in_force()) {
        drop(caller.ask(member, Verb::Bind, view.clone(), |ask, nodes| ask_bind(member, ask, nodes)));
    }
}

fn ask_bind(member: &Member, ask: &Ask, nodes: &[u32]) -> Result<Vec<BindAnswer>, Fault> {
    nodes.iter().map(|node| member.policy.bind(ask, *node)).collect()
}

/// Reads the pod afresh; none if it is bound to the node of the request.
fn read(caller: &Caller, binder: &dyn Binder, query: &BindQuery<'_>) -> Result<Option<Arc<Pod>>, Unbound> {
    let pod = full_name(query);
    let fresh = match binder.pod(&query.namespace, &query.name, caller.deadline) {
        Ok(fresh) => fresh,
        Err(error) => return Err(Unbound::Binder { pod, error }),
    };
    if fresh.uid() != query.uid {
        let (found, expected) = (fresh.uid(), &query.uid);
        let text = format!("{pod} has the UID {found}, expected {expected}: it was deleted and made again");
        return Err(Unbound::Stale(text));
    }
    match fresh.node() {
        None => Ok(Some(fresh)),
        Some(node) if node == query.node => Ok(None),
        Some(node) => Err(Unbound::Stale(format!("{pod} is already bound to node {node}"))),
    }
}

fn binding(query: &BindQuery<'_>, additions: Additions) -> Binding {
    let text = |text: &str| Box::from(text);
    Binding {
        namespace: text(&query.namespace),
        name: text(&query.name),
        uid: text(&query.uid),
        node: text(&query.node),
        annotations: additions.annotations,
        labels: additions.labels,
    }
}

/// Writes the binding of a reservation. The write may have been made even if it failed.
fn write(
    caller: &Caller,
    binder: &dyn Binder,
    query: &BindQuery<'_>,
    reservation: Box<dyn Reservation + '_>,
    pod: &Arc<Pod>,
) -> Result<BindOutcome, Unbound> {
    let Err(error) = reservation.bind(pod, caller.deadline) else { return Ok(BindOutcome::Bound) };
    // Someone was quicker: perhaps our own predecessor, with this very binding.
    if matches!(error, BindError::Conflict(_)) && read(caller, binder, query)?.is_none() {
        return Ok(BindOutcome::AlreadyBound);
    }
    Err(Unbound::Binder { pod: full_name(query), error })
}

fn full_name(query: &BindQuery<'_>) -> String {
    format!("{}/{}", query.namespace, query.name)
}
