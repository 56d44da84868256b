//! The reads as methods: a base class for each view, which the SDK extends by hand.

pub(crate) mod docs;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use anyhow::Context;

use super::{camel, comment, named_type, parameters, pascal, result};
use crate::{Cached, Contract, Function, Interface};

/// Reads that the SDK offers in another form, written by hand.
const BY_HAND: [&str; 9] = [
    "pod.created",
    "nodes.count",
    "nodes.by-label",
    "placed.created",
    "candidates.count",
    "candidates.node",
    "candidates.victims",
    "host.now",
    "host.settings",
];

/// Reads whose method has another name.
const RENAMED: [(&str, &str); 6] = [
    ("pod.field", "fieldText"),
    ("nodes.field", "fieldText"),
    ("placed.known", "placedKnown"),
    ("placed.count", "placedCount"),
    ("facts.node-text", "factText"),
    ("facts.node-number", "factNumber"),
];

/// A class, with the parameters that choose what it shows.
#[derive(Default)]
struct View {
    chosen: Vec<String>,
    methods: String,
}

/// The place of a read among the views.
pub(crate) struct Place {
    /// The view: `Node`.
    pub(crate) owner: String,
    /// The number of leading parameters that are fields of the view.
    pub(crate) fields: usize,
    /// The name of the method.
    pub(crate) name: String,
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

/// The place of a read; none for those that are written by hand.
pub(crate) fn place(interface: &Interface, function: &Function) -> Option<Place> {
    let full = format!("{}.{}", interface.name, function.name);
    if BY_HAND.contains(&full.as_str()) {
        return None;
    }
    let of_node = function.has_node();
    let (owner, fields) = match &interface.one {
        Some(one) if function.of_one => (pascal(one), interface.by.len()),
        Some(_) if of_node => ("Node".to_owned(), 1),
        Some(_) => ("Nodes".to_owned(), 0),
        None if function.cached == Cached::Cluster => ("Cluster".to_owned(), 0),
        None if function.cached == Cached::Facts && of_node => ("Node".to_owned(), 1),
        None if function.cached == Cached::Facts => ("Facts".to_owned(), 0),
        None => return None,
    };
    let renamed = RENAMED.iter().find(|(read, _)| *read == full);
    let name = renamed.map_or_else(|| camel(&function.name), |(_, name)| (*name).to_owned());
    Some(Place { owner, fields, name })
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

/// The field for a parameter that chooses: `ofNode`, since a view may have a `node` of its own.
pub(crate) fn field(param: &str) -> String {
    format!("of{}", pascal(param))
}
