//! The Rust SDK's public methods: `Pod`, `Node`, `Nodes`, `Placed` and `Candidate`.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    shape::Shape,
    syntax::{argument_type, camel, docs, method, snake},
};
use crate::{
    Contract, Function, Interface, Param,
    contract::{Place, generated_place},
    docs::{Words, of_methods},
};

/// The words of comments. A line of documentation in an `impl` block has eight characters before its text.
const WORDS: Words = Words {
    or_absent: "`None`",
    is_absent: "is `None`",
    name: |_, _, place| format!("{}::{}", camel(&place.owner), snake(&place.name)),
    width: 112,
};

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "//! The reads of the contract as methods.\n\n\
                    use super::{Candidate, Cluster, Facts, Node, Nodes, Placed, Pod};\nuse crate::values::{Groups, LabelCount, Owner, Selector, Taint};\n\n"
        .to_owned();
    let mut methods: BTreeMap<String, String> = BTreeMap::new();
    for interface in &contract.interfaces {
        for function in interface.reads() {
            if let Some((owner, method)) = view_method(contract, interface, function)? {
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

fn view_method(
    contract: &Contract,
    interface: &Interface,
    function: &Function,
) -> anyhow::Result<Option<(String, String)>> {
    let Some(Place { owner, fields, name }) = generated_place(interface, function, &[]) else { return Ok(None) };
    let (owner, name) = (camel(&owner), snake(&name));
    // A parameter that the method leaves out is a field of the view.
    let (chosen, arguments) = function.params.split_at(fields);
    let chosen = chosen.iter().map(|param| format!("self.{}", snake(&param.name)));
    let passed: Vec<String> = chosen.chain(arguments.iter().map(|param| snake(&param.name))).collect();
    let parameter = |param: &Param| Ok(format!(", {}: {}", snake(&param.name), argument_type(&param.ty)?));
    let parameters: String = arguments.iter().map(parameter).collect::<anyhow::Result<_>>()?;
    let text = format!(
        "{}pub fn {name}(&self{parameters}) -> {} {{ self.host.{}({}) }}\n\n",
        docs(&of_methods(contract, interface, &function.docs, &WORDS)),
        Shape::of(function)?.rust(),
        method(interface, function),
        passed.join(", ")
    );
    Ok(Some((owner, text)))
}
