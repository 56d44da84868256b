//! Reads requests: the wrapper is typed, the objects inside stay slices of the body.
//!
//! The body is scanned once; nesting costs no stack, since other values are skipped or split off as raw text.
//!
//! `fast_path` reads filter and prioritize requests: it compares names and whole nodes with the ones it predicts. It
//! leaves unusual requests to serde, and only serde reports errors.

mod args;
mod fast_path;
mod nodes;

use std::time::Instant;

use bytes::Bytes;
use plimsoll_core::{BindQuery, CandidateQuery, Names, Victims};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use self::{
    args::JsonString,
    nodes::{ExtenderArgs, WireNodes},
};
use crate::{
    error::WireError,
    request_cache::{KnownNodeOrder, NameIndex},
};

/// A preempt request.
#[derive(Debug)]
pub(crate) struct PreemptArgs<'a> {
    /// The Pod's JSON.
    pub(crate) pod: Bytes,
    /// The candidates, in the order of the request.
    pub(crate) candidates: Vec<CandidateQuery<'a>>,
}

/// Reads an `ExtenderArgs`; names are looked up in the index, and whole nodes among those that are known, which are
/// asked for only if there are whole nodes.
pub(crate) fn extender_args(
    body: &Bytes,
    names: &NameIndex,
    known: &impl Fn() -> KnownNodeOrder,
    max_nodes: usize,
) -> Result<ExtenderArgs, WireError> {
    fast_path::args(body, names, known, max_nodes).map_or_else(|| by_serde(body, names.names(), max_nodes), Ok)
}

/// Reads any valid `ExtenderArgs`, or reports the error.
fn by_serde(body: &Bytes, known: &Names, max_nodes: usize) -> Result<ExtenderArgs, WireError> {
    let wire: args::RawExtenderArgs<'_> = parse("the request", body, "ExtenderArgs")?;
    let bad = |error| malformed("the request", "ExtenderArgs", &error);
    let nodes = match (wire.nodes, wire.names) {
        (Some(list), _) => {
            let items: Vec<&RawValue> = list.items.elements("Nodes: items", max_nodes).map_err(bad)?;
            WireNodes::objects(body, items.into_iter().map(|item| slice(body, item)).collect())
        }
        (None, names) => WireNodes::written(&names.elements("NodeNames", max_nodes).map_err(bad)?, known),
    };
    Ok(ExtenderArgs { pod: pod(body, "ExtenderArgs", wire.pod)?, nodes })
}

/// Reads an `ExtenderPreemptionArgs`.
pub(crate) fn preempt_args<'a>(body: &'a Bytes, max_nodes: usize) -> Result<PreemptArgs<'a>, WireError> {
    let wire: args::RawPreemptArgs<'_> = parse("the request", body, "ExtenderPreemptionArgs")?;
    let has_pods = wire.victims.is_some();
    let key = if has_pods { "NodeNameToVictims" } else { "NodeNameToMetaVictims" };
    let candidates = wire.victims.or(wire.meta_victims).unwrap_or_default().candidates(key, max_nodes);
    let candidate = |(node, list): args::Candidate<'a>| {
        let pods = list.pods.elements::<&RawValue>(format_args!("{key}: {node}: Pods"), max_nodes)?.into_iter();
        let victims = if has_pods {
            Victims::Pods(pods.map(|pod| slice(body, pod)).collect())
        } else {
            let uid = |pod: &'a RawValue| serde_json::from_str(pod.get()).map(|pod: args::MetaPod<'a>| pod.uid.0);
            Victims::Uids(pods.map(uid).collect::<Result<_, _>>()?)
        };
        Ok(CandidateQuery { node, victims, pdb_violations: list.pdb_violations })
    };
    let candidates = candidates.and_then(|all| all.into_iter().map(candidate).collect::<Result<_, _>>());
    let candidates = candidates.map_err(|error| malformed("the request", "ExtenderPreemptionArgs", &error))?;
    Ok(PreemptArgs { pod: pod(body, "ExtenderPreemptionArgs", wire.pod)?, candidates })
}

/// Maximum bytes of an `ExtenderBindingArgs`: four short texts.
const MAX_BINDING_ARGS: usize = 64 << 10;

/// Reads an `ExtenderBindingArgs`.
pub(crate) fn binding_args(body: &Bytes, received: Instant) -> Result<BindQuery<'_>, WireError> {
    if body.len() > MAX_BINDING_ARGS {
        let (size, most) = (body.len(), MAX_BINDING_ARGS);
        return Err(WireError::malformed(format!("the request has {size} bytes; a bind has at most {most}")));
    }
    let wire: args::RawBindArgs<'_> = parse("the request", body, "ExtenderBindingArgs")?;
    if let Some(problem) = wire.problem() {
        return Err(WireError::malformed(format!("the request is no ExtenderBindingArgs: {problem}")));
    }
    let args::RawBindArgs { name, namespace, uid, node } = wire;
    Ok(BindQuery { namespace: namespace.0, name: name.0, uid: uid.0, node: node.0, received })
}

/// Reads the `ExtenderBindingResult` of another replica: its error, if it has one.
pub(crate) fn binding_result(body: &Bytes) -> Result<Option<String>, WireError> {
    let result: args::RawBindResult = parse("its reply", body, "ExtenderBindingResult")?;
    Ok(result.error.filter(|error| !error.is_empty()))
}

/// The `subject` is that of the error's text.
fn parse<'a, T: Deserialize<'a>>(subject: &str, body: &'a Bytes, what: &str) -> Result<T, WireError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(WireError::malformed(format!("{subject} is empty; expected an {what}")));
    }
    serde_json::from_slice(body).map_err(|error| malformed(subject, what, &error))
}

fn malformed(subject: &str, what: &str, error: &serde_json::Error) -> WireError {
    let text = format!("{subject} is no {what}: {error}");
    if text.contains(args::TOO_LONG) { WireError::beyond(text) } else { WireError::malformed(text) }
}

fn pod(body: &Bytes, what: &str, pod: Option<&RawValue>) -> Result<Bytes, WireError> {
    let missing = || WireError::malformed(format!("the request is no {what}: Pod is missing; expected an object"));
    pod.map(|pod| slice(body, pod)).ok_or_else(missing)
}

/// The part of the body that a raw value was borrowed from.
fn slice(body: &Bytes, raw: &RawValue) -> Bytes {
    body.slice_ref(raw.get().as_bytes())
}

#[cfg(test)]
mod tests;
