//! bind: the pod gets its node, and what the policies hand it there, in one write.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use crate::{
    Annotation, BindError, BindQuery, Binder, Binding, Cluster, Group, MAX_ANNOTATION_BYTES, Member, Mode, NotReserved,
    Placed, Pod, Slot, Verb, View, cluster::OwnPlace, key_locks::KeyLocks, whole_cluster::WholeCluster,
};

use super::{BindOutcome, Caller, DecideError, Unbound, chain::reason_text, unbound::MAX_ASKS};

/// The locks of binds that are under way, by the UID of the pod and by the name of the node. They are
/// always taken in this order, so that no two binds wait for each other.
#[derive(Debug, Default)]
pub(crate) struct BindLocks {
    pods: KeyLocks,
    nodes: KeyLocks,
}

/// A bind that did not fail.
pub(crate) struct Done {
    pub(crate) outcome: BindOutcome,
    /// The IDs of the policies that gave the pod annotations.
    pub(crate) authors: Vec<Box<str>>,
    /// What policies in shadow mode are to be asked about.
    pub(crate) view: Option<View>,
}

/// What the policies hand a pod on a node, by what they were shown of it.
#[derive(Default)]
struct Answer {
    annotations: BTreeMap<Box<str>, Box<str>>,
    authors: Vec<Box<str>>,
    view: Option<View>,
    /// The node and its pods as the policies in force saw them.
    seen: Option<Slot>,
}

/// Annotations by key, each with its author.
pub(super) type Merged<'g> = BTreeMap<Box<str>, (Box<str>, &'g Member)>;

/// What a fresh read of the pod shows.
enum Fresh {
    /// It can be bound.
    Waiting(Arc<Pod>),
    /// It is bound to the node of the request.
    BoundThere,
}

/// Binds a pod to a node. `newest` is the cluster in force.
///
/// The pod is locked to the end, so that binds of one pod are ordered: two of them could otherwise both be
/// under way, to two nodes. The node is locked only until its place is reserved: the lock keeps binds from
/// asking the policies in vain, and the reservation is what keeps them from giving out one device twice.
pub(crate) fn bind(
    caller: &Caller,
    group: &Group,
    binder: &dyn Binder,
    query: &BindQuery<'_>,
    locks: &BindLocks,
    newest: impl Fn() -> Option<Arc<Cluster>>,
    now: u64,
) -> Result<Done, DecideError> {
    let busy = |node: Box<str>| Unbound::PodBusy { pod: full_name(query), node: node.into() };
    let _pod = locks.pods.hold(&query.uid, &query.node, caller.time_left()).map_err(busy)?;
    let pod = match read(caller, binder, query)? {
        Fresh::Waiting(pod) => pod,
        Fresh::BoundThere => return Ok(Done::of(BindOutcome::AlreadyBound)),
    };
    let node = locks.nodes.hold(&query.node, &query.name, caller.time_left());
    let node = node.map_err(|_| Unbound::NodeBusy(query.node.clone().into_owned()))?;
    for _ in 0..MAX_ASKS {
        let answer = ask_about(caller, group, query, &pod, newest(), now)?;
        if caller.is_out_of_time() {
            return Err(Unbound::OutOfTime.into());
        }
        let reserved = binder.reserve(&pod, binding(query, answer.annotations), answer.seen.as_ref());
        let reservation = match reserved {
            Ok(reservation) => reservation,
            Err(NotReserved::Changed) => continue,
            Err(NotReserved::Undecided(node)) => return Err(busy(node).into()),
            Err(NotReserved::Placed(node)) => match read(caller, binder, query)? {
                Fresh::BoundThere => return Ok(Done::of(BindOutcome::AlreadyBound)),
                Fresh::Waiting(_) => return Err(busy(node).into()),
            },
        };
        drop(node);
        let outcome = match reservation.bind(caller.deadline()) {
            Ok(()) => BindOutcome::Bound,
            Err(error) => after_error(caller, binder, query, error)?,
        };
        return Ok(Done { outcome, authors: answer.authors, view: answer.view });
    }
    Err(Unbound::Restless(query.node.clone().into_owned()).into())
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
    /// Whether this is how a cluster works, and nothing is wrong: another pod or another bind was quicker,
    /// or the pod is gone.
    pub fn is_routine(&self) -> bool {
        match self {
            Self::Refused(_) | Self::OtherPod { .. } | Self::Elsewhere { .. } => true,
            Self::Binder { error, .. } => matches!(error, BindError::NoPod | BindError::Conflict(_)),
            _ => false,
        }
    }
}

