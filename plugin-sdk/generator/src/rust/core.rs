//! `host/core`: the type `Read`, and how answers that depend on a read are cached.

mod reads;

use std::fmt::{Display, Write};

use self::reads::{CoreRead, of_interface};
use super::{
    syntax::docs,
    variant::{Variant, has_text, reads_name},
};
use crate::{Contract, Interface};

/// The type of `Read::scope`.
const SCOPE: &str = "/// The way in which answers that depend on a read are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadScope {
    /// The value is the same for every call of one version of the policy: the read is not recorded.
    Constant,
    /// By a value that is the same for all nodes of a request.
    Request,
    /// By a value of the cluster as a whole, or a fact by its key.
    Cluster,
    /// By a value of this node.
    Node(u32),
    /// The value is about the request as a whole: the answer is not cached.
    Whole,
}

";

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "//! Every read of the contract.\n\nuse std::fmt;\n\nuse super::Selector;\n\n".to_owned();
    let mut reads = vec![];
    for interface in &contract.interfaces {
        reads.extend(of_interface(interface)?);
    }
    text += &read_enum(&reads);
    for interface in &contract.interfaces {
        text += &one_enum(interface)?;
    }
    text += SCOPE;
    text += &counting_functions(contract);
    text += &read_impl(&reads);
    for interface in &contract.interfaces {
        text += &one_impl(interface)?;
    }
    Ok(text)
}

fn read_enum(reads: &[CoreRead]) -> String {
    let variants = reads.iter().map(|read| read.variant.declaration("T"));
    format!(
        "/// One question of a guest about the world; its texts are borrowed or owned.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]\npub enum ReadOf<T> {{ {} }}\n\n",
        list(variants)
    )
}

fn one_enum(interface: &Interface) -> anyhow::Result<String> {
    let Some(one) = &interface.one else { return Ok(String::new()) };
    let mut text = docs(&format!("A read of one element of `{}`.", interface.name));
    let generic = if has_text(interface) { "<T>" } else { "" };
    let of_one = interface.reads().filter(|function| function.of_one);
    let variants = of_one.map(|function| Ok(Variant::of_one(interface, function)?.declaration("T")));
    let variants: Vec<String> = variants.collect::<anyhow::Result<_>>()?;
    writeln!(text, "#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]")?;
    writeln!(text, "pub enum {}{generic} {{ {} }}\n", reads_name(one), list(variants))?;
    Ok(text)
}

fn read_impl(reads: &[CoreRead]) -> String {
    let of_scope = |scope: &str| {
        let those: Vec<&CoreRead> = reads.iter().filter(|read| read.scope() == scope).collect();
        let patterns = those.iter().map(|read| match read.scope() {
            "Node(*node)" => read.variant.node_pattern(),
            _ => read.variant.any(),
        });
        if those.is_empty() { String::new() } else { format!("{} => ReadScope::{scope},\n", either(patterns)) }
    };
    let of_node = |read: &&CoreRead| read.scope() == "Node(*node)";
    let moved = |read: &CoreRead| {
        format!("Self::{} => Self::{},\n", read.variant.pattern_without_node(), read.variant.pattern())
    };
    let mapped = |read: &CoreRead| format!("Self::{} => ReadOf::{},\n", read.variant.pattern(), read.variant.mapped());
    let shown = |read: &CoreRead| {
        let pattern = read.variant.pattern_without_node();
        match &read.shown {
            Some(shown) => format!("Self::{pattern} => write!(f, {:?}),\n", format!("{}{shown}", read.prefix)),
            None => format!("Self::{pattern} => read.write(f, format_args!({:?})),\n", read.prefix),
        }
    };
    let named = |read: &CoreRead| match &read.function {
        Some(function) => format!("Self::{} => {function:?},\n", read.variant.any()),
        None => format!("Self::{}(.., read) => read.function(),\n", read.variant.name),
    };
    format!(
        "// === impl Read ===\n\nimpl<T> ReadOf<T> {{\n\
         /// The function of the contract, as a module imports it.\n\
         pub(crate) const fn function(&self) -> &'static str {{ match self {{ {} }} }}\n\n\
         /// The way in which answers that depend on it are cached.\n\
         pub(crate) fn scope(&self) -> ReadScope {{ match self {{ {} }} }}\n\n\
         /// Whether it is of the pods placed on a node, and not of the node's own object.\n\
         pub(crate) fn is_of_pods(&self) -> bool {{ matches!(self, {}) }}\n\n\
         /// Whether its value may change when a pod is bound.\n\
         pub(crate) fn counts_pods(&self) -> bool {{ matches!(self, {}) }}\n\n\
         /// The same of this node, if it is of a node.\n\
         pub(crate) fn of_node(self, node: u32) -> Self {{ match self {{ {} other => other }} }}\n\n\
         /// The same with other texts.\n\
         pub(crate) fn map<'s, U>(&'s self, text: &mut impl FnMut(&'s T) -> U) -> ReadOf<U> {{\n\
         match self {{ {} }} }}\n}}\n\n\
         /// As the contract writes it, without the index of the node.\n\
         impl<T: fmt::Debug> fmt::Display for ReadOf<T> {{\n\
         fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{ match self {{ {} }} }}\n}}\n\n",
        reads.iter().map(named).collect::<String>(),
        ["Constant", "Request", "Cluster", "Node(*node)", "Whole"].map(of_scope).concat(),
        either(reads.iter().flat_map(|read| &read.of_pods)),
        either(reads.iter().flat_map(|read| &read.counting)),
        reads.iter().filter(of_node).map(moved).collect::<String>(),
        reads.iter().map(mapped).collect::<String>(),
        reads.iter().map(shown).collect::<String>(),
    )
}

