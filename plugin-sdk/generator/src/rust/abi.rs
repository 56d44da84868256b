//! The Rust SDK in WebAssembly: the imports with the flattened types of the canonical ABI, and a method for each read.

use std::fmt::Write;

use anyhow::{Context, ensure};

use super::{Shape, camel, method, number_type, parameters, snake};
use crate::{Cached, Contract, Function, Interface, Param, Type};

/// The canonical ABI passes more values than this through memory.
const MAX_FLAT: usize = 16;

/// Reads whose methods are written by hand.
const BY_HAND: [&str; 1] = ["host.now"];

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "//! The imports of the contract as methods; `door.rs` says why each `unsafe` is sound.\n\n\
                    use super::{door::{Door, Items, Maybe, Text}, pod};\nuse crate::{LabelCount, Owner, Selector, Taint, view::Groups};\n\n"
        .to_owned();
    for record in &contract.records {
        text +=
            &in_memory_struct(&format!("The record `{}`", record.name), &record_name(&record.name), &record.fields)?;
    }
    for interface in &contract.interfaces {
        for function in interface.reads().filter(|function| is_spilled(function, contract)) {
            let what = format!("The parameters of `{}.{}`", interface.name, function.name);
            text += &in_memory_struct(&what, &params_name(interface, function), &function.params)?;
        }
    }
    for interface in contract.interfaces.iter().filter(|interface| is_kept(interface)) {
        let mut names = String::new();
        for function in interface.reads() {
            if !matches!(Shape::of(function)?, Shape::OptionalRecord(_) | Shape::Flag) {
                names += &(camel(&function.name) + ",\n");
            }
        }
        writeln!(text, "/// The functions of the interface `{}`.", interface.name)?;
        writeln!(text, "#[derive(Clone, Copy, PartialEq, Eq)]")?;
        writeln!(text, "pub(super) enum {}Function {{ {names} }}\n", camel(&interface.name))?;
    }
    writeln!(text, "impl<'a> Door<'a> {{")?;
    for interface in &contract.interfaces {
        for function in interface.reads() {
            text += &door_method(interface, function, is_spilled(function, contract))?;
        }
    }
    writeln!(text, "}}\n")?;
    text += &imports(contract)?;
    Ok(text)
}

/// Whether the SDK keeps the results of such reads: they are the same in all calls of one instance.
fn is_kept(interface: &Interface) -> bool {
    interface.one.is_some() && interface.reads().all(|function| function.cached == Cached::Request)
}

pub(super) fn is_by_hand(interface: &Interface, function: &Function) -> bool {
    BY_HAND.contains(&format!("{}.{}", interface.name, function.name).as_str())
}

/// A record as the canonical ABI has it in memory.
fn in_memory_struct(what: &str, name: &str, fields: &[Param]) -> anyhow::Result<String> {
    let fields =
        fields.iter().map(|Param { name, ty, .. }| Ok(format!("pub(super) {}: {},\n", snake(name), in_memory(ty)?)));
    let fields: String = fields.collect::<anyhow::Result<_>>()?;
    Ok(format!("/// {what} in memory.\n#[repr(C)]\npub(super) struct {name} {{ {fields} }}\n\n"))
}

fn record_name(record: &str) -> String {
    camel(record) + "Record"
}

fn params_name(interface: &Interface, function: &Function) -> String {
    camel(&interface.name) + &camel(&function.name) + "Params"
}

/// Whether the parameters are passed through memory.
fn is_spilled(function: &Function, contract: &Contract) -> bool {
    function.params.iter().map(|param| flat_count(&param.ty, contract)).sum::<usize>() > MAX_FLAT
}

/// The number of flat values of a type.
fn flat_count(ty: &Type, contract: &Contract) -> usize {
    match ty {
        Type::Text | Type::List(_) => 2,
        Type::Option(some) => 1 + flat_count(some, contract),
        Type::Record(name) => {
            let fields =
                contract.records.iter().filter(|record| record.name == *name).flat_map(|record| &record.fields);
            fields.map(|field| flat_count(&field.ty, contract)).sum()
        }
        _ => 1,
    }
}

fn door_method(interface: &Interface, function: &Function, is_spilled: bool) -> anyhow::Result<String> {
    if is_by_hand(interface, function) {
        return Ok(String::new());
    }
    let (name, shape) = (method(interface, function), Shape::of(function)?);
    let mut arguments: Vec<String> = vec![];
    let mut before = String::new();
    if is_spilled {
        let field = |Param { name, ty, .. }: &Param| match (snake(name), ty) {
            (name, Type::Text) => format!("{name}: Text::of({name}), "),
            (name, Type::Record(_)) => format!("{name}: {name}.into(), "),
            (name, _) => format!("{name}, "),
        };
        let fields: String = function.params.iter().map(field).collect();
        before = format!("let params = {} {{ {fields} }};\n", params_name(interface, function));
        arguments.push("&raw const params".to_owned());
    }
    for Param { name, ty, .. } in function.params.iter().filter(|_| !is_spilled) {
        let name = snake(name);
        match ty {
            Type::Text => arguments.extend([format!("{name}.as_ptr()"), format!("{name}.len()")]),
            _ => arguments.push(name),
        }
    }
    let read = if let Shape::Number(_) | Shape::Flag = shape {
        let call = format!("imports::{name}({})", arguments.join(", "));
        let call = if is_safe(function) { call } else { format!("unsafe {{ {call} }}") };
        if shape == Shape::Flag { format!("{call} != 0") } else { call }
    } else {
        arguments.push("out".to_owned());
        format!("self.{}(|out| unsafe {{ imports::{name}({}) }})", shape.helper(), arguments.join(", "))
    };
    let texts: Vec<&Param> = function.params.iter().filter(|param| param.ty == Type::Text).collect();
    let body = match texts.as_slice() {
        [] if is_kept(interface) => kept(interface, function, &shape, "\"\"", &read),
        [key] if is_kept(interface) => kept(interface, function, &shape, &snake(&key.name), &read),
        _ => read,
    };
    let (parameters, result) = (parameters(function)?, shape.rust());
    Ok(format!("pub(crate) fn {name}(self{parameters}) -> {result} {{ {before}{body} }}\n\n"))
}

