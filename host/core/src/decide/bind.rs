//! bind: the pod gets its node, and the annotations and labels of the policies, in one write.

mod asking;

use std::{cell::RefCell, sync::Arc};

use self::asking::{Answer, Asking, ask_bind};
use super::{BindOutcome, Caller, DecideError, Unbound, filter::reason_text, unbound::MAX_ASKS};
use crate::{
    cache::Change,
    decide::{
        Group,
        changes::Changes,
        key_locks::{Held, KeyLocks},
    },
    model::{
        Additions, BindError, BindQuery, Binder, Binding, Cluster, Mode, NotBound, NotReserved, Pod, Reservation, Verb,
        View, facts::Moment,
    },
};

/// The locks of binds that are under way: by the UID of the pod, by the name of the node, and by a read of the whole
/// cluster. A bind holds its pod, and a node or a read.
#[derive(Debug, Default)]
pub(crate) struct BindLocks {
    pods: KeyLocks,
    nodes: KeyLocks,
    reads: KeyLocks,
    /// Wakes the binds that wait for another cluster.
    changes: Changes,
}

/// The right to ask the policies, among binds that would otherwise ask in vain.
struct BindTurn<'b> {
    locks: &'b BindLocks,
    caller: &'b Caller,
    query: &'b BindQuery<'b>,
    /// Whether a read is held, and not the node.
    is_of_read: bool,
    held: Held<'b>,
}

/// A bind that did not fail.
pub(crate) struct Done {
    pub(crate) outcome: BindOutcome,
    /// The IDs of the policies that gave the pod annotations.
    pub(crate) authors: Vec<Box<str>>,
    /// The view that policies in shadow mode are to be asked about.
    pub(crate) view: Option<View>,
}

/// The state of the pod in a fresh read.
enum Fresh {
    /// It can be bound.
    Waiting(Arc<Pod>),
    /// It is bound to the node of the request.
    BoundThere,
}

/// An attempt to reserve a place with the answers of the policies.
enum Attempt<'b> {
    Reserved(Box<dyn Reservation + 'b>),
    /// The pod is bound to the node of the request.
    BoundThere,
    /// Values that the policies have read have changed, so they must be asked again.
    Changed(Option<Change>),
}

/// Binds a pod to a node. `newest` is the cluster in force.
///
/// The pod is locked to the end, so that binds of one pod are ordered: two of them could otherwise both be under way,
/// to two nodes. A turn is held only until its place is reserved: it keeps binds from asking the policies in vain. The
/// comparison when the place is reserved keeps them from giving out one device or one seat twice.
pub(crate) fn bind(
    caller: &Caller,
    group: &Group,
    binder: &dyn Binder,
    query: &BindQuery<'_>,
    locks: &BindLocks,
    newest: impl Fn() -> Option<Arc<Cluster>>,
    moment: Moment,
) -> Result<Done, DecideError> {
    let pod_lock = locks.pods.hold(&query.uid, &query.node, caller.time_left());
    let _pod_lock = pod_lock.map_err(|node| busy(query, &node))?;
    let pod = match read(caller, binder, query)? {
        Fresh::Waiting(pod) => pod,
        Fresh::BoundThere => return Ok(Done::of(BindOutcome::AlreadyBound)),
    };
    let mut turn = BindTurn::at_node(locks, caller, query)?;
    let asking = Asking { caller, group, pod: &pod, node: &query.node, moment };
    for _ in 0..MAX_ASKS {
        let mut answer = asking.ask(newest())?;
        if caller.is_out_of_time() {
            return Err(Unbound::OutOfTime.into());
        }
        if let Some(retry) = answer.retry.take() {
            let is_changed = || newest().is_none_or(|newest| asking.change(&answer, &newest).is_some());
            turn = turn.after_another_cluster(is_changed, retry)?;
            continue;
        }
        match reserve(binder, query, &asking, &mut answer)? {
            Attempt::Reserved(reservation) => {
                drop(turn);
                let outcome = write(caller, binder, query, reservation)?;
                return Ok(Done { outcome, authors: answer.authors, view: answer.for_shadow });
            }
            Attempt::BoundThere => return Ok(Done::of(BindOutcome::AlreadyBound)),
            Attempt::Changed(change) => {
                caller.observer().bind_asked_again(query);
                turn = turn.after(change)?;
            }
        }
    }
    Err(Unbound::Restless(query.node.clone().into_owned()).into())
}

