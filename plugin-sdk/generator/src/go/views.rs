//! The Go SDK's public types and methods: records, and the reads of `Pod`, `Node`, `Nodes`, `Placed` and `Candidate`.

use std::collections::BTreeMap;

use super::{
    records,
    syntax::{WIDTH, docs, exported, local, method, named_result, parameters},
};
use crate::{
    Contract, Function, Interface,
    contract::{Place, generated_place},
    docs::{Words, of_methods},
};

/// Written by hand: it returns an `int`.
const BY_HAND: [&str; 1] = ["placed.count"];

/// The words of comments.
const WORDS: Words = Words {
    or_absent: "ok is false",
    is_absent: "has no value",
    name: |_, _, place| format!("{}.{}", exported(&place.owner), exported(&place.name)),
    width: WIDTH,
};

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut methods: BTreeMap<String, String> = BTreeMap::new();
    for interface in &contract.interfaces {
        for function in interface.reads() {
            if let Some((owner, method)) = view_method(contract, interface, function)? {
                *methods.entry(owner).or_default() += &method;
            }
        }
    }
    let methods: String = methods.into_values().collect();
    Ok(format!("package plimsoll\n\n{}{methods}", records::declarations(contract)?))
}

fn view_method(
    contract: &Contract,
    interface: &Interface,
    function: &Function,
) -> anyhow::Result<Option<(String, String)>> {
    let Some(Place { owner, fields, name }) = generated_place(interface, function, &BY_HAND) else { return Ok(None) };
    let (owner, name) = (exported(&owner), exported(&name));
    // The parameters that are left out are fields of the view.
    let (chosen, arguments) = function.params.split_at(fields);
    let letter = owner[..1].to_ascii_lowercase();
    // A parameter may have the receiver's letter as its name.
    let receiver = if arguments.iter().any(|param| local(&param.name) == letter) { "own".to_owned() } else { letter };
    let chosen = chosen.iter().map(|param| format!("{receiver}.{}", local(&param.name)));
    let passed: Vec<String> = chosen.chain(arguments.iter().map(|param| local(&param.name))).collect();
    let text = format!(
        "{}func ({receiver} {owner}) {name}({}) {} {{\n\treturn {receiver}.host.{}({})\n}}\n\n",
        docs(&name, "returns", &of_methods(contract, interface, &function.docs, &WORDS)),
        parameters(arguments)?,
        named_result(function, arguments)?,
        method(interface, function),
        passed.join(", ")
    );
    Ok(Some((owner, text)))
}
