//! The standard output of a program: `ExtenderFilterResult` or `HostPriorityList`, checked against the request.
//!
//! The parser ends when the time of the call is over. Lists are bounded, so that short names do not take more memory than
//! the output that is charged to the call.

use std::{
    collections::HashMap,
    fmt,
    io::{self, BufReader, Read},
    marker::PhantomData,
    time::Instant,
};

use plimsoll_core::{Fault, FaultKind, MAX_SCORE, Verdict, View, bounded, excerpt, one_line};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor},
};

use crate::fault::MAX_DETAIL_BYTES;

/// Maximum bytes of an answer, of a node's name and of the program's error that a message quotes.
const QUOTED: usize = 60;
const QUOTED_NAME: usize = 100;
const QUOTED_ERROR: usize = 400;

/// Maximum entries of a list: more than any cluster has nodes, whatever `serve --max-nodes` is.
const MAX_ENTRIES: usize = 1_000_000;

/// Bytes between two checks of the clock.
const CHUNK: usize = 64 << 10;

/// The reason of a node that is in no list of the answer, as core has it for an empty reason.
const WITHOUT_REASON: &str = "no reason given";

/// The highest score of an extender; the scores of policies go up to [`MAX_SCORE`].
const MAX_EXTENDER_SCORE: u32 = 10;

const FILTER_RESULT: &str = "an ExtenderFilterResult, {\"NodeNames\": [...], \"FailedNodes\": {...}, \"FailedAndUnresolvableNodes\": {...}, \"Error\": \"\"}";
const PRIORITY_LIST: &str = "a HostPriorityList, [{\"Host\": \"...\", \"Score\": 0}, ...]";

/// `ExtenderFilterResult`. Its keys may be as in Go, in lower camel case, or in lower case; Go writes an empty list or
/// map as null.
#[derive(Deserialize)]
struct FilterResult {
    #[serde(rename = "Nodes", alias = "nodes")]
    nodes: Option<NodeList>,
    #[serde(rename = "NodeNames", alias = "nodeNames", alias = "nodenames")]
    names: Option<List<String>>,
    #[serde(rename = "FailedNodes", alias = "failedNodes", alias = "failednodes")]
    failed: Option<Reasons>,
    #[serde(
        rename = "FailedAndUnresolvableNodes",
        alias = "failedAndUnresolvableNodes",
        alias = "failedandunresolvablenodes"
    )]
    unresolvable: Option<Reasons>,
    #[serde(rename = "Error", alias = "error")]
    error: Option<String>,
}

/// Whole nodes, of which only the names are read.
#[derive(Deserialize)]
struct NodeList {
    items: Option<List<Node>>,
}

#[derive(Deserialize)]
struct Node {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

/// An entry of a `HostPriorityList`.
#[derive(Deserialize)]
struct Priority {
    #[serde(rename = "Host", alias = "host")]
    host: String,
    #[serde(rename = "Score", alias = "score")]
    score: i64,
}

/// A list of at most [`MAX_ENTRIES`] entries.
struct List<T>(Vec<T>);

/// An object with the names of nodes and reasons: a name may be there twice.
struct Reasons(List<(String, String)>);

struct ListVisitor<T>(PhantomData<T>);

struct MapVisitor;

/// The output of a program until the time of its call is over.
struct UntilDeadline<'o> {
    output: &'o [u8],
    deadline: Instant,
}

/// The nodes of a view by name. A request may name a node twice; an answer names it once.
struct NodesByName<'v> {
    /// In the order of the view.
    names: Vec<&'v str>,
    /// The first node of each name: a statement is about all nodes of that name.
    first: HashMap<&'v str, usize>,
}

