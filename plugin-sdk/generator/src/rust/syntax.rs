//! Names, types and comments as the generated Rust has them.

use anyhow::Context;

use crate::{Function, Interface, Param, Type};

/// The only record that a read takes.
pub(super) const SELECTOR: &str = "selector";

/// `count-labelled` as `CountLabelled`.
pub(super) fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

/// `count-labelled` as `count_labelled`.
pub(super) fn snake(name: &str) -> String {
    name.replace('-', "_")
}

/// A text as documentation.
pub(super) fn docs(text: &str) -> String {
    text.lines().map(|line| format!("/// {line}").trim_end().to_owned() + "\n").collect()
}

/// The method or import for a function: `nodes_image_size`.
pub(super) fn method(interface: &Interface, function: &Function) -> String {
    snake(&format!("{}-{}", interface.name, function.name))
}

/// The parameters of a Rust function, each with a comma before it: `, node: u32, key: &str`.
pub(super) fn parameters(function: &Function) -> anyhow::Result<String> {
    let parameter = |param: &Param| Ok(format!(", {}: {}", snake(&param.name), argument_type(&param.ty)?));
    function.params.iter().map(parameter).collect()
}

/// A parameter's type in Rust.
pub(super) fn argument_type(ty: &Type) -> anyhow::Result<&'static str> {
    match ty {
        Type::Text => Ok("&str"),
        Type::Record(name) if name == SELECTOR => Ok("Selector"),
        other => number_type(other).with_context(|| format!("the generator has no rule for a parameter {other:?}")),
    }
}

/// A number's type in Rust.
pub(super) fn number_type(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::U32 => Some("u32"),
        Type::U64 => Some("u64"),
        Type::S32 => Some("i32"),
        Type::S64 => Some("i64"),
        Type::F64 => Some("f64"),
        _ => None,
    }
}
