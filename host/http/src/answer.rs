//! One request from body to reply, without a server around it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use axum::http::StatusCode;
use bytes::Bytes;
use plimsoll_core::{
    BindOutcome, BindQuery, DecideError, Deciding, FaultKind, Gateway, Pod, PodId, PostReplyWork, PreemptOutcome,
    Query, ScoreScale, TieBreak,
};

use crate::{
    decode::{self, WireNodes},
    encode,
    error::WireError,
    request_cache::{NameIndex, RequestCache},
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

/// A verb of the extender protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtenderVerb {
    Filter,
    /// The scale is part of the URL, so that it changes together with the scheduler's configuration.
    Prioritize(ScoreScale),
    Preempt(IfUnchanged),
    Bind,
}

/// The reply to a preempt request of which every candidate is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfUnchanged {
    /// The candidates again. kube-scheduler takes back only victims that are on the candidate's node.
    Repeat,
    /// An error, after which kube-scheduler keeps its candidates: their victims may be on other nodes. This needs an
    /// extender that is `ignorable`, so a request without a decision is answered with no candidate.
    Decline,
}

/// The handling of a request.
#[derive(Debug)]
pub(crate) enum Handling {
    /// It is answered.
    Reply(ExtenderReply),
    /// The replica at this base URL answers: this bind, or a filter of so many nodes.
    Forward(Arc<str>, Option<BindQuery<'static>>, usize),
}

/// A reply, and the work to do after it was sent.
#[derive(Debug)]
pub(crate) struct ExtenderReply {
    pub(crate) status: StatusCode,
    /// Never empty.
    pub(crate) body: Bytes,
    /// Nodes or candidates that the request asked about, as far as it could be read.
    pub(crate) nodes: usize,
    /// Why there is no decision.
    pub(crate) error: Option<WireError>,
    pub(crate) after: PostReplyWork,
}

/// The state that requests are answered from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backend<'b> {
    pub(crate) gateway: &'b Gateway,
    pub(crate) cache: &'b RequestCache,
    pub(crate) max_nodes: usize,
}

/// The origin of a request: when it came in, and what its client may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestOrigin {
    pub(crate) received: Instant,
    /// Whether it may bind.
    pub(crate) may_bind: bool,
}

/// The memory that one request has reserved of the budget for bodies and the data decoded from them; released on drop.
///
/// Memory is reserved before it is allocated: too many large requests are refused instead of exhausting the process.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    /// The bytes that all requests together may still reserve.
    free: Arc<AtomicUsize>,
    bytes: usize,
}

/// The last segment of the URL for an extender that preempts pods of groups and is `ignorable`.
pub const PREEMPT_POD_GROUPS: &str = "preempt-pod-groups";

/// The last segment of the URL at which scores are on this scale: `prioritizeVerb` of kube-scheduler's configuration.
pub const fn prioritize_verb(scale: ScoreScale) -> &'static str {
    match scale {
        ScoreScale::Coarse => "prioritize",
        ScoreScale::Fine => "prioritize-fine",
        ScoreScale::FineWith(TieBreak::Name) => "prioritize-fine-by-name",
        ScoreScale::FineWith(TieBreak::Spread) => "prioritize-fine-spread",
    }
}

// === impl ExtenderReply ===

impl ExtenderReply {
    fn decided(body: impl Into<Bytes>, nodes: usize, after: PostReplyWork) -> Self {
        Self { status: StatusCode::OK, body: body.into(), nodes, error: None, after }
    }

    /// The reply to a call of a verb, or to anything else, that has no decision.
    pub(crate) fn failed(verb: Option<ExtenderVerb>, error: WireError) -> Self {
        // kube-scheduler throws away the body of any other status: a reason must come with 200.
        let (status, body) = match verb {
            Some(ExtenderVerb::Filter) => (StatusCode::OK, encode::filter_error(&error.outside)),
            Some(ExtenderVerb::Bind) => (StatusCode::OK, encode::error(&error.outside)),
            Some(ExtenderVerb::Preempt(IfUnchanged::Decline)) => {
                (StatusCode::OK, encode::preempt(&[], &PreemptOutcome::default()))
            }
            _ => (error.status, encode::error(&error.outside)),
        };
        Self { status, error: Some(error), ..Self::decided(body, 0, PostReplyWork::default()) }
    }

