//! bind: the pod gets its node, and what the policies hand it there, in one write.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use crate::{
    Annotation, BindError, BindQuery, Binder, Binding, Cluster, Group, MAX_ANNOTATION_BYTES, Member, Mode, Placed, Pod,
    Verb, View,
};

use super::{Caller, DecideError, chain::reason_text, filter::NOT_SEEN};

/// What a bind request comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindOutcome {
    /// The pod was bound.
    Bound,
    /// The pod was bound there before; nothing was written.
    AlreadyBound,
    /// The replica behind this base URL binds.
    Forward(Arc<str>),
}

/// Why a pod was not bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unbound {
    /// There is nothing to bind with.
    #[error(
        "plimsoll cannot bind without the API server: start it with --kubeconfig or in a cluster, or remove bindVerb"
    )]
    NoBinder,
    /// No replica binds now.
    #[error("no replica of plimsoll binds now: {0}")]
    NoTurn(String),
    /// Others were bound to the node for so long.
    #[error("other pods were being bound to node {0} until the request's time was over")]
    NodeBusy(String),
    /// The policies took all the time.
    #[error("the request's time was over before the binding was written")]
    OutOfTime,
    /// The gateway's view of the cluster does not hold the node, and policies are to be asked about it.
    #[error("{whose}: {reason}: {0}", whose = NOT_SEEN.0, reason = NOT_SEEN.1)]
    UnknownNode(String),
    /// The pod that was scheduled is gone; another one has its name.
    #[error("pod {pod} has the UID {found}, expected {expected}: it was deleted and made again")]
    OtherPod {
        /// `namespace/name`.
        pod: String,
        /// The UID that it has.
        found: String,
        /// The UID that was scheduled.
        expected: String,
    },
    /// The pod has another node already.
    #[error("pod {pod} is already bound to node {node}")]
    Elsewhere {
        /// `namespace/name`.
        pod: String,
        /// Its node.
        node: String,
    },
    /// A policy's own reason why the pod cannot be bound there: `policy: reason`.
    #[error("{0}")]
    Refused(Box<str>),
    /// Two policies disagree.
    #[error("policies {first} and {second} give the annotation {key} different values")]
    Clash {
        /// The key that both write.
        key: Box<str>,
        /// Who comes first.
        first: String,
        /// Who says something else.
        second: String,
    },
    /// The pod would carry more than Kubernetes allows.
    #[error("pod {pod} would have annotations of {size} bytes; Kubernetes allows {MAX_ANNOTATION_BYTES}")]
    TooLarge {
        /// `namespace/name`.
        pod: String,
        /// Bytes of all keys and values.
        size: usize,
    },
    /// The API server was not read, or did not write.
    #[error("pod {pod}: {error}")]
    Binder {
        /// `namespace/name`.
        pod: String,
        /// What it said.
        error: BindError,
    },
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

/// Binds a pod to a node that is held for it; the view is what policies in shadow mode are to be asked about.
///
/// `newest` is the cluster in force, asked for only now that nobody else is being bound to the node.
pub(crate) fn bind(
    caller: &Caller,
    group: &Group,
    binder: &dyn Binder,
    query: &BindQuery<'_>,
    newest: impl FnOnce() -> Option<Arc<Cluster>>,
    now: u64,
) -> Result<(BindOutcome, Option<View>), DecideError> {
    let pod = match read(caller, binder, query)? {
        Fresh::Waiting(pod) => pod,
        Fresh::BoundThere => return Ok((BindOutcome::AlreadyBound, None)),
    };
    let asked = |mode| group.answering(mode, Verb::Bind, &pod).next().is_some();
    let view = if asked(Mode::Enforce) {
        Some(view(&pod, &query.node, newest(), now)?)
    } else if asked(Mode::Shadow) {
        // A policy in shadow must not be the reason that a request fails.
        view(&pod, &query.node, newest(), now).ok()
    } else {
        None
    };
    let annotations = match &view {
        Some(view) => ask(caller, group, &pod, view)?,
        None => BTreeMap::new(),
    };
    check_size(&pod, &annotations)?;
    if caller.is_out_of_time() {
        return Err(Unbound::OutOfTime.into());
    }
    let outcome = write(caller, binder, query, &pod, annotations)?;
    Ok((outcome, view.filter(|_| asked(Mode::Shadow))))
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

/// The node alone, with what is placed there now.
fn view(pod: &Arc<Pod>, node: &str, cluster: Option<Arc<Cluster>>, now: u64) -> Result<View, DecideError> {
    let cluster = cluster.ok_or(DecideError::NoCluster)?;
    let slot = cluster.find(node).ok_or_else(|| Unbound::UnknownNode(node.to_owned()))?;
    let placed = cluster.slots().get(slot as usize).and_then(|slot| slot.placed.as_deref());
    // An earlier bind of it whose end nobody knew may have left the pod there: it shall not stand in its own way.
    let own = placed.and_then(|placed: &Placed| placed.position(pod.uid()));
    let view = View::new(Arc::clone(pod), cluster, Arc::from([slot]), now);
    Ok(match own {
        Some(own) => view.without(Arc::from([vec![own]])),
        None => view,
    })
}

/// Asks the matching policies in order, and puts together what they say.
fn ask(caller: &Caller, group: &Group, pod: &Pod, view: &View) -> Result<BTreeMap<Box<str>, Box<str>>, DecideError> {
    let mut merged = Merged::new();
    for member in group.answering(Mode::Enforce, Verb::Bind, pod) {
        let ask = |ask: &_, nodes: &[u32]| ask_bind(member, ask, nodes);
        let Some(answers) = caller.call_or_skip(member, Verb::Bind, view.clone(), ask)? else { continue };
        for answer in answers {
            let annotations = answer.map_err(|reason| Unbound::Refused(reason_text(&member.name, &reason)))?;
            annotations.into_iter().try_for_each(|annotation| merge(&mut merged, annotation, member))?;
        }
    }
    Ok(merged.into_iter().map(|(key, (value, _))| (key, value)).collect())
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

fn write(
    caller: &Caller,
    binder: &dyn Binder,
    query: &BindQuery<'_>,
    pod: &Arc<Pod>,
    annotations: BTreeMap<Box<str>, Box<str>>,
) -> Result<BindOutcome, Unbound> {
    let text = |text: &str| Box::from(text);
    let binding = Binding {
        namespace: text(&query.namespace),
        name: text(&query.name),
        uid: text(&query.uid),
        node: text(&query.node),
        annotations,
    };
    match binder.bind(pod, &binding, caller.deadline()) {
        Ok(()) => Ok(BindOutcome::Bound),
        // Someone was quicker: perhaps our own predecessor, with this very binding.
        Err(error @ BindError::Conflict(_)) => match read(caller, binder, query)? {
            Fresh::BoundThere => Ok(BindOutcome::AlreadyBound),
            Fresh::Waiting(_) => Err(Unbound::Binder { pod: full_name(query), error }),
        },
        Err(error) => Err(Unbound::Binder { pod: full_name(query), error }),
    }
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
