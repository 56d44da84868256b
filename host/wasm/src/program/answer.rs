//! The standard output of a program: `ExtenderFilterResult` or `HostPriorityList`, checked against the request.

use std::collections::{BTreeMap, HashMap};

use plimsoll_core::{Fault, FaultKind, MAX_SCORE, Verdict, View, bounded, excerpt, one_line};
use serde::Deserialize;

use crate::fault::MAX_DETAIL_BYTES;

/// The highest score of an extender; the scores of policies go up to [`MAX_SCORE`].
const MAX_EXTENDER_SCORE: u32 = 10;

/// Maximum bytes of an answer, and of a name in it, that a message quotes.
const QUOTED: usize = 60;
const QUOTED_NAME: usize = 100;

/// Maximum bytes of the program's own error that a message quotes.
const QUOTED_ERROR: usize = 400;

const FILTER_RESULT: &str = "an ExtenderFilterResult, {\"NodeNames\": [...], \"FailedNodes\": {...}, \"FailedAndUnresolvableNodes\": {...}, \"Error\": \"\"}";
const PRIORITY_LIST: &str = "a HostPriorityList, [{\"Host\": \"...\", \"Score\": 0}, ...]";

/// The answer to `filter`; a key may be written as in Go, in lower case, or in lower camel case.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FilterResult {
    #[serde(rename = "Nodes", alias = "nodes")]
    nodes: Option<NodeList>,
    #[serde(rename = "NodeNames", alias = "nodeNames", alias = "nodenames")]
    names: Option<Vec<String>>,
    #[serde(rename = "FailedNodes", alias = "failedNodes", alias = "failednodes")]
    failed: Option<BTreeMap<String, String>>,
    #[serde(
        rename = "FailedAndUnresolvableNodes",
        alias = "failedAndUnresolvableNodes",
        alias = "failedandunresolvablenodes"
    )]
    unresolvable: Option<BTreeMap<String, String>>,
    #[serde(rename = "Error", alias = "error")]
    error: Option<String>,
}

/// Whole nodes, of which only the names are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeList {
    items: Option<Vec<NodeObject>>,
}

#[derive(Debug, Deserialize)]
struct NodeObject {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    name: String,
}

/// One entry of the answer to `prioritize`.
#[derive(Debug, Deserialize)]
struct HostPriority {
    #[serde(rename = "Host", alias = "host")]
    host: String,
    #[serde(rename = "Score", alias = "score")]
    score: i64,
}

/// The answers about the nodes of a view by name.
struct ByName<'v, A> {
    view: &'v View,
    answers: HashMap<&'v str, Option<A>>,
}

/// The verdict about each node of the view.
///
/// # Errors
/// If the output is no such result, names a node that the view does not have, or says nothing or two things about one.
pub(super) fn filter(output: &[u8], view: &View) -> Result<Vec<Verdict>, Fault> {
    let result: FilterResult = parse(output, FILTER_RESULT, "{")?;
    if let Some(error) = result.error.filter(|error| !error.is_empty()) {
        return Err(Fault::new(
            FaultKind::Panic,
            format!("it answered with the error '{}'", excerpt(&error, QUOTED_ERROR)),
        ));
    }
    let mut verdicts = ByName::of(view);
    for (name, reason) in result.failed.unwrap_or_default() {
        *verdicts.of_node(&name, "FailedNodes")? = Some(Verdict::Unschedulable(reason.into()));
    }
    // As kube-scheduler has it, this map wins over the other one.
    for (name, reason) in result.unresolvable.unwrap_or_default() {
        *verdicts.of_node(&name, "FailedAndUnresolvableNodes")? = Some(Verdict::Unresolvable(reason.into()));
    }
    let (key, kept) = match (result.nodes, result.names) {
        (Some(list), _) => {
            ("Nodes", list.items.unwrap_or_default().into_iter().map(|node| node.metadata.name).collect())
        }
        (None, names) => ("NodeNames", names.unwrap_or_default()),
    };
    for name in kept {
        let verdict = verdicts.of_node(&name, key)?;
        if verdict.as_ref().is_some_and(|verdict| *verdict != Verdict::Fits) {
            return Err(output_fault(&format!("node '{}' is both in {key} and among the failed ones", shown(&name))));
        }
        *verdict = Some(Verdict::Fits);
    }
    verdicts.in_order(|name| {
        let name = shown(name);
        Err(output_fault(&format!(
            "node '{name}' is neither in {key} nor in FailedNodes nor in FailedAndUnresolvableNodes; each node of the request belongs in one of them"
        )))
    })
}

