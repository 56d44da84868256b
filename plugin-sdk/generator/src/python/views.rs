//! The reads as methods: a base class for each view, which the SDK extends by hand.

use std::{collections::BTreeMap, fmt::Write};

use super::syntax::{docstring, parameters, pascal, py_type, snake};
use crate::{
    Contract, Function, Interface,
    contract::{Place, about_index, generated_place},
    docs::{Words, of_methods},
};

/// Written by hand: it returns a class.
const BY_HAND: [&str; 1] = ["nodes.by-label"];

/// The words of comments.
const WORDS: Words = Words {
    or_absent: "`None`",
    is_absent: "is `None`",
    name: |_, _, place| format!("{}.{}", pascal(&place.owner), snake(&place.name)),
    width: 106,
};

/// A class, with the parameters that choose one of the things that it shows.
#[derive(Default)]
struct View {
    chosen: Vec<String>,
    methods: String,
}

/// The base classes of the views.
pub(super) fn classes(contract: &Contract) -> anyhow::Result<String> {
    let mut views: BTreeMap<String, View> = BTreeMap::new();
    for interface in &contract.interfaces {
        if let Some(one) = &interface.one {
            views.entry(pascal(one)).or_default().chosen.clone_from(&interface.by);
        }
        for function in interface.reads() {
            let Some(place) = generated_place(interface, function, &BY_HAND) else { continue };
            views.entry(pascal(&place.owner)).or_default().methods += &method(contract, interface, function, &place);
        }
    }
    views.iter().map(|(owner, view)| class(owner, view)).collect()
}

/// A base class. The last of the parameters that choose is the index, which policies may read.
fn class(owner: &str, view: &View) -> anyhow::Result<String> {
    let mut text = format!("\n\nclass {owner}View:\n    \"\"\"The reads of `{owner}`.\"\"\"\n\n");
    let chosen = view.chosen.split_last();
    let above = chosen.map_or(&[][..], |(_, above)| above);
    let names: Vec<String> = above.iter().map(|name| snake(name)).chain(chosen.map(|_| "index".to_owned())).collect();
    let declared = |name: &String| format!(", {name}: int");
    let declared: String = names.iter().map(declared).collect();
    writeln!(text, "    def __init__(self, reads: HostReads{declared}) -> None:\n        self._reads = reads")?;
    for name in &names {
        writeln!(text, "        self._{name} = {name}")?;
    }
    if chosen.is_some() {
        let docs = docstring(about_index(above));
        write!(text, "\n    @property\n    def index(self) -> int:\n{docs}        return self._index\n")?;
    }
    Ok(text + &view.methods)
}

fn method(contract: &Contract, interface: &Interface, function: &Function, place: &Place) -> String {
    let (chosen, arguments) = function.params.split_at(place.fields);
    let own = chosen.iter().enumerate().map(|(at, param)| {
        if at + 1 == place.fields { "self._index".to_owned() } else { format!("self._{}", snake(&param.name)) }
    });
    let passed: Vec<String> = own.chain(arguments.iter().map(|param| snake(&param.name))).collect();
    // A read without arguments looks like a field.
    let property = if arguments.is_empty() { "    @property\n" } else { "" };
    let result = function.result.as_ref().map_or_else(|| "None".to_owned(), py_type);
    format!(
        "\n{property}    def {}(self{}) -> {result}:\n{}        return self._reads.{}.{}({})\n",
        snake(&place.name),
        parameters(arguments),
        docstring(&of_methods(contract, interface, &function.docs, &WORDS)),
        snake(&interface.name),
        snake(&function.name),
        passed.join(", ")
    )
}
