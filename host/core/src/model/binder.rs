//! The port behind which the API server lives: [`Binder`] reads a pod, reserves it a place on its node, and binds it.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::model::{Cluster, Pod};

/// A bind request. The constructor of one checks that its names are names of Kubernetes: they become part of URLs.
#[derive(Debug, Clone)]
pub struct BindQuery<'q> {
    /// The pod's namespace.
    pub namespace: Cow<'q, str>,
    /// The pod's name.
    pub name: Cow<'q, str>,
    /// The UID that the pod had when it was scheduled.
    pub uid: Cow<'q, str>,
    /// The node that it is to run on.
    pub node: Cow<'q, str>,
    /// When the request came in; its deadline counts from here.
    pub received: Instant,
}

/// The content of a Binding: the pod's node and its new annotations, written in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The pod's namespace.
    pub namespace: Box<str>,
    /// The pod's name.
    pub name: Box<str>,
    /// The UID that the pod must have.
    pub uid: Box<str>,
    /// The node that it is to run on.
    pub node: Box<str>,
    /// Annotations that the pod gets, in the same write.
    pub annotations: BTreeMap<Box<str>, Box<str>>,
    /// Labels that the pod gets, in the same write. An API server before Kubernetes 1.35 drops them.
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

/// The replica that binds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leader {
    /// This replica.
    ThisReplica,
    /// The replica behind this base URL.
    Peer(Arc<str>),
    /// No replica, and why.
    Nobody(String),
}

/// Why the API server was not read, or did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// There is no pod of this name.
    #[error("there is no such pod")]
    NoPod,
    /// The API server refuses the write, since the pod is bound or another one has its name (409).
    #[error("the API server refuses the binding: {0}")]
    Conflict(String),
    /// This replica may not write any more; nothing was written.
    #[error("{0}")]
    NotLeader(String),
    /// There was no answer in time: the write may have been made all the same.
    #[error("the API server did not answer in time: {0}")]
    Timeout(String),
    /// Anything else.
    #[error("the API server: {0}")]
    Api(String),
}

// === impl BindQuery ===

impl BindQuery<'_> {
    /// The same with owned texts.
    pub fn into_owned(self) -> BindQuery<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        BindQuery {
            namespace: own(self.namespace),
            name: own(self.name),
            uid: own(self.uid),
            node: own(self.node),
            received: self.received,
        }
    }
}

/// Says whether the policies would read the same in another cluster. It calls no guest, waits for nothing and takes
/// microseconds.
pub type IsUnchanged<'a> = dyn Fn(&Arc<Cluster>) -> bool + 'a;

/// Why there is no reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReserved {
    /// A value that the policies have read has changed: ask them again.
    Changed,
    /// The newest snapshot shows the pod on this node.
    Placed(Box<str>),
    /// An earlier bind of the pod to this node has a reservation, and its outcome is not known.
    Undecided(Box<str>),
}

/// Reads and binds pods at the API server. Called on blocking threads: it may wait until the deadline.
///
/// The invariant, whatever fails: every later bind sees a pod on its node once a Binding was sent for it, until it is
/// known that the Binding was not carried out and cannot be any more.
pub trait Binder: Send + Sync {
    /// Returns the replica that binds now.
    fn leader(&self) -> Leader;

    /// For how long this replica leads: it knows no tentative places of the leader before it.
    fn leads_for(&self) -> Duration {
        Duration::MAX
    }

    /// Reads the pod afresh; it answers every read ([`Pod::from_json`]).
    ///
    /// # Errors
    /// If there is no such pod, or the API server does not answer in time.
    fn pod(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError>;

    /// Shows a pod, which names its node, there until the watch shows it: another replica decides about its bind. It has
    /// no annotations of the bind, so no bind of this replica is decided by it.
    fn forwarded(&self, _pod: Pod) {}

    /// The other replica does not bind the pod: it is shown no more, unless this replica has reserved its place.
    fn not_forwarded(&self, _uid: &str) {}

    /// Reserves the pod for the node: from now on the cluster in force shows the pod on the node, with the
    /// annotations of the binding. One step with the comparison, between which nothing is published: if the newest
    /// cluster is not `is_unchanged`, nothing is reserved.
    ///
    /// # Errors
    /// If the policies must be asked again, or the pod is on a node already, or may be.
    fn reserve(
        &self,
        pod: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved>;
}

/// One bind's reservation of a pod. Dropping it releases the pod.
pub trait Reservation {
    /// Writes the binding of the pod, as it was read since the place was reserved, if it is still this replica's turn.
    ///
    /// The reservation stays unless it is known that nothing was written and nothing will be. No other
    /// reservation is touched, whatever the outcome.
    ///
    /// # Errors
    /// If the binding was not written, or its outcome is not known.
    fn bind(self: Box<Self>, pod: &Arc<Pod>, deadline: Instant) -> Result<(), BindError>;
}