/// The pattern that matches each of these.
fn either(patterns: impl IntoIterator<Item = impl Display>) -> String {
    patterns.into_iter().map(|own| format!("Self::{own}")).collect::<Vec<_>>().join(" | ")
}

/// The names of the functions that count pods.
fn counting_functions(contract: &Contract) -> String {
    let names = contract.interfaces.iter().flat_map(|interface| {
        let counting = interface.reads().filter(|function| function.counts_pods);
        counting.map(move |function| format!("\"{}.{}\"", interface.name, function.name))
    });
    format!(
        "/// The functions whose values may change when a pod is bound, as a module imports them.\n\
         pub(crate) const COUNTING: &[&str] = &[{}];\n\n",
        names.collect::<Vec<_>>().join(", ")
    )
}

fn one_impl(interface: &Interface) -> anyhow::Result<String> {
    let Some(one) = &interface.one else { return Ok(String::new()) };
    let name = reads_name(one);
    let (mut shown, mut mapped, mut named) = (String::new(), String::new(), String::new());
    for function in interface.reads().filter(|function| function.of_one) {
        let variant = Variant::of_one(interface, function)?;
        let text = format!("{{one}}{}", variant.shown(function));
        writeln!(shown, "Self::{} => write!(f, {text:?}),", variant.pattern())?;
        writeln!(mapped, "Self::{} => {name}::{},", variant.pattern(), variant.mapped())?;
        writeln!(named, "Self::{} => \"{}.{}\",", variant.any(), interface.name, function.name)?;
    }
    let by = if has_text(interface) { "&" } else { "" };
    let function = format!(
        "/// The function of the contract, as a module imports it.\n\
         pub(crate) const fn function({by}self) -> &'static str {{ match self {{ {named} }} }}\n\n"
    );
    let write = format!(
        "/// Shows it behind the name of the element.\n\
         pub(crate) fn write({by}self, f: &mut fmt::Formatter<'_>, one: fmt::Arguments<'_>) -> fmt::Result {{\n\
         match self {{ {shown} }} }}"
    );
    if !has_text(interface) {
        return Ok(format!("impl {name} {{ {function}{write} }}\n\n"));
    }
    Ok(format!(
        "impl<T> {name}<T> {{\n{function}/// The same with other texts.\n\
         pub(crate) fn map<'s, U>(&'s self, text: &mut impl FnMut(&'s T) -> U) -> {name}<U> {{\n\
         match self {{ {mapped} }} }}\n}}\n\nimpl<T: fmt::Debug> {name}<T> {{ {write} }}\n\n"
    ))
}

fn list(variants: impl IntoIterator<Item = String>) -> String {
    variants.into_iter().map(|variant| variant + ",\n").collect()
}