/// The score of each node of the view, 0 to [`MAX_SCORE`]; a node that is not listed has 0, as for kube-scheduler.
///
/// # Errors
/// If the output is no such list, names a node that the view does not have or names one twice, or has a score out of range.
pub(super) fn prioritize(output: &[u8], view: &View) -> Result<Vec<u32>, Fault> {
    // A nil slice of Go is a null.
    let list: Option<Vec<HostPriority>> = parse(output, PRIORITY_LIST, "[n")?;
    let mut scores = ByName::of(view);
    for HostPriority { host, score } in list.unwrap_or_default() {
        let entry = scores.of_node(&host, "the HostPriorityList")?;
        if entry.is_some() {
            return Err(output_fault(&format!("node '{}' is in the HostPriorityList twice", shown(&host))));
        }
        let in_range = u32::try_from(score).ok().filter(|score| *score <= MAX_EXTENDER_SCORE);
        let Some(score) = in_range else {
            let host = shown(&host);
            let detail = format!("node '{host}' has the score {score}; expected 0 to {MAX_EXTENDER_SCORE}");
            return Err(output_fault(&detail));
        };
        *entry = Some(score * (MAX_SCORE / MAX_EXTENDER_SCORE));
    }
    scores.in_order(|_| Ok(0))
}

// === impl ByName ===

impl<'v, A: Clone> ByName<'v, A> {
    fn of(view: &'v View) -> Self {
        let names = (0..view.node_count() as u32).filter_map(|node| view.node_name(node));
        Self { view, answers: names.map(|name| (name.as_ref(), None)).collect() }
    }

    /// The answer about a node that stands under a key.
    fn of_node(&mut self, name: &str, key: &str) -> Result<&mut Option<A>, Fault> {
        let unknown = || output_fault(&format!("{key} names node '{}', which is not in the request", shown(name)));
        self.answers.get_mut(name).ok_or_else(unknown)
    }

    /// The answers in the order of the view.
    fn in_order(&self, missing: impl Fn(&str) -> Result<A, Fault>) -> Result<Vec<A>, Fault> {
        let names = (0..self.view.node_count() as u32).map(|node| self.view.node_name(node).map_or("", AsRef::as_ref));
        names.map(|name| self.answers.get(name).cloned().flatten().map_or_else(|| missing(name), Ok)).collect()
    }
}

fn parse<'o, T: Deserialize<'o>>(output: &'o [u8], expected: &str, opening: &str) -> Result<T, Fault> {
    let text = output.trim_ascii();
    if text.is_empty() {
        return Err(output_fault(&format!("it wrote nothing to standard output; expected {expected}")));
    }
    let wrong = |why: &str| {
        let begins = excerpt(&String::from_utf8_lossy(&text[..text.len().min(4 * QUOTED)]), QUOTED);
        output_fault(&format!("its standard output begins with `{begins}`, and is not {expected}: {why}"))
    };
    // A list would be taken for the fields of an object in their order.
    if !opening.as_bytes().contains(&text[0]) {
        return Err(wrong("its sidecar says which verbs it is asked (stdio.verbs)"));
    }
    serde_json::from_slice(text).map_err(|error| wrong(&error.to_string()))
}

fn shown(name: &str) -> String {
    excerpt(name, QUOTED_NAME)
}

fn output_fault(detail: &str) -> Fault {
    Fault::new(FaultKind::Output, one_line(bounded(detail, MAX_DETAIL_BYTES)))
}