/// Asks the matching policies in shadow mode; only the observer hears them.
pub(crate) fn shadow_bind(caller: &Caller, group: &Group, view: &View) {
    for member in group.answering(Mode::Shadow, Verb::Bind, view.pod()) {
        drop(caller.call(member, Verb::Bind, view.clone(), |ask, nodes| ask_bind(member, ask, nodes)));
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

/// Asks the matching policies about the node as it is in this cluster.
fn ask_about(
    caller: &Caller,
    group: &Group,
    query: &BindQuery<'_>,
    pod: &Arc<Pod>,
    cluster: Option<Arc<Cluster>>,
    now: u64,
) -> Result<Answer, DecideError> {
    let asked = |mode| group.answering(mode, Verb::Bind, pod).next().is_some();
    let is_enforced = asked(Mode::Enforce);
    let (view, slot) = if is_enforced {
        let (view, slot) = view(pod, &query.node, cluster, now)?;
        (Some(view), slot)
    } else if asked(Mode::Shadow) {
        // A policy in shadow must not be the reason that a request fails, nor that it is asked again.
        (view(pod, &query.node, cluster, now).ok().map(|(view, _)| view), None)
    } else {
        (None, None)
    };
    let mut answer = match &view {
        Some(view) if is_enforced => ask(caller, group, pod, view)?,
        _ => Answer::default(),
    };
    check_size(pod, &answer.annotations)?;
    answer.view = view.filter(|_| asked(Mode::Shadow));
    answer.seen = slot;
    Ok(answer)
}

/// The node alone, with what is placed there now; and the slot that it was made from.
fn view(
    pod: &Arc<Pod>,
    node: &str,
    cluster: Option<Arc<Cluster>>,
    now: u64,
) -> Result<(View, Option<Slot>), DecideError> {
    let cluster = cluster.ok_or(DecideError::NoCluster)?;
    let at = cluster.find(node).ok_or_else(|| Unbound::UnknownNode(node.to_owned()))?;
    let slot = cluster.slots().get(at as usize).cloned();
    let placed = slot.as_ref().and_then(|slot| slot.placed.as_deref());
    // An earlier bind of it whose end nobody knew may have left the pod there: it must not stand in its own way.
    let own = placed.and_then(|placed: &Placed| placed.position(pod.uid()));
    let mut whole = WholeCluster::of(Some(Arc::clone(&cluster)));
    whole.leave_out(pod, OwnPlace::AsThePodSays);
    let view = View::new(Arc::clone(pod), cluster, Arc::from([at]), now).with_whole(whole);
    let view = match own {
        Some(own) => view.without(Arc::from([vec![own]])),
        None => view,
    };
    Ok((view, slot))
}

/// Asks the matching policies in order, and puts together what they say.
fn ask(caller: &Caller, group: &Group, pod: &Pod, view: &View) -> Result<Answer, DecideError> {
    let (mut merged, mut authors) = (Merged::new(), Vec::new());
    for member in group.answering(Mode::Enforce, Verb::Bind, pod) {
        let ask = |ask: &_, nodes: &[u32]| ask_bind(member, ask, nodes);
        let Some(answers) = caller.call_or_skip(member, Verb::Bind, view.clone(), ask)? else { continue };
        for answer in answers {
            let annotations = answer.map_err(|reason| Unbound::Refused(reason_text(&member.name, &reason)))?;
            if !annotations.is_empty() {
                authors.push(member.id().into());
            }
            annotations.into_iter().try_for_each(|annotation| merge(&mut merged, annotation, member))?;
        }
    }
    let annotations = merged.into_iter().map(|(key, (value, _))| (key, value)).collect();
    Ok(Answer { annotations, authors, ..Answer::default() })
}

pub(super) fn merge<'g>(merged: &mut Merged<'g>, annotation: Annotation, member: &'g Member) -> Result<(), Unbound> {
    let Annotation { key, value } = annotation;
    match merged.entry(key) {
        Entry::Vacant(free) => {
            free.insert((value, member));
            Ok(())
        }
        Entry::Occupied(taken) if taken.get().0 == value => Ok(()),
        Entry::Occupied(taken) => {
            let (first, second) = (taken.get().1.id().to_owned(), member.id().to_owned());
            Err(Unbound::Clash { key: taken.key().clone(), first, second })
        }
    }
}

pub(super) fn check_size(pod: &Pod, annotations: &BTreeMap<Box<str>, Box<str>>) -> Result<(), Unbound> {
    let stays = pod.annotations().iter().filter(|(key, _)| !annotations.contains_key(*key));
    let own: usize = stays.map(|(key, value)| key.len() + value.len()).sum();
    let size = own + annotations.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    // What the pod brought along is the API server's business.
    if annotations.is_empty() || size <= MAX_ANNOTATION_BYTES {
        return Ok(());
    }
    Err(Unbound::TooLarge { pod: format!("{}/{}", pod.namespace(), pod.name()), size })
}

fn binding(query: &BindQuery<'_>, annotations: BTreeMap<Box<str>, Box<str>>) -> Binding {
    let text = |text: &str| Box::from(text);
    Binding {
        namespace: text(&query.namespace),
        name: text(&query.name),
        uid: text(&query.uid),
        node: text(&query.node),
        annotations,
    }
}

/// What a bind that failed comes to.
fn after_error(
    caller: &Caller,
    binder: &dyn Binder,
    query: &BindQuery<'_>,
    error: BindError,
) -> Result<BindOutcome, Unbound> {
    // Someone was quicker: perhaps our own predecessor, with this very binding.
    if matches!(error, BindError::Conflict(_)) && matches!(read(caller, binder, query)?, Fresh::BoundThere) {
        return Ok(BindOutcome::AlreadyBound);
    }
    Err(Unbound::Binder { pod: full_name(query), error })
}

fn ask_bind(
    member: &Member,
    ask: &crate::Ask,
    nodes: &[u32],
) -> Result<Vec<Result<Vec<Annotation>, String>>, crate::Fault> {
    nodes.iter().map(|node| member.policy.bind(ask, *node)).collect()
}

fn full_name(query: &BindQuery<'_>) -> String {
    format!("{}/{}", query.namespace, query.name)
}
