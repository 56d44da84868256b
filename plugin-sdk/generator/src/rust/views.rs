//! The Rust SDK's public methods: `Pod`, `Node`, `Nodes`, `Placed` and `Candidate`.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    shape::Shape,
    syntax::{argument_type, camel, docs, method, snake},
};
use crate::{Cached, Contract, Function, Interface, Param};

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
    ("pod.field", "field_text"),
    ("nodes.field", "field_text"),
    ("placed.known", "placed_known"),
    ("placed.counts-labelled", "count_labelled"),
    ("facts.node-text", "fact_text"),
    ("facts.node-number", "fact_number"),
];

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "//! The reads of the contract as methods.\n\n\
                    use super::{Candidate, Cluster, Facts, Node, Nodes, Placed, Pod};\nuse crate::values::{Groups, LabelCount, Owner, Selector, Taint};\n\n"
        .to_owned();
    let mut methods: BTreeMap<String, String> = BTreeMap::new();
    for interface in &contract.interfaces {
        for function in interface.reads() {
            if let Some((owner, method)) = view_method(interface, function)? {
                *methods.entry(owner).or_default() += &method;
            }
        }
    }
    for (owner, methods) in methods {
        if methods.contains("'a") {
            writeln!(text, "impl<'a> {owner}<'a> {{\n{methods}}}\n")?;
        } else {
            writeln!(text, "impl {owner}<'_> {{\n{methods}}}\n")?;
        }
    }
    Ok(text)
}

fn view_method(interface: &Interface, function: &Function) -> anyhow::Result<Option<(String, String)>> {
    let full = format!("{}.{}", interface.name, function.name);
    let of_node = function.params.first().is_some_and(|param| param.name == "node");
    // A parameter that the method leaves out is a field of the view.
    let (owner, fields) = match &interface.one {
        Some(one) if function.of_one => (camel(one), interface.by.len()),
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
    let name = renamed.map_or_else(|| snake(&function.name), |(_, name)| (*name).to_owned());
    let (chosen, arguments) = function.params.split_at(fields);
    let chosen = chosen.iter().map(|param| format!("self.{}", snake(&param.name)));
    let passed: Vec<String> = chosen.chain(arguments.iter().map(|param| snake(&param.name))).collect();
    let parameter = |param: &Param| Ok(format!(", {}: {}", snake(&param.name), argument_type(&param.ty)?));
    let parameters: String = arguments.iter().map(parameter).collect::<anyhow::Result<_>>()?;
    let text = format!(
        "{}pub fn {name}(&self{parameters}) -> {} {{ self.door.{}({}) }}\n\n",
        docs(&function.docs),
        Shape::of(function)?.rust(),
        method(interface, function),
        passed.join(", ")
    );
    Ok(Some((owner, text)))
}
