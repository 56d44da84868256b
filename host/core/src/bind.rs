//! The port behind which the API server lives: [`Binder`] reads a pod, and binds it.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Instant};

use crate::Pod;

/// A bind request.
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

/// What is written: the pod's node, and what it carries from now on, in one call.
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
}

/// Who binds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// This replica.
    Mine,
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
    /// There was no answer in time: what was to be written may have been.
    #[error("the API server did not answer in time: {0}")]
    Timeout(String),
    /// Anything else.
    #[error("the API server: {0}")]
    Api(String),
}

/// Reads and binds pods at the API server. Called on blocking threads: it may wait until the deadline.
///
/// The gateway calls `pod` and `bind` for one node at a time, so that what one pod takes is seen by the next.
pub trait Binder: Send + Sync {
    /// Who binds now.
    fn turn(&self) -> Turn;

    /// Reads the pod afresh; it answers every read ([`Pod::from_json`]).
    ///
    /// # Errors
    /// If there is no such pod, or the API server does not answer in time.
    fn pod(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError>;

    /// Writes the binding, if it is still this replica's turn.
    ///
    /// Before it returns, the cluster in force shows the pod on its node with the new annotations. So it
    /// must where it is not known whether the write happened, until a fresh read tells: or else the next
    /// pod would be given the same device.
    ///
    /// # Errors
    /// If the binding was not written, or nobody knows.
    fn bind(&self, pod: &Arc<Pod>, binding: &Binding, deadline: Instant) -> Result<(), BindError>;
}
