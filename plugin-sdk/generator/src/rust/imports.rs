//! The Rust SDK in WebAssembly: the imports, with the flattened types of the canonical ABI, and the records in memory.

use std::fmt::Write;

use anyhow::{Context, ensure};

use super::{
    shape::Shape,
    syntax::{camel, method, number_type, snake},
};
use crate::{
    Cached, Contract, Function, Interface, Param, Type,
    layout::{MAX_FLAT, is_spilled},
};

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = format!(
        "//! The functions of the host. A text goes in as pointer and length; more than {MAX_FLAT} values go in, and a result\n\
         //! that is not one number comes out, through a pointer.\n\nuse super::{{Items, Maybe, Text}};\n\n"
    );
    for record in &contract.records {
        text +=
            &in_memory_struct(&format!("The record `{}`", record.name), &record_name(&record.name), &record.fields)?;
    }
    for (interface, function) in spilled(contract)? {
        let subject = format!("The parameters of `{}.{}`", interface.name, function.name);
        text += &in_memory_struct(&subject, &params_name(interface, function), &function.params)?;
    }
    for interface in contract.interfaces.iter().filter(|interface| is_kept(interface)) {
        text += &function_enum(interface)?;
    }
    Ok(text + &functions(contract)?)
}

/// The reads whose parameters are passed through memory.
fn spilled(contract: &Contract) -> anyhow::Result<Vec<(&Interface, &Function)>> {
    let mut found = vec![];
    for interface in &contract.interfaces {
        for function in interface.reads() {
            if is_spilled(function, contract)? {
                found.push((interface, function));
            }
        }
    }
    Ok(found)
}

/// The names of the structs with the parameters of such reads.
pub(super) fn params_names(contract: &Contract) -> anyhow::Result<Vec<String>> {
    Ok(spilled(contract)?.into_iter().map(|(interface, function)| params_name(interface, function)).collect())
}

/// Whether the SDK keeps the results of such reads: they are the same in all calls of one instance.
pub(super) fn is_kept(interface: &Interface) -> bool {
    interface.one.is_some() && interface.reads().all(|function| function.cached == Cached::Request)
}

/// The functions of an interface whose results are kept.
fn function_enum(interface: &Interface) -> anyhow::Result<String> {
    let mut names = String::new();
    for function in interface.reads() {
        if !matches!(Shape::of(function)?, Shape::OptionalRecord(_) | Shape::Flag) {
            names += &(camel(&function.name) + ",\n");
        }
    }
    let (name, camel) = (&interface.name, camel(&interface.name));
    Ok(format!(
        "/// The functions of the interface `{name}`.\n#[derive(Clone, Copy, PartialEq, Eq)]\n\
         pub(in crate::abi) enum {camel}Function {{ {names} }}\n\n"
    ))
}

/// A record as the canonical ABI has it in memory.
fn in_memory_struct(what: &str, name: &str, fields: &[Param]) -> anyhow::Result<String> {
    let fields = fields
        .iter()
        .map(|Param { name, ty, .. }| Ok(format!("pub(in crate::abi) {}: {},\n", snake(name), in_memory(ty)?)));
    let fields: String = fields.collect::<anyhow::Result<_>>()?;
    Ok(format!("/// {what} in memory.\n#[repr(C)]\npub(in crate::abi) struct {name} {{ {fields} }}\n\n"))
}

fn record_name(record: &str) -> String {
    camel(record) + "Record"
}

pub(super) fn params_name(interface: &Interface, function: &Function) -> String {
    camel(&interface.name) + &camel(&function.name) + "Params"
}

fn functions(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for interface in &contract.interfaces {
        let Contract { package, version, .. } = contract;
        writeln!(text, "#[link(wasm_import_module = \"{package}/{}@{version}\")]", interface.name)?;
        writeln!(text, "unsafe extern \"C\" {{")?;
        for function in &interface.functions {
            text += &import(interface, function, is_spilled(function, contract)?)?;
        }
        writeln!(text, "}}\n")?;
    }
    Ok(text)
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
    Ok(format!("#[link_name = {link:?}]\npub(in crate::abi) {safe}fn {name}({}){result};\n", parameters.join(", ")))
}

/// Whether no pointer goes in or comes out.
pub(super) fn is_safe(function: &Function) -> bool {
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
