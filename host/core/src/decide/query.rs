//! A request as it reaches core, its outcome where that is a bind, and why it cannot be decided.

use std::{borrow::Cow, sync::Arc, time::Instant};

use bytes::Bytes;

use crate::model::{BindError, Cluster, Fault, Node, ObjectError, Pod, Verb, slots::UNKNOWN};

/// The most times that the policies are asked while the values that they read change.
pub(super) const MAX_ROUNDS: u32 = 8;

/// The reason for a name that the gateway's view of the cluster does not hold; it is tried again later.
pub(super) const NOT_SEEN: &str = "node not seen yet";

/// A filter or prioritize request.
#[derive(Debug, Clone)]
pub struct Query<'q> {
    /// The pod being scheduled.
    pub pod: Arc<Pod>,
    /// The nodes in question.
    pub nodes: Nodes<'q>,
    /// When the request came in; its deadline counts from here.
    pub received: Instant,
    /// Whether the client that sent it may bind. Bind calls are expected, and pods kept for them, from such clients alone.
    pub may_bind: bool,
}

/// The nodes of a request, as it names them.
#[derive(Debug, Clone, Copy)]
pub enum Nodes<'q> {
    /// By name (`nodeCacheCapable: true`): the cluster in force knows them.
    Names(&'q [Cow<'q, str>]),
    /// By name, and looked up already.
    Slots {
        /// Where they were looked up; the decision is made from it. None: there is no view of the cluster.
        cluster: Option<&'q Arc<Cluster>>,
        /// For each name its slot, or [`Nodes::UNKNOWN`].
        slots: &'q Arc<[u32]>,
    },
    /// As objects (`nodeCacheCapable: false`).
    Objects(&'q [NodeObject]),
}

/// A whole node of a request.
#[derive(Debug, Clone)]
pub enum NodeObject {
    /// It is one of [`KnownNodes`](crate::KnownNodes), byte for byte.
    Known(Arc<Node>),
    /// Its JSON.
    Json(Bytes),
}

impl<'q> Query<'q> {
    /// A request that comes in now, from a client that may bind.
    pub fn new(pod: Arc<Pod>, nodes: Nodes<'q>) -> Self {
        Self { pod, nodes, received: Instant::now(), may_bind: true }
    }
}

impl Query<'_> {
    /// The same request about another state of the cluster, which has the same names.
    pub(crate) fn of_cluster<'q>(&'q self, cluster: &'q Arc<Cluster>) -> Query<'q> {
        let nodes = match self.nodes {
            Nodes::Slots { slots, .. } => Nodes::Slots { cluster: Some(cluster), slots },
            nodes => nodes,
        };
        Query { pod: Arc::clone(&self.pod), nodes, ..*self }
    }
}

impl Nodes<'_> {
    /// Stands for the slot of a name that the cluster does not know.
    pub const UNKNOWN: u32 = UNKNOWN;

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Names(names) => names.len(),
            Self::Slots { slots, .. } => slots.len(),
            Self::Objects(objects) => objects.len(),
        }
    }
}

impl NodeObject {
    /// The node as it stands in the request.
    pub fn json(&self) -> &Bytes {
        match self {
            Self::Known(node) => node.json(),
            Self::Json(json) => json,
        }
    }
}

/// One candidate of a preempt request.
#[derive(Debug, Clone)]
pub struct CandidateQuery<'q> {
    /// The node's name.
    pub node: Cow<'q, str>,
    /// The pods that kube-scheduler would evict.
    pub victims: Victims<'q>,
    /// The number of `PodDisruptionBudget`s that their eviction would violate.
    pub pdb_violations: i64,
}

/// The victims of a candidate, as the request names them.
#[derive(Debug, Clone)]
pub enum Victims<'q> {
    /// By UID (`nodeCacheCapable: true`).
    Uids(Vec<Cow<'q, str>>),
    /// As JSON objects (`nodeCacheCapable: false`).
    Pods(Vec<Bytes>),
}

/// Why there is no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// The URL names a group that the policies directory does not have.
    #[error("there is no group '{0}' in the policies directory")]
    UnknownGroup(String),
    /// The request names nodes, but the gateway has no view of the cluster.
    #[error(
        "the request names nodes, but plimsoll has no view of the cluster: start it with --kubeconfig or --snapshot and wait until it is ready, or set nodeCacheCapable: false"
    )]
    NoCluster,
    /// The node that is asked about is not in the cluster.
    #[error("the cluster has no node '{0}'")]
    UnknownNode(String),
    /// The policy that is asked about is not in the policies directory.
    #[error("there is no policy '{0}' in the policies directory")]
    UnknownPolicy(String),
    /// An object of the request is malformed.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// A policy failed whose faults fail the decision.
    #[error("policy {policy} failed to {verb}: {fault}")]
    Policy {
        /// The policy's name with its group.
        policy: String,
        /// The verb that it was asked.
        verb: Verb,
        /// The fault that ended the call.
        fault: Fault,
    },
    /// The replica behind this base URL gives pods places, and nominates them.
    #[error("the replica at {0} gives pods their places")]
    Elsewhere(Arc<str>),
    /// The pod needs a place before its bind, and no replica gives one.
    #[error("no replica of plimsoll gives pods their places now: {0}")]
    NoPlaces(String),
    /// The pod was not bound.
    #[error(transparent)]
    Unbound(#[from] Unbound),
}

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
    #[error("plimsoll: {NOT_SEEN}: {0}")]
    UnknownNode(String),
    /// The pod that was scheduled is gone, or on another node already.
    #[error("pod {0}")]
    Stale(String),
    /// A policy's reason why the pod cannot be bound there: `policy: reason`.
    #[error("{0}")]
    Refused(Box<str>),
    /// A policy's reason why the pod is not bound there yet: `policy: reason`.
    #[error("{0} (not yet; changes of the cluster within the time of the request did not help)")]
    Retry(Box<str>),
    /// The annotations and labels that the policies give the pod contradict each other, or it cannot carry them.
    #[error("{0}")]
    Metadata(String),
    /// The API server was not read, or did not write.
    #[error("pod {pod}: {error}")]
    Binder {
        /// `namespace/name`.
        pod: String,
        /// The API server's error.
        error: BindError,
    },
}
