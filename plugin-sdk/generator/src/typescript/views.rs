//! The reads as methods: a base class for each view, which the SDK extends by hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use anyhow::Context;

use super::{
    docs,
    place::{Place, field, place},
    syntax::{camel, comment, named_type, parameters, pascal, result},
};
use crate::{Contract, Function, Interface};

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
            let Some(place) = place(interface, function) else { continue };
            let method = method(contract, interface, function, &place)?;
            views.entry(place.owner).or_default().methods += &method;
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
        writeln!(text, "  /** Its number in the request, from 0. */\n  readonly index: number;")?;
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
    let Place { fields, name, .. } = place;
    let (chosen, arguments) = function.params.split_at(*fields);
    let own = chosen.iter().enumerate().map(|(at, param)| {
        if at + 1 == *fields { "this.index".to_owned() } else { format!("this.{}", field(&param.name)) }
    });
    let passed: Vec<String> = own.chain(arguments.iter().map(|param| camel(&param.name))).collect();
    let (ty, is_optional) = result(function).with_context(|| format!("{}.{}", interface.name, function.name))?;
    let (ty, absent) = if is_optional { (format!("{ty} | undefined"), " ?? undefined") } else { (ty, "") };
    // A read without arguments looks like a field.
    let head =
        if arguments.is_empty() { format!("get {name}()") } else { format!("{name}({})", parameters(arguments)?) };
    let call = format!("this.imports.{}.{}({})", interface.name, camel(&function.name), passed.join(", "));
    let docs = comment(&docs::of_methods(contract, interface, &function.docs, "undefined"), "  ");
    Ok(format!("{docs}  {head}: {ty} {{\n    return {call}{absent};\n  }}\n\n"))
}
