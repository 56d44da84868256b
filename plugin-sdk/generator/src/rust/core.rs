//! `host/core`: the type `Read`, and the attributes that the decision cache keeps of reads.

mod reads;

use std::fmt::Write;

use self::reads::{CoreRead, of_interface};
use super::{
    syntax::docs,
    variant::{Variant, has_text, reads_name},
};
use crate::{Cached, Contract, Interface};

/// The type of `Read::scope`.
const SCOPE: &str = "/// The way in which answers that depend on a read are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadScope<'a> {
    /// The value is the same for every call of one version of the policy: the read is not recorded.
    Constant,
    /// By a value that is the same for all nodes of a request.
    Request(ReadAttribute<&'a str>),
    /// By a value of the cluster as a whole, or a fact by its key.
    Cluster(ReadAttribute<&'a str>),
    /// By a value of this node.
    Node(u32, ReadAttribute<&'a str>),
    /// The value is about the request as a whole: the answer is not cached.
    Whole,
}

";

pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut text = "//! Every read of the contract, and its attribute.\n\nuse std::fmt;\n\n\
                    use super::Selector;\n\n"
        .to_owned();
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
    text += &attribute_enum(&reads);
    text += &read_impl(&reads);
    text += &attribute_impl(&reads);
    for interface in &contract.interfaces {
        text += &one_impl(interface)?;
    }
    Ok(text)
}

fn read_enum(reads: &[CoreRead]) -> String {
    let variants = reads.iter().map(|read| read.variant.declaration("&'a str"));
    let derives = "#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]";
    format!("/// One question of a guest about the world.\n{derives}\npub enum Read<'a> {{ {} }}\n\n", list(variants))
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

fn attribute_enum(reads: &[CoreRead]) -> String {
    let variants = reads.iter().filter_map(|read| read.attribute.as_ref()).map(|own| own.declaration("T"));
    format!(
        "/// A read without the node that it is of.\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]\n\
         pub(crate) enum ReadAttribute<T> {{ {} }}\n\n",
        list(variants)
    )
}

fn read_impl(reads: &[CoreRead]) -> String {
    let scope = |read: &CoreRead| {
        let attribute = read.attribute.as_ref()?.pattern();
        let scope = match read.cached {
            Cached::Request => Some("Request"),
            Cached::Cluster => Some("Cluster"),
            Cached::Facts if !read.has_node => Some("Cluster"),
            _ => None,
        };
        Some(if let Some(scope) = scope {
            format!("Self::{} => ReadScope::{scope}(ReadAttribute::{attribute}),\n", read.variant.pattern())
        } else {
            // Its index among those of the node does not matter to the attribute of each.
            let pattern = if read.is_each { with_first(&read.variant) } else { read.variant.pattern() };
            format!("Self::{pattern} => ReadScope::Node(node, ReadAttribute::{attribute}),\n")
        })
    };
    let without_attribute = |(cached, scope): (Cached, &str)| {
        let those = reads.iter().filter(|read| read.cached == cached);
        let patterns: Vec<String> = those.map(|read| format!("Self::{}", read.variant.any())).collect();
        if patterns.is_empty() { String::new() } else { format!("{} => ReadScope::{scope},\n", patterns.join(" | ")) }
    };
    let others = [(Cached::Always, "Constant"), (Cached::Never, "Whole")].map(without_attribute);
    let shown = |read: &CoreRead| {
        let pattern = read.variant.pattern_without_node();
        show(&pattern, &read.prefix, read.shown.as_deref())
    };
    format!(
        "// === impl Read ===\n\nimpl<'a> Read<'a> {{\n\
         /// The way in which answers that depend on it are cached.\n\
         pub(crate) fn scope(self) -> ReadScope<'a> {{ match self {{ {} }} }}\n\n\
         /// Whether its value may change when a pod is bound.\n\
         pub(crate) fn counts_pods(self) -> bool {{ match self.scope() {{\n\
         ReadScope::Node(_, attribute) | ReadScope::Cluster(attribute) => attribute.counts_pods(),\n\
         ReadScope::Whole => matches!(self, {}),\n\
         ReadScope::Constant | ReadScope::Request(_) => false,\n}} }}\n}}\n\n\
         /// As the contract writes it, without the index of the node.\nimpl fmt::Display for Read<'_> {{\n\
         fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{ match self {{ {} }} }}\n}}\n\n",
        reads.iter().filter_map(scope).chain(others).collect::<String>(),
        counting(reads, |read| read.attribute.is_none()).join(" | "),
        reads.iter().map(shown).collect::<String>()
    )
}

/// The patterns of the reads of one kind that count pods.
fn counting(reads: &[CoreRead], is_one: fn(&CoreRead) -> bool) -> Vec<String> {
    let patterns = reads.iter().filter(|read| is_one(read)).flat_map(|read| &read.counting);
    patterns.map(|own| format!("Self::{own}")).collect()
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

/// The arm of a match that shows a read behind a prefix.
fn show(pattern: &str, prefix: &str, shown: Option<&str>) -> String {
    match shown {
        Some(shown) => format!("Self::{pattern} => write!(f, {:?}),\n", format!("{prefix}{shown}")),
        None => format!("Self::{pattern} => read.write(f, format_args!({prefix:?})),\n"),
    }
}

/// The pattern of a thing on a node, with the node alone.
fn with_first(variant: &Variant) -> String {
    let pattern = variant.pattern();
    let fields = pattern.split_once('(').map_or("", |(_, fields)| fields);
    let others = fields.split(", ").count().saturating_sub(2);
    format!("{}(node, {}read)", variant.name, "_, ".repeat(others))
}

fn attribute_impl(reads: &[CoreRead]) -> String {
    let attributes = || reads.iter().filter_map(|read| Some((read, read.attribute.as_ref()?)));
    let mapped =
        |(_, own): (&CoreRead, &Variant)| format!("Self::{} => ReadAttribute::{},\n", own.pattern(), own.mapped());
    let read = |(read, own): (&CoreRead, &Variant)| {
        if read.is_each {
            format!("Self::{} => return None,\n", own.any())
        } else {
            format!("Self::{} => Read::{},\n", own.pattern(), read.variant.pattern())
        }
    };
    let patterns = |is_one: fn(&CoreRead) -> bool| {
        let those = attributes().filter(|(read, _)| is_one(read));
        those.map(|(_, own)| format!("Self::{}", own.any())).collect::<Vec<_>>().join(" | ")
    };
    let of_pods: Vec<String> = reads.iter().flat_map(|read| &read.of_pods).map(|own| format!("Self::{own}")).collect();
    let counting = counting(reads, |read| read.attribute.is_some());
    let shown =
        |(read, own): (&CoreRead, &Variant)| show(&own.pattern(), &read.attribute_prefix, read.shown.as_deref());
    format!(
        "// === impl ReadAttribute ===\n\nimpl<T> ReadAttribute<T> {{\n\
         /// Whether it is of the pod being scheduled or the time, and so the same for all nodes.\n\
         pub(crate) fn is_of_request(&self) -> bool {{ matches!(self, {}) }}\n\n\
         /// Whether it is of the cluster as a whole, or a fact by its key.\n\
         pub(crate) fn is_of_cluster(&self) -> bool {{ matches!(self, {}) }}\n\n\
         /// Whether it is a fact from outside.\n\
         pub(crate) fn is_of_facts(&self) -> bool {{ matches!(self, {}) }}\n\n\
         /// Whether it is of the pods placed on a node, and not of the node's own object.\n\
         pub(crate) fn is_of_pods(&self) -> bool {{ matches!(self, {}) }}\n\n\
         /// Whether its value may change when a pod is bound.\n\
         pub(crate) fn counts_pods(&self) -> bool {{ matches!(self, {}) }}\n\n\
         /// The same with other texts.\n\
         pub(crate) fn map<'s, U>(&'s self, text: &mut impl FnMut(&'s T) -> U) -> ReadAttribute<U> {{\n\
         match self {{ {} }} }}\n}}\n\n\
         impl<'a> ReadAttribute<&'a str> {{\n\
         /// The read of a node of the view; none for a read of each pod of the node.\n\
         pub(crate) fn read(self, node: u32) -> Option<Read<'a>> {{ Some(match self {{ {} }}) }}\n}}\n\n\
         impl<T: fmt::Debug> fmt::Display for ReadAttribute<T> {{\n\
         fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{ match self {{ {} }} }}\n}}\n\n",
        patterns(|read| read.cached == Cached::Request),
        patterns(|read| read.cached == Cached::Cluster || read.cached == Cached::Facts && !read.has_node),
        patterns(|read| read.cached == Cached::Facts),
        of_pods.join(" | "),
        counting.join(" | "),
        attributes().map(mapped).collect::<String>(),
        attributes().map(read).collect::<String>(),
        attributes().map(shown).collect::<String>(),
    )
}

fn one_impl(interface: &Interface) -> anyhow::Result<String> {
    let Some(one) = &interface.one else { return Ok(String::new()) };
    let name = reads_name(one);
    let (mut shown, mut mapped) = (String::new(), String::new());
    for function in interface.reads().filter(|function| function.of_one) {
        let variant = Variant::of_one(interface, function)?;
        let text = format!("{{one}}{}", variant.shown(function));
        writeln!(shown, "Self::{} => write!(f, {text:?}),", variant.pattern())?;
        writeln!(mapped, "Self::{} => {name}::{},", variant.pattern(), variant.mapped())?;
    }
    let write = format!(
        "/// Shows it behind the name of the element.\n\
         pub(crate) fn write({}self, f: &mut fmt::Formatter<'_>, one: fmt::Arguments<'_>) -> fmt::Result {{\n\
         match self {{ {shown} }} }}",
        if has_text(interface) { "&" } else { "" }
    );
    if !has_text(interface) {
        return Ok(format!("impl {name} {{ {write} }}\n\n"));
    }
    Ok(format!(
        "impl<T> {name}<T> {{\n/// The same with other texts.\n\
         pub(crate) fn map<'s, U>(&'s self, text: &mut impl FnMut(&'s T) -> U) -> {name}<U> {{\n\
         match self {{ {mapped} }} }}\n}}\n\nimpl<T: fmt::Debug> {name}<T> {{ {write} }}\n\n"
    ))
}

fn list(variants: impl IntoIterator<Item = String>) -> String {
    variants.into_iter().map(|variant| variant + ",\n").collect()
}