    /// The reply of another replica to a bind or a filter, whose nodes the caller knows.
    pub(crate) fn of_peer(body: Bytes) -> Result<Self, WireError> {
        // That replica has logged its error, with the pod.
        let of_peer = |text| WireError { is_routine: true, ..WireError::internal(text) };
        let error = decode::binding_result(&body)?.map(of_peer);
        Ok(Self { error, ..Self::decided(body, 0, PostReplyWork::default()) })
    }
}

// === impl ExtenderVerb ===

impl ExtenderVerb {
    const ALL: [Self; 8] = [
        Self::Filter,
        Self::Prioritize(ScoreScale::Coarse),
        Self::Preempt(IfUnchanged::Repeat),
        Self::Preempt(IfUnchanged::Decline),
        Self::Bind,
        Self::Prioritize(ScoreScale::Fine),
        Self::Prioritize(ScoreScale::FineWith(TieBreak::Name)),
        Self::Prioritize(ScoreScale::FineWith(TieBreak::Spread)),
    ];

    /// The group (empty for the root) and the verb of a URL's path; extra slashes are ignored.
    pub(crate) fn from_path(path: &str) -> Option<(&str, Self)> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let (first, second) = (segments.next()?, segments.next());
        let (group, name) = second.map_or(("", first), |second| (first, second));
        let verb = Self::ALL.into_iter().find(|verb| verb.segment() == name)?;
        segments.next().is_none().then_some((group, verb))
    }

    /// The last segment of the URL.
    pub(crate) const fn segment(self) -> &'static str {
        match self {
            Self::Prioritize(scale) => prioritize_verb(scale),
            Self::Preempt(IfUnchanged::Decline) => PREEMPT_POD_GROUPS,
            _ => self.as_str(),
        }
    }

    /// The name in logs and metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Prioritize(_) => "prioritize",
            Self::Preempt(_) => "preempt",
            Self::Bind => "bind",
        }
    }

    /// Reads the body, decides and writes the reply.
    pub(crate) fn answer(
        self,
        backend: Backend<'_>,
        group: &str,
        body: &Bytes,
        origin: RequestOrigin,
        memory: &mut MemoryReservation,
    ) -> Result<Handling, WireError> {
        let deciding = || backend.gateway.begin(group);
        match self {
            Self::Filter => {
                let deciding = if origin.may_bind { deciding()?.after_bind_calls() } else { deciding()? };
                let filter = |deciding: Deciding<'_>, query: &Query<'_>| deciding.filter(query);
                on_nodes(backend, deciding, body, origin, memory, filter, encode::filter)
            }
            Self::Prioritize(scale) => {
                let prioritize = |deciding: Deciding<'_>, query: &Query<'_>| deciding.prioritize(scale, query);
                let encode = |nodes: &WireNodes, _: &NameIndex, scores: &Vec<u32>| encode::prioritize(nodes, scores);
                on_nodes(backend, deciding()?, body, origin, memory, prioritize, encode)
            }
            Self::Preempt(unchanged) => preempt(backend, group, body, origin, memory, unchanged),
            Self::Bind => bind(backend, group, body, origin.received),
        }
    }
}

// === impl MemoryReservation ===

impl MemoryReservation {
    /// An empty reservation of a budget.
    pub(crate) fn of(free: &Arc<AtomicUsize>) -> Self {
        Self { free: Arc::clone(free), bytes: 0 }
    }

