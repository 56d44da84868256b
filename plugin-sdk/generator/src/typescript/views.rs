//! The reads as methods: a base class for each view, which the SDK extends by hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use anyhow::Context;

use super::syntax::{camel, comment, field, named_type, parameters, pascal, result};
use crate::{
    Contract, Function, Interface,
    contract::{Place, about_index, generated_place},
    docs::{Words, of_methods},
};

/// Written by hand: it returns a class.
const BY_HAND: [&str; 1] = ["nodes.by-label"];

/// The words of comments.
const WORDS: Words = Words {
    or_absent: "`undefined`",
    is_absent: "is `undefined`",
    name: |_, _, place| format!("{}.{}", pascal(&place.owner), camel(&place.name)),
    width: 115,
};

/// A class, with the parameters that choose what it shows.
#[derive(Default)]
struct View {
    chosen: Vec<String>,
    methods: String,
}

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut views: BTreeMap<String, View> = BTreeMap::new();
    let mut types = BTreeSet::from(["Imports".to_owned()]);
    for interface in &contract.interfaces {
        if let Some(one) = &interface.one {
            views.entry(pascal(one)).or_default().chosen.clone_from(&interface.by);
        }
        for function in interface.reads() {
            let Some(place) = generated_place(interface, function, &BY_HAND) else { continue };
            let method = method(contract, interface, function, &place)?;
            views.entry(pascal(&place.owner)).or_default().methods += &method;
            types.extend(function.params.iter().map(|param| &param.ty).chain(&function.result).filter_map(named_type));
        }
    }
    let types: Vec<String> = types.into_iter().collect();
    let classes = views.iter().map(|(owner, view)| class(owner, view)).collect::<anyhow::Result<String>>()?;
    Ok(format!("import type {{ {} }} from \"./generated.js\";\n\n{classes}", types.join(", ")))
}

/// A base class. The last of the parameters that choose is the index, which policies may read.
fn class(owner: &str, view: &View) -> anyhow::Result<String> {
    let mut text = format!("/** The reads of `{owner}`. */\nexport abstract class {owner}Reads {{\n");
    if let Some((_, above)) = view.chosen.split_last() {
        writeln!(text, "  /** {} */\n  readonly index: number;", about_index(above))?;
        let declared = |name: &String| [", protected readonly ", &field(name), ": number"].concat();
        let fields: String = above.iter().map(declared).collect();
        writeln!(text, "\n  constructor(protected readonly imports: Imports{fields}, index: number) {{")?;
        writeln!(text, "    this.index = index;\n  }}\n")?;
    } else {
        writeln!(text, "  constructor(protected readonly imports: Imports) {{}}\n")?;
    }
    Ok(text + view.methods.trim_end() + "\n}\n\n")
}

fn method(contract: &Contract, interface: &Interface, function: &Function, place: &Place) -> anyhow::Result<String> {
    let (fields, name) = (place.fields, camel(&place.name));
    let (chosen, arguments) = function.params.split_at(fields);
    let own = chosen.iter().enumerate().map(|(at, param)| {
        if at + 1 == fields { "this.index".to_owned() } else { format!("this.{}", field(&param.name)) }
    });
    let passed: Vec<String> = own.chain(arguments.iter().map(|param| camel(&param.name))).collect();
    let (ty, is_optional) = result(function).with_context(|| format!("{}.{}", interface.name, function.name))?;
    let (ty, absent) = if is_optional { (format!("{ty} | undefined"), " ?? undefined") } else { (ty, "") };
    // A read without arguments looks like a field.
    let head =
        if arguments.is_empty() { format!("get {name}()") } else { format!("{name}({})", parameters(arguments)?) };
    let call = format!("this.imports.{}.{}({})", interface.name, camel(&function.name), passed.join(", "));
    let docs = comment(&of_methods(contract, interface, &function.docs, &WORDS), "  ");
    Ok(format!("{docs}  {head}: {ty} {{\n    return {call}{absent};\n  }}\n\n"))
}