/// Reserves the pod's place, unless values that the policies have read have changed since.
fn reserve<'b>(
    binder: &'b dyn Binder,
    query: &BindQuery<'_>,
    asking: &Asking<'_>,
    answer: &mut Answer,
) -> Result<Attempt<'b>, Unbound> {
    let (binding, change) = (binding(query, std::mem::take(&mut answer.additions)), RefCell::new(None));
    let is_unchanged = |newest: &Arc<Cluster>| {
        *change.borrow_mut() = asking.change(answer, newest);
        change.borrow().is_none()
    };
    let reserved = binder.reserve(asking.pod, binding, &is_unchanged);
    match reserved {
        Ok(reservation) => Ok(Attempt::Reserved(reservation)),
        Err(NotReserved::Changed) => Ok(Attempt::Changed(change.take())),
        Err(NotReserved::Undecided(node)) => Err(busy(query, &node)),
        Err(NotReserved::Placed(node)) => match read(asking.caller, binder, query)? {
            Fresh::BoundThere => Ok(Attempt::BoundThere),
            Fresh::Waiting(_) => Err(busy(query, &node)),
        },
    }
}

// === impl BindTurn ===

impl<'b> BindTurn<'b> {
    /// After the binds to the same node that came before.
    fn at_node(locks: &'b BindLocks, caller: &'b Caller, query: &'b BindQuery<'b>) -> Result<Self, Unbound> {
        let held = locks.nodes.hold(&query.node, &query.name, caller.time_left());
        let held = held.map_err(|_| Unbound::NodeBusy(query.node.clone().into_owned()))?;
        Ok(Self { locks, caller, query, is_of_read: false, held })
    }

    /// The turn after the cluster has changed for a policy that answers with `retry`; meanwhile other binds take theirs.
    fn after_another_cluster(self, is_changed: impl Fn() -> bool, retry: Unbound) -> Result<Self, Unbound> {
        let Self { locks, caller, query, held, .. } = self;
        drop(held);
        // Half of the time that is left: a change in the last moment must leave time for the write.
        if !locks.changes.wait_until(caller.time_left() / 2, is_changed) {
            return Err(retry);
        }
        Self::at_node(locks, caller, query)
    }

    /// The turn in which the policies are asked again. Binds to different nodes that read one count take their turns too,
    /// from the first time that another one was quicker: without it each success would make all others ask again.
    ///
    /// A bind that waits for such a turn holds no node, and one that has it waits for no other.
    fn after(self, change: Option<Change>) -> Result<Self, Unbound> {
        let Some(Change::OfCluster(read)) = change.filter(|_| !self.is_of_read) else { return Ok(self) };
        let Self { locks, caller, query, held, .. } = self;
        drop(held);
        let held = locks.reads.hold(&read, &query.name, caller.time_left()).map_err(|_| Unbound::OutOfTime)?;
        Ok(Self { locks, caller, query, is_of_read: true, held })
    }
}

// === impl BindLocks ===

impl BindLocks {
    /// Another cluster is in force.
    pub(crate) fn notify_change(&self) {
        self.changes.notify();
    }
}

// === impl Done ===

impl Done {
    /// An outcome that needed no policy.
    pub(crate) fn of(outcome: BindOutcome) -> Self {
        Self { outcome, authors: Vec::new(), view: None }
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
            Self::Refused(_) | Self::Retry(_) | Self::OtherPod { .. } | Self::Elsewhere { .. } => true,
            Self::Binder { error, .. } => matches!(error, BindError::NoPod | BindError::Conflict(_)),
            _ => false,
        }
    }
}

/// Asks the matching policies in shadow mode; only the observer hears them.
pub(crate) fn shadow_bind(caller: &Caller, group: &Group, view: &View) {
    for member in group.answering(Mode::Shadow, Verb::Bind, view.pod()) {
        drop(caller.ask(member, Verb::Bind, view.clone(), |ask, nodes| ask_bind(member, ask, nodes)));
    }
}

fn read(caller: &Caller, binder: &dyn Binder, query: &BindQuery<'_>) -> Result<Fresh, Unbound> {
    let pod = || full_name(query);
    let read = binder.pod(&query.namespace, &query.name, caller.deadline());
    let fresh = read.map_err(|error| Unbound::Binder { pod: pod(), error })?;
    if fresh.uid() != query.uid {
        let (found, expected) = (fresh.uid().to_owned(), query.uid.clone().into_owned());
        return Err(Unbound::OtherPod { pod: pod(), found, expected });
    }
    match fresh.node() {
        None => Ok(Fresh::Waiting(fresh)),
        Some(node) if node == query.node => Ok(Fresh::BoundThere),
        Some(node) => Err(Unbound::Elsewhere { pod: pod(), node: node.to_owned() }),
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
) -> Result<BindOutcome, Unbound> {
    let Err(error) = reservation.bind(caller.deadline()) else { return Ok(BindOutcome::Bound) };
    // Someone was quicker: perhaps our own predecessor, with this very binding.
    if matches!(error, BindError::Conflict(_)) && matches!(read(caller, binder, query)?, Fresh::BoundThere) {
        return Ok(BindOutcome::AlreadyBound);
    }
    Err(Unbound::Binder { pod: full_name(query), error })
}

fn busy(query: &BindQuery<'_>, node: &str) -> Unbound {
    Unbound::PodBusy { pod: full_name(query), node: node.into() }
}

fn full_name(query: &BindQuery<'_>) -> String {
    format!("{}/{}", query.namespace, query.name)
}
