//! One request from body to reply, without a server around it.

use std::{borrow::Borrow, sync::Arc, time::Instant};

use bytes::Bytes;
use plimsoll_core::{BindOutcome, BindQuery, Cluster, DecideError, Gateway, Pod, PodId, PostReplyWork, Query, Sender};

use crate::{
    RequestCache,
    decode::{self, ExtenderArgs, MAX_ELEMENTS, WireNodes},
    encode,
    error::WireError,
    extender_verb::ExtenderVerb,
    memory::MemoryReservation,
    reply::{ExtenderReply, ReplyBytes},
};

/// Bytes per name or node while a request is decoded: its range and its slot, in vectors that double as they grow, and
/// once more if serde reads them.
const DECODE_BYTES_PER_NODE: usize = 96;

/// Bytes per name or node while policies run: the lists of kept and of rejected nodes.
const DECISION_BYTES_PER_NODE: usize = 64;

/// Bytes per comma of a preempt request; it has at most one pod, UID or candidate more than commas.
const PREEMPT_BYTES_PER_COMMA: usize = 128;

/// Bytes that a parsed node or pod takes per byte and per comma of its JSON. Each element of a list or object has a
/// comma, and becomes a record of a few texts and quantities.
const OBJECT_BYTES_PER_BYTE: usize = 2;
const OBJECT_BYTES_PER_COMMA: usize = 128;

/// Bytes per node or pod that remain in use after parsing.
const DECODED_BYTES_PER_NODE: usize = 32;

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

/// The origin of a request: when it came in, and who sent it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestOrigin {
    pub(crate) received: Instant,
    pub(crate) sender: Sender,
    /// Whether it may bind.
    pub(crate) may_bind: bool,
}

/// Answers the body of a POST to `path` as a server without peers does. The cache is that of the server's earlier requests.
pub fn answer(gateway: &Gateway, cache: &RequestCache, path: &str, body: &Bytes, received: Instant) -> ExtenderReply {
    let (mut unlimited, origin) =
        (MemoryReservation::unlimited(), RequestOrigin { received, sender: Sender::default(), may_bind: true });
    match ExtenderVerb::from_path(path) {
        Some((group, verb)) => verb.answer(Backend { gateway, cache }, group, body, origin, &mut unlimited),
        None => ExtenderReply::plain_error(WireError::unknown_path()),
    }
}

// === impl ExtenderVerb ===

impl ExtenderVerb {
    /// Reads the body, decides and writes the reply; the memory for each step is reserved before it. Nothing is
    /// forwarded.
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
            Self::Filter => on_nodes(
                backend,
                body,
                origin,
                memory,
                |query| gateway.filter(group, query),
                |nodes, outcome, memory| encode::filter(nodes, outcome, |bytes| memory.grow(bytes)),
            ),
            Self::Prioritize(scale) => on_nodes(
                backend,
                body,
                origin,
                memory,
                |query| gateway.prioritize(scale, group, query),
                |nodes, outcome, memory| {
                    encode::prioritize(nodes, outcome, |bytes| memory.grow(bytes)).map(ReplyBytes::from)
                },
            ),
            Self::Preempt => preempt(backend, group, body, origin, memory),
            Self::Bind => match answer_bind(gateway, group, decode::binding_args(body, origin.received)) {
                Handling::Reply(reply) => Ok(reply),
                Handling::Forward(peer) => Err(WireError::not_forwarded(&peer, "there is no way to it")),
            },
        };
        reply.unwrap_or_else(|error| self.error(error))
    }
}

/// Reads a filter or prioritize request, with the memory for it.
fn read_args(
    Backend { gateway, cache }: Backend<'_>,
    sender: Sender,
    cluster: Option<&Cluster>,
    body: &Bytes,
    memory: &mut MemoryReservation,
) -> Result<ExtenderArgs, WireError> {
    let before = memory.bytes();
    // An element of a list has at least two bytes, one of them a comma.
    memory.grow(DECODE_BYTES_PER_NODE * (body.len() / 2).min(MAX_ELEMENTS))?;
    let known = || cache.known_nodes(sender, gateway.known_nodes());
    let args = decode::extender_args(body, &cache.names(cluster), &known)?;
    memory.shrink_to(before + DECODED_BYTES_PER_NODE * args.nodes.len());
    // A node with unchanged bytes is not parsed again.
    let objects = args.nodes.unknown_objects().map(|node| parse_bytes(node)).sum::<usize>();
    memory.grow(DECISION_BYTES_PER_NODE * args.nodes.len() + objects + parse_bytes(&args.pod))?;
    Ok(args)
}

/// The bytes that parsing an object takes.
fn parse_bytes(json: &[u8]) -> usize {
    OBJECT_BYTES_PER_BYTE * json.len() + OBJECT_BYTES_PER_COMMA * commas(json)
}

fn commas(json: &[u8]) -> usize {
    json.iter().map(|byte| usize::from(*byte == b',')).sum()
}

/// Decides about the nodes of a request.
fn on_nodes<T>(
    backend: Backend<'_>,
    body: &Bytes,
    RequestOrigin { received, sender, may_bind }: RequestOrigin,
    memory: &mut MemoryReservation,
    decide: impl FnOnce(&Query<'_>) -> Result<(T, PostReplyWork), DecideError>,
    encode: impl FnOnce(&WireNodes, &T, &mut MemoryReservation) -> Result<ReplyBytes, WireError>,
) -> Result<ExtenderReply, WireError> {
    let cluster = backend.gateway.cluster();
    let args = read_args(backend, sender, cluster.as_deref(), body, memory)?;
    let nodes = args.nodes.as_query(cluster.as_ref());
    let query = Query { pod: backend.cache.pod(args.pod)?, nodes, received, sender, may_bind };
    let (outcome, after) = decide(&query).map_err(|error| about(&query.pod, error))?;
    let body = encode(&args.nodes, &outcome, memory)?;
    Ok(ExtenderReply::decided(body, args.nodes.len(), after))
}

fn preempt(
    Backend { gateway, cache }: Backend<'_>,
    group: &str,
    body: &Bytes,
    RequestOrigin { received, .. }: RequestOrigin,
    memory: &mut MemoryReservation,
) -> Result<ExtenderReply, WireError> {
    // The reply repeats names and UIDs of the request, each at most once; this counts the JSON around them.
    memory.grow(PREEMPT_BYTES_PER_COMMA * (commas(body) + 1) + (1 + OBJECT_BYTES_PER_BYTE) * body.len())?;
    let args = decode::preempt_args(body)?;
    let pod = cache.pod(args.pod)?;
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
