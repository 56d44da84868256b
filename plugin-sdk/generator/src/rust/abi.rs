//! The Rust SDK in WebAssembly: a method for each read.

use std::fmt::Write;

use super::{
    imports::{is_kept, is_safe, params_name, params_names},
    shape::Shape,
    syntax::{camel, method, parameters, snake},
};
use crate::{Contract, Function, Interface, Param, Type, layout::is_spilled};

/// Reads whose methods are written by hand.
const BY_HAND: [&str; 1] = ["host.now"];

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "//! The reads of the contract as methods; `host_calls.rs` says why each `unsafe` is sound.\n\n\
                    use super::{host_calls::HostCalls, imports::{self, PARAMS, PodFunction, Text}, pod};\n\
                    use crate::values::{Groups, LabelCount, Owner, Selector, Taint};\n\n"
        .replace("PARAMS", &params_names(contract)?.join(", "));
    writeln!(text, "impl<'a> HostCalls<'a> {{")?;
    for interface in &contract.interfaces {
        for function in interface.reads().filter(|function| !is_by_hand(interface, function)) {
            text += &host_method(interface, function, is_spilled(function, contract)?)?;
        }
    }
    writeln!(text, "}}\n")?;
    Ok(text)
}

pub(super) fn is_by_hand(interface: &Interface, function: &Function) -> bool {
    BY_HAND.contains(&format!("{}.{}", interface.name, function.name).as_str())
}

fn host_method(interface: &Interface, function: &Function, is_spilled: bool) -> anyhow::Result<String> {
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
        let call = if shape == Shape::Flag { format!("{call} != 0") } else { call };
        if is_safe(function) { call } else { format!("unsafe {{ {call} }}") }
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