fn kept(interface: &Interface, function: &Function, shape: &Shape, key: &str, read: &str) -> String {
    let (module, number) = (snake(&interface.name), camel(&function.name));
    let function = format!("{}Function::{number}", camel(&interface.name));
    let kept = |helper: &str, read: &str| format!("{module}::{helper}({function}, {key}, || {read})");
    match shape {
        Shape::Text => kept("text", &format!("Some({read})")) + ".unwrap_or_default()",
        Shape::OptionalText => kept("text", read),
        Shape::Texts => kept("texts", read),
        Shape::Number("i64") => kept("number", read),
        Shape::Number("u64") => kept("number", &format!("{read} as i64")) + " as u64",
        Shape::Number(number) => kept("number", &format!("i64::from({read})")) + " as " + number,
        _ => read.to_owned(),
    }
}

fn imports(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for interface in &contract.interfaces {
        let Contract { package, version, .. } = contract;
        writeln!(text, "#[link(wasm_import_module = \"{package}/{}@{version}\")]", interface.name)?;
        writeln!(text, "unsafe extern \"C\" {{")?;
        for function in &interface.functions {
            text += &import(interface, function, is_spilled(function, contract))?;
        }
        writeln!(text, "}}\n")?;
    }
    let records = contract.records.iter().map(|record| record_name(&record.name));
    let spilled = contract.interfaces.iter().flat_map(|interface| {
        let those = interface.reads().filter(|function| is_spilled(function, contract));
        those.map(|function| params_name(interface, function))
    });
    let used = records.filter(|name| text.contains(name.as_str())).chain(spilled);
    let used = used.collect::<Vec<_>>().join(", ");
    Ok(format!(
        "/// The functions of the host. A text goes in as pointer and length; more than {MAX_FLAT} values go in, and a result\n\
         /// that is not one number comes out, through a pointer.\n\
         pub(super) mod imports {{\nuse super::{{Items, Maybe, Text, {used}}};\n\n{text}}}\n"
    ))
}

fn import(interface: &Interface, function: &Function, is_spilled: bool) -> anyhow::Result<String> {
    let mut parameters: Vec<String> = vec![];
    if is_spilled {
        parameters.push(format!("params: *const {}", params_name(interface, function)));
    }
    for Param { name, ty, .. } in function.params.iter().filter(|_| !is_spilled) {
        let name = snake(name);
        match ty {
            Type::Text => parameters.extend([format!("{name}: *const u8"), format!("{name}_length: usize")]),
            Type::Enum(_) => parameters.push(format!("{name}: u32")),
            other => parameters.push(format!("{name}: {}", in_memory(other)?)),
        }
    }
    let direct = function.result.as_ref().and_then(direct_type);
    let result = direct.map_or_else(String::new, |number| format!(" -> {number}"));
    if let (Some(ty), None) = (&function.result, direct) {
        parameters.push(format!("out: *mut {}", in_memory(ty)?));
    }
    ensure!(parameters.len() <= MAX_FLAT, "{}: more values than the canonical ABI passes flat", function.name);
    let safe = if is_safe(function) { "safe " } else { "" };
    let (link, name) = (&function.name, method(interface, function));
    Ok(format!("#[link_name = {link:?}]\npub(in super::super) {safe}fn {name}({}){result};\n", parameters.join(", ")))
}

/// Whether no pointer goes in or comes out.
fn is_safe(function: &Function) -> bool {
    let params = function.params.iter().map(|param| number_type(&param.ty));
    params.chain(function.result.as_ref().map(direct_type)).all(|ty| ty.is_some())
}

/// The type of a result that is returned itself and not through a pointer.
fn direct_type(ty: &Type) -> Option<&'static str> {
    if *ty == Type::Bool { Some("u32") } else { number_type(ty) }
}

/// The type of a value in memory.
fn in_memory(ty: &Type) -> anyhow::Result<String> {
    Ok(match ty {
        Type::Text => "Text".to_owned(),
        Type::Option(some) => format!("Maybe<{}>", in_memory(some)?),
        Type::List(item) => format!("Items<{}>", in_memory(item)?),
        Type::Bool => "bool".to_owned(),
        Type::Record(name) => record_name(name),
        other => {
            number_type(other).with_context(|| format!("the generator has no rule for {other:?} in memory"))?.to_owned()
        }
    })
}
