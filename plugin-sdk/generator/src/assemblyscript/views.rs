//! The reads as methods: a base class for each view, which the SDK extends by hand. Names and comments are those of the
//! TypeScript SDK.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::syntax::{as_type, function_name, named_types, parameters};
use crate::{
    Contract, Function, Interface, Param,
    contract::{Place, about_index, generated_place},
    docs::{Words, of_methods},
    typescript::syntax::{camel, comment, field, pascal},
};

/// Written by hand: it returns a class.
const BY_HAND: [&str; 1] = ["nodes.by-label"];

/// The words of comments.
const WORDS: Words = Words {
    or_absent: "`null`",
    is_absent: "is `null`",
    name: |_, _, place| format!("{}.{}", pascal(&place.owner), camel(&place.name)),
    width: 115,
};

/// A class, with the parameters that choose one of the things that it shows.
#[derive(Default)]
struct View {
    chosen: Vec<String>,
    methods: String,
}

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut views: BTreeMap<String, View> = BTreeMap::new();
    let (mut types, mut functions) = (BTreeSet::new(), BTreeSet::new());
    for interface in &contract.interfaces {
        if let Some(one) = &interface.one {
            views.entry(pascal(one)).or_default().chosen.clone_from(&interface.by);
        }
        for function in interface.reads() {
            let Some(place) = generated_place(interface, function, &BY_HAND) else { continue };
            let method = method(contract, interface, function, &place);
            views.entry(pascal(&place.owner)).or_default().methods += &method;
            types.extend(named_types(function.params.iter().map(|param| &param.ty).chain(&function.result)));
            functions.insert(function_name(interface, function));
        }
    }
    let names = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "import {{ {} }} from \"./generated\";\nimport {{\n  {},\n}} from \"./generated-imports\";\n\
         import {{ Some }} from \"./some\";\n\n",
        names(types),
        names(functions).replace(", ", ",\n  ")
    );
    for (owner, view) in &views {
        text += &class(owner, view)?;
    }
    Ok(text)
}

/// A base class. The last of the parameters that choose is the index, which policies may read.
fn class(owner: &str, view: &View) -> anyhow::Result<String> {
    let mut text = format!("/** The reads of `{owner}`. */\nexport class {owner}Reads {{\n");
    if let Some((_, above)) = view.chosen.split_last() {
        let declared = |name: &String| format!("protected {}: u32, ", field(name));
        let fields: String = above.iter().map(declared).collect();
        writeln!(text, "  constructor({fields}/** {} */ readonly index: u32) {{}}\n", about_index(above))?;
    }
    Ok(text + view.methods.trim_end() + "\n}\n\n")
}

fn method(contract: &Contract, interface: &Interface, function: &Function, place: &Place) -> String {
    let (chosen, arguments) = function.params.split_at(place.fields);
    let own = chosen.iter().enumerate().map(|(at, param)| {
        if at + 1 == place.fields { "this.index".to_owned() } else { format!("this.{}", field(&param.name)) }
    });
    let passed: Vec<String> = own.chain(arguments.iter().map(|param: &Param| camel(&param.name))).collect();
    let ty = function.result.as_ref().map_or_else(|| "void".to_owned(), as_type);
    // A read without arguments looks like a field.
    let name = camel(&place.name);
    let head =
        if arguments.is_empty() { format!("get {name}()") } else { format!("{name}({})", parameters(arguments)) };
    let docs = comment(&of_methods(contract, interface, &function.docs, &WORDS), "  ");
    let call = format!("{}({})", function_name(interface, function), passed.join(", "));
    format!("{docs}  {head}: {ty} {{\n    return {call};\n  }}\n\n")
}
