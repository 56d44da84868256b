//! One request from body to reply, without a server around it.

use std::{
    borrow::Borrow,
    sync::{Arc, atomic::AtomicUsize},
    time::Instant,
};

use bytes::Bytes;
use plimsoll_core::{BindOutcome, BindQuery, Cluster, DecideError, Gateway, Pod, PodId, PostReplyWork, Query};

use crate::{
    decode::{self, WireNodes},
    encode,
    error::WireError,
    memory::MemoryReservation,
    reply::ExtenderReply,
    request_cache::RequestCache,
    verb::ExtenderVerb,
};

/// Bytes per name or node until the reply is sent: its range and slot, the lists of kept and rejected nodes, and its
/// name and reason in the reply.
const BYTES_PER_NODE: usize = 256;

/// Bytes that a parsed node or pod takes per byte and per comma of its JSON. Each element of a list or object has a
/// comma, and becomes a record of a few texts and quantities.
const OBJECT_BYTES_PER_BYTE: usize = 2;
const OBJECT_BYTES_PER_COMMA: usize = 128;

/// Maximum bytes of a pod. etcd stores at most 1.5 MiB, which can be a few times as much in JSON.
const MAX_POD: usize = 8 << 20;

/// The handling of a bind.
#[derive(Debug)]
pub(crate) enum Handling {
    /// It is answered.
    Reply(ExtenderReply),
    /// The replica at this base URL answers it.
    Forward(Arc<str>),
}

/// The state that requests are answered from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backend<'b> {
    pub(crate) gateway: &'b Gateway,
    pub(crate) cache: &'b RequestCache,
}

/// The origin of a request: when it came in, and what its client may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestOrigin {
    pub(crate) received: Instant,
    /// Whether it may bind.
    pub(crate) may_bind: bool,
}

/// Answers the body of a POST to `path` as a server without peers does. The cache is that of the server's earlier requests.
pub fn answer(gateway: &Gateway, cache: &RequestCache, path: &str, body: &Bytes, received: Instant) -> ExtenderReply {
    let mut unlimited = MemoryReservation::of(&Arc::new(AtomicUsize::new(usize::MAX)));
    let origin = RequestOrigin { received, may_bind: true };
    match ExtenderVerb::from_path(path) {
        Some((group, verb)) => verb.answer(Backend { gateway, cache }, group, body, origin, &mut unlimited),
        None => ExtenderReply::plain_error(WireError::unknown_path()),
    }
}

// === impl ExtenderVerb ===

impl ExtenderVerb {
    /// Reads the body, decides and writes the reply. Nothing is forwarded.
    pub(crate) fn answer(
        self,
        backend: Backend<'_>,
        group: &str,
        body: &Bytes,
        origin: RequestOrigin,
        memory: &mut MemoryReservation,
    ) -> ExtenderReply {
        let gateway = backend.gateway;
        let reply = match self {
            Self::Filter => {
                let cluster = gateway.cluster_for_filter(group, origin.may_bind);
                on_nodes(
                    backend,
                    cluster.as_ref(),
                    body,
                    origin,
                    memory,
                    |query| gateway.filter(group, query),
                    encode::filter,
                )
            }
            Self::Prioritize(scale) => {
                let decide = |query: &Query<'_>| gateway.prioritize(scale, group, query);
                let cluster = gateway.cluster();
                on_nodes(backend, cluster.as_ref(), body, origin, memory, decide, encode::prioritize)
            }
            Self::Preempt => preempt(gateway, group, body, origin, memory),
            Self::Bind => match answer_bind(gateway, group, decode::binding_args(body, origin.received)) {
                Handling::Reply(reply) => Ok(reply),
                Handling::Forward(peer) => Err(WireError::not_forwarded(&peer, "there is no way to it")),
            },
        };
        reply.unwrap_or_else(|error| self.error(error))
    }
}

/// The bytes that parsing an object takes.
fn parse_bytes(json: &[u8]) -> usize {
    let commas: usize = json.iter().map(|byte| usize::from(*byte == b',')).sum();
    OBJECT_BYTES_PER_BYTE * json.len() + OBJECT_BYTES_PER_COMMA * commas
}

