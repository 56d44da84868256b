//! The Go SDK's public types and methods: records, and the reads of `Pod`, `Node`, `Nodes`, `Placed` and `Candidate`.

use std::collections::BTreeMap;

use super::{
    records,
    syntax::{docs, exported, local, method, parameters, result},
};
use crate::{Cached, Contract, Function, Interface};

/// Reads that the SDK offers in another form, written by hand.
const BY_HAND: [&str; 8] = [
    "pod.created",
    "nodes.count",
    "placed.count",
    "placed.created",
    "candidates.count",
    "candidates.node",
    "candidates.victims",
    "host.now",
];

/// Reads whose method has another name.
const RENAMED: [(&str, &str); 6] = [
    ("pod.field", "FieldText"),
    ("nodes.field", "FieldText"),
    ("placed.known", "PlacedKnown"),
    ("placed.counts-labelled", "CountLabelled"),
    ("facts.node-text", "FactText"),
    ("facts.node-number", "FactNumber"),
];

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut methods: BTreeMap<String, String> = BTreeMap::new();
    for interface in &contract.interfaces {
        for function in interface.reads() {
            if let Some((owner, method)) = view_method(interface, function)? {
                *methods.entry(owner).or_default() += &method;
            }
        }
    }
    let methods: String = methods.into_values().collect();
    Ok(format!("package plimsoll\n\n{}{methods}", records::declarations(contract)?))
}

fn view_method(interface: &Interface, function: &Function) -> anyhow::Result<Option<(String, String)>> {
    let full = format!("{}.{}", interface.name, function.name);
    let of_node = function.params.first().is_some_and(|param| param.name == "node");
    // The parameters that are left out are fields of the view.
    let (owner, fields) = match &interface.one {
        Some(one) if function.of_one => (exported(one), interface.by.len()),
        Some(_) if of_node => ("Node".to_owned(), 1),
        Some(_) => ("Nodes".to_owned(), 0),
        None if function.cached == Cached::Cluster => ("Cluster".to_owned(), 0),
        None if function.cached == Cached::Facts && of_node => ("Node".to_owned(), 1),
        None if function.cached == Cached::Facts => ("Facts".to_owned(), 0),
        None => return Ok(None),
    };
    if BY_HAND.contains(&full.as_str()) {
        return Ok(None);
    }
    let renamed = RENAMED.iter().find(|(read, _)| *read == full);
    let name = renamed.map_or_else(|| exported(&function.name), |(_, name)| (*name).to_owned());
    let (chosen, arguments) = function.params.split_at(fields);
    let receiver = owner[..1].to_ascii_lowercase();
    let chosen = chosen.iter().map(|param| format!("{receiver}.{}", local(&param.name)));
    let passed: Vec<String> = chosen.chain(arguments.iter().map(|param| local(&param.name))).collect();
    // A parameter may have the receiver's letter as its name.
    let receiver =
        if arguments.iter().any(|param| local(&param.name) == receiver) { "own".to_owned() } else { receiver };
    let text = format!(
        "{}func ({receiver} {owner}) {name}({}) {} {{\n\treturn {receiver}.door.{}({})\n}}\n\n",
        docs(&name, &function.docs),
        parameters(arguments)?,
        result(function)?,
        method(interface, function),
        passed.join(", ")
    );
    Ok(Some((owner, text)))
}