    /// Reserves more bytes.
    ///
    /// # Errors
    /// If all requests together would then hold too much; nothing is reserved in that case.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), WireError> {
        let take = |free: usize| free.checked_sub(bytes);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(|_| WireError::overloaded())?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.free.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// The bytes that parsing an object takes.
fn parse_bytes(json: &[u8]) -> usize {
    let commas: usize = json.iter().map(|byte| usize::from(*byte == b',')).sum();
    OBJECT_BYTES_PER_BYTE * json.len() + OBJECT_BYTES_PER_COMMA * commas
}

fn pod(cache: &RequestCache, json: &[u8]) -> Result<Arc<Pod>, WireError> {
    if json.len() > MAX_POD {
        return Err(WireError::beyond(format!("Pod has more than {MAX_POD} bytes")));
    }
    Ok(cache.pod(json)?)
}

/// Decides about the nodes of a request.
fn on_nodes<T>(
    Backend { gateway, cache, max_nodes }: Backend<'_>,
    deciding: Deciding<'_>,
    body: &Bytes,
    RequestOrigin { received, may_bind }: RequestOrigin,
    memory: &mut MemoryReservation,
    decide: impl FnOnce(Deciding<'_>, &Query<'_>) -> Result<(T, PostReplyWork), DecideError>,
    encode: impl FnOnce(&WireNodes, &NameIndex, &T) -> Vec<u8>,
) -> Result<Handling, WireError> {
    let cluster = deciding.cluster().cloned();
    let names = cache.names(cluster.as_deref());
    let known = || cache.known_nodes(deciding.known_nodes());
    let args = decode::extender_args(body, &names, &known, max_nodes)?;
    // A node with unchanged bytes is not parsed again.
    let objects = args.nodes.unknown_objects().map(|node| parse_bytes(node)).sum::<usize>();
    // The reply may repeat each node.
    memory.grow(BYTES_PER_NODE * args.nodes.len() + objects + parse_bytes(&args.pod) + body.len())?;
    let nodes = args.nodes.as_query(cluster.as_ref());
    let query = Query { pod: pod(cache, &args.pod)?, nodes, received, may_bind };
    let (outcome, after) = match decide(deciding, &query) {
        Err(DecideError::Elsewhere(peer)) => return Ok(Handling::Forward(peer, None, args.nodes.len())),
        decided => decided.map_err(|error| about(gateway, &query.pod, error))?,
    };
    let reply = encode(&args.nodes, &names, &outcome);
    Ok(Handling::Reply(ExtenderReply::decided(reply, args.nodes.len(), after)))
}

fn preempt(
    Backend { gateway, cache, max_nodes }: Backend<'_>,
    group: &str,
    body: &Bytes,
    RequestOrigin { received, .. }: RequestOrigin,
    memory: &mut MemoryReservation,
    unchanged: IfUnchanged,
) -> Result<Handling, WireError> {
    // Pods, UIDs and candidates are no more than commas; the reply repeats names and UIDs.
    memory.grow(parse_bytes(body) + body.len())?;
    let args = decode::preempt_args(body, max_nodes)?;
    let pod = pod(cache, &args.pod)?;
    let decided = gateway.begin(group)?.preempt(Arc::clone(&pod), &args.candidates, received);
    let (mut outcome, after) = decided.map_err(|error| about(gateway, &pod, error))?;
    let count = args.candidates.len();
    if unchanged == IfUnchanged::Decline && outcome.dropped.is_empty() && !outcome.has_replaced {
        let body = encode::error("no candidate is changed: kube-scheduler keeps them, as this extender is ignorable");
        let reply = ExtenderReply { status: StatusCode::CONFLICT, ..ExtenderReply::decided(body, count, after) };
        return Ok(Handling::Reply(reply));
    }
    let spanning = outcome.kept.extract_if(.., |kept| kept.spans_nodes);
    let why = "plimsoll: kube-scheduler takes back no candidate with victims on other nodes";
    outcome.dropped.extend(spanning.map(|kept| (kept.candidate, why.into())));
    for (candidate, reason) in &outcome.dropped {
        let pod = PodId::of(&pod).map(tracing::field::display);
        let node = args.candidates.get(*candidate as usize).map(|candidate| &*candidate.node);
        tracing::debug!(pod, node, reason = &**reason, "a candidate for preemption was dropped");
    }
    let body = encode::preempt(&args.candidates, &outcome);
    Ok(Handling::Reply(ExtenderReply::decided(body, count, after)))
}

/// The error of a decision about a pod, with the message of a policy's fault.
fn about(gateway: &Gateway, pod: &Arc<Pod>, error: DecideError) -> WireError {
    let failed = match &error {
        DecideError::Policy { policy, fault, .. } if fault.kind != FaultKind::Host => {
            Some((policy.clone(), fault.detail.clone()))
        }
        _ => None,
    };
    let mut error = WireError::from(error).about(PodId::of(pod));
    if let Some((policy, message)) = failed {
        error.outside = gateway.stable_fault(pod, &policy, error.outside, &message);
    }
    error
}

fn bind(
    Backend { gateway, .. }: Backend<'_>,
    group: &str,
    body: &Bytes,
    received: Instant,
) -> Result<Handling, WireError> {
    let query = decode::binding_args(body, received)?;
    let about = |error| WireError::from(error).about(Some(PodId::of_bind(&query)));
    Ok(match gateway.begin(group)?.bind(&query).map_err(about)? {
        (BindOutcome::Bound | BindOutcome::AlreadyBound, after) => {
            Handling::Reply(ExtenderReply::decided(encode::error(""), 1, after))
        }
        (BindOutcome::Forward(peer), _) => Handling::Forward(peer, Some(query.into_owned()), 1),
    })
}