/// A pod that does not keep its whole request in memory.
fn pod(json: &[u8]) -> Result<Arc<Pod>, WireError> {
    if json.len() > MAX_POD {
        return Err(WireError::beyond(format!("Pod has more than {MAX_POD} bytes")));
    }
    Ok(Arc::new(Pod::from_json(Bytes::copy_from_slice(json))?))
}

/// Decides about the nodes of a request, whose names are looked up in this cluster.
fn on_nodes<T>(
    Backend { gateway, cache }: Backend<'_>,
    cluster: Option<&Arc<Cluster>>,
    body: &Bytes,
    RequestOrigin { received, may_bind }: RequestOrigin,
    memory: &mut MemoryReservation,
    decide: impl FnOnce(&Query<'_>) -> Result<(T, PostReplyWork), DecideError>,
    encode: impl FnOnce(&WireNodes, &T) -> Vec<u8>,
) -> Result<ExtenderReply, WireError> {
    let known = || cache.known_nodes(gateway.known_nodes());
    let args = decode::extender_args(body, &cache.names(cluster.map(Arc::as_ref)), &known)?;
    // A node with unchanged bytes is not parsed again.
    let objects = args.nodes.unknown_objects().map(|node| parse_bytes(node)).sum::<usize>();
    // The reply may repeat each node.
    memory.grow(BYTES_PER_NODE * args.nodes.len() + objects + parse_bytes(&args.pod) + body.len())?;
    let nodes = args.nodes.as_query(cluster);
    let query = Query { pod: pod(&args.pod)?, nodes, received, may_bind };
    let (outcome, after) = decide(&query).map_err(|error| about(&query.pod, error))?;
    Ok(ExtenderReply::decided(encode(&args.nodes, &outcome), args.nodes.len(), after))
}

fn preempt(
    gateway: &Gateway,
    group: &str,
    body: &Bytes,
    RequestOrigin { received, .. }: RequestOrigin,
    memory: &mut MemoryReservation,
) -> Result<ExtenderReply, WireError> {
    // Pods, UIDs and candidates are no more than commas; the reply repeats names and UIDs.
    memory.grow(parse_bytes(body) + body.len())?;
    let args = decode::preempt_args(body)?;
    let pod = pod(&args.pod)?;
    let decided = gateway.preempt(group, Arc::clone(&pod), &args.candidates, received);
    let (outcome, after) = decided.map_err(|error| about(&pod, error))?;
    for (candidate, reason) in &outcome.dropped {
        let pod = PodId::of(&pod).map(tracing::field::display);
        let node = args.candidates.get(*candidate as usize).map(|candidate| &*candidate.node);
        tracing::debug!(pod, node, reason = &**reason, "a candidate for preemption was dropped");
    }
    let body = encode::preempt(&args.candidates, &outcome);
    Ok(ExtenderReply::decided(body, args.candidates.len(), after))
}

fn about(pod: &Pod, error: DecideError) -> WireError {
    WireError::from(error).about(PodId::of(pod))
}

/// Binds, or replies why the request cannot be read.
pub(crate) fn answer_bind<'q>(
    gateway: &Gateway,
    group: &str,
    query: Result<impl Borrow<BindQuery<'q>>, WireError>,
) -> Handling {
    let handled = query.and_then(|query| bind(gateway, group, query.borrow()));
    handled.unwrap_or_else(|error| Handling::Reply(ExtenderVerb::Bind.error(error)))
}

fn bind(gateway: &Gateway, group: &str, query: &BindQuery<'_>) -> Result<Handling, WireError> {
    let bound = gateway.bind(group, query);
    Ok(match bound.map_err(|error| WireError::from(error).about(Some(PodId::of_bind(query))))? {
        (BindOutcome::Bound | BindOutcome::AlreadyBound, after) => {
            Handling::Reply(ExtenderReply::decided(encode::bound(), 1, after))
        }
        (BindOutcome::Forward(peer), _) => Handling::Forward(peer),
    })
}