/// The verdict about each node of the view.
///
/// # Errors
/// If the output is no such result, names a node that the view does not have, or says two things about one, or if the
/// deadline is over.
pub(super) fn filter(output: &[u8], view: &View, deadline: Instant) -> Result<Vec<Verdict>, Fault> {
    let result: FilterResult = parse(output, deadline, FILTER_RESULT, "{")?;
    if let Some(error) = result.error.filter(|error| !error.is_empty()) {
        let detail = format!("it answered with the error '{}'", excerpt(&error, QUOTED_ERROR));
        return Err(Fault::new(FaultKind::Panic, detail));
    }
    let nodes = NodesByName::of(view);
    // Whole nodes win over names.
    let (list, kept) = match result.nodes {
        Some(objects) => ("Nodes", entries(objects.items).map(|node| node.metadata.name).collect()),
        None => ("NodeNames", entries(result.names).collect::<Vec<_>>()),
    };
    let mut kept = nodes.place(list, kept.into_iter().map(|name| (name, ())))?;
    let mut failed = nodes.place("FailedNodes", reasons_of(result.failed))?;
    let mut unresolvable = nodes.place("FailedAndUnresolvableNodes", reasons_of(result.unresolvable))?;
    let mut verdicts: Vec<Verdict> = Vec::with_capacity(nodes.names.len());
    for (index, name) in nodes.names.iter().enumerate() {
        if let Some(known) = verdicts.get(nodes.first[name]) {
            verdicts.push(known.clone());
            continue;
        }
        // As kube-scheduler has it, the second map wins over the first.
        let verdict = match (kept[index].take(), failed[index].take(), unresolvable[index].take()) {
            (Some(()), None, None) => Verdict::Fits,
            (None, _, Some(reason)) => Verdict::Unresolvable(reason.into()),
            (None, Some(reason), None) => Verdict::Unschedulable(reason.into()),
            (Some(()), _, _) => {
                let name = shown(name);
                return Err(output_fault(&format!("node '{name}' is both in {list} and among the failed ones")));
            }
            // kube-scheduler leaves the node out, and takes it as one where no eviction helps.
            (None, None, None) => Verdict::Unresolvable(WITHOUT_REASON.into()),
        };
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

/// The score of each node of the view, 0 to [`MAX_SCORE`]; a node that is not listed has 0, as for kube-scheduler.
///
/// # Errors
/// If the output is no such list, names a node that the view does not have or names one twice, or has a score out of
/// range, or if the deadline is over.
pub(super) fn prioritize(output: &[u8], view: &View, deadline: Instant) -> Result<Vec<u32>, Fault> {
    // A nil slice of Go is a null.
    let list: Option<List<Priority>> = parse(output, deadline, PRIORITY_LIST, "[n")?;
    let nodes = NodesByName::of(view);
    let scores = entries(list).map(|Priority { host, score }| {
        if let Ok(score @ 0..=MAX_EXTENDER_SCORE) = u32::try_from(score) {
            return Ok((host, score * (MAX_SCORE / MAX_EXTENDER_SCORE)));
        }
        let host = shown(&host);
        Err(output_fault(&format!("node '{host}' has the score {score}; expected 0 to {MAX_EXTENDER_SCORE}")))
    });
    let scores = nodes.place("the HostPriorityList", scores.collect::<Result<Vec<_>, _>>()?)?;
    Ok(nodes.names.iter().map(|name| scores[nodes.first[name]].unwrap_or(0)).collect())
}

fn parse<T: DeserializeOwned>(output: &[u8], deadline: Instant, expected: &str, opening: &str) -> Result<T, Fault> {
    let text = output.trim_ascii();
    if text.is_empty() {
        return Err(output_fault(&format!("it wrote nothing to standard output; expected {expected}")));
    }
    let wrong = |why: &str| {
        let begins = excerpt(&String::from_utf8_lossy(&text[..text.len().min(4 * QUOTED)]), QUOTED);
        output_fault(&format!("its standard output begins with `{begins}`, and is not {expected}: {why}"))
    };
    // Otherwise the message would be about a type, and not about the verb.
    if !opening.as_bytes().contains(&text[0]) {
        return Err(wrong("its sidecar says which verbs it is asked (stdio.verbs)"));
    }
    let mut parser = serde_json::Deserializer::from_reader(BufReader::with_capacity(
        CHUNK,
        UntilDeadline { output: text, deadline },
    ));
    T::deserialize(&mut parser)
        .and_then(|answer| parser.end().map(|()| answer))
        .map_err(|error| wrong(&error.to_string()))
}

fn entries<T>(entries: Option<List<T>>) -> impl Iterator<Item = T> {
    entries.into_iter().flat_map(|entries| entries.0)
}

fn reasons_of(reasons: Option<Reasons>) -> impl Iterator<Item = (String, String)> {
    entries(reasons.map(|reasons| reasons.0))
}

/// The name of a node as a message quotes it.
fn shown(name: &str) -> String {
    excerpt(name, QUOTED_NAME)
}

/// A fault with this detail, on one line and of bounded length.
fn output_fault(detail: &str) -> Fault {
    Fault::new(FaultKind::Output, one_line(bounded(detail, MAX_DETAIL_BYTES)))
}

// === impl NodesByName ===

impl<'v> NodesByName<'v> {
    fn of(view: &'v View) -> Self {
        let name = |node| view.node_name(node).map_or("", AsRef::as_ref);
        let names: Vec<&str> = (0..view.node_count() as u32).map(name).collect();
        // The last insertion of a name stays.
        let first = names.iter().enumerate().rev().map(|(index, name)| (*name, index)).collect();
        Self { names, first }
    }

    /// The values of a list, each in the place of the first node of its name.
    fn place<V>(&self, list: &str, entries: impl IntoIterator<Item = (String, V)>) -> Result<Vec<Option<V>>, Fault> {
        let mut places: Vec<Option<V>> = self.names.iter().map(|_| None).collect();
        for (name, value) in entries {
            let Some(index) = self.first.get(name.as_str()) else {
                let name = shown(&name);
                return Err(output_fault(&format!("{list} names node '{name}', which is not in the request")));
            };
            if places[*index].replace(value).is_some() {
                return Err(output_fault(&format!("node '{}' is in {list} twice", shown(&name))));
            }
        }
        Ok(places)
    }
}

// === impl UntilDeadline ===

impl Read for UntilDeadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.deadline {
            return Err(io::Error::other("its time is over"));
        }
        self.output.read(buffer)
    }
}

// === impl List ===

impl<T> List<T> {
    fn add<E: Error>(&mut self, entry: T) -> Result<(), E> {
        if self.0.len() == MAX_ENTRIES {
            return Err(E::custom(format_args!("a list of more than {MAX_ENTRIES} entries")));
        }
        self.0.push(entry);
        Ok(())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(ListVisitor(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Reasons {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MapVisitor)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
        let mut entries = List(Vec::new());
        while let Some(entry) = list.next_element()? {
            entries.add(entry)?;
        }
        Ok(entries)
    }
}

impl<'de> Visitor<'de> for MapVisitor {
    type Value = Reasons;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a reason for each node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = List(Vec::new());
        while let Some(entry) = map.next_entry()? {
            entries.add(entry)?;
        }
        Ok(Reasons(entries))
    }
}

#[cfg(test)]
mod tests;
