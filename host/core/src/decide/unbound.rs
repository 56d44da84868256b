//! The outcome of a bind request, and the reason why a pod was not bound.

use std::sync::Arc;

use crate::model::{BindError, MAX_ANNOTATION_BYTES};

/// The most times that the policies are asked while the values that they read change.
pub(super) const MAX_ROUNDS: u32 = 8;

/// The reason for a name that the gateway's view of the cluster does not hold; it is tried again later.
pub(super) const NOT_SEEN: (&str, &str) = ("plimsoll", "node not seen yet");

/// The outcome of a bind request.
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
    NoLeader(String),
    /// An earlier bind of the pod may still be carried out, there or elsewhere.
    #[error("pod {pod} may yet be bound to node {node} by an earlier request, whose outcome is not known: try again")]
    PodBusy {
        /// `namespace/name`.
        pod: String,
        /// The node of the earlier request.
        node: String,
    },
    /// Each answer of the policies was out of date before the place could be reserved.
    #[error(
        "the values that the policies read changed {MAX_ROUNDS} times while they were asked about node {0}: try again"
    )]
    Restless(String),
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
    /// A policy's reason why the pod cannot be bound there: `policy: reason`.
    #[error("{0}")]
    Refused(Box<str>),
    /// A policy's reason why the pod is not bound there yet: `policy: reason`.
    #[error("{0} (not yet; changes of the cluster within the time of the request did not help)")]
    Retry(Box<str>),
    /// A policy would change a label of the pod, by which others may select it.
    #[error("policy {policy} gives the pod {pod} the label {key}, which it has already with another value")]
    OwnLabel {
        /// `namespace/name`.
        pod: String,
        /// The key.
        key: Box<str>,
        /// Its ID.
        policy: String,
    },
    /// Two policies disagree.
    #[error("policies {first} and {second} give the {kind} {key} different values")]
    Clash {
        /// Annotation or label.
        kind: &'static str,
        /// The key that both write.
        key: Box<str>,
        /// The policy that comes first.
        first: String,
        /// The policy that gives another value.
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
        /// The API server's error.
        error: BindError,
    },
}
