//! The variants of `Read`, with the attributes that answers are cached by.

use anyhow::ensure;

use crate::{
    Cached, Function, Interface,
    rust::{
        syntax::camel,
        variant::{Variant, reads_name},
    },
};

/// A variant of `Read`, and how it is shown and cached.
pub(super) struct CoreRead {
    pub(super) variant: Variant,
    /// The arguments of `write!` that show it; none for all reads of one thing, which show themselves.
    pub(super) shown: Option<String>,
    pub(super) prefix: String,
    pub(super) cached: Cached,
    /// Of an answer that is cached by it.
    pub(super) attribute: Option<Variant>,
    pub(super) attribute_prefix: String,
    /// Whether it is of a node.
    pub(super) has_node: bool,
    /// Whether the attribute stands for the reads of all things on the node.
    pub(super) is_each: bool,
    /// The patterns of those attributes that are of the pods of a node.
    pub(super) of_pods: Vec<String>,
    /// The patterns of those attributes, or of reads without one, that count pods.
    pub(super) counting: Vec<String>,
}

/// The reads of an interface: one for all reads of the things that it describes, and one for each other function.
pub(super) fn of_interface(interface: &Interface) -> anyhow::Result<Vec<CoreRead>> {
    let mut reads: Vec<CoreRead> = of_things(interface)?.into_iter().collect();
    for function in interface.reads().filter(|function| !function.of_one) {
        reads.push(of_function(interface, function)?);
    }
    Ok(reads)
}

/// All reads of one of the things that an interface describes; none if it describes none.
fn of_things(interface: &Interface) -> anyhow::Result<Option<CoreRead>> {
    let of_one: Vec<&Function> = interface.reads().filter(|function| function.of_one).collect();
    let (Some(one), Some(first)) = (&interface.one, of_one.first()) else { return Ok(None) };
    let by_node = |function: &Function| matches!(function.cached, Cached::Node | Cached::Pods);
    for function in &of_one {
        let is_alike = function.cached == first.cached || by_node(function) && by_node(first);
        ensure!(is_alike, "{}.{}: the reads of one {one} are cached alike", interface.name, function.name);
    }
    // The same read of all things on a node is one attribute: there may be any number of them, and a policy that
    // reads one usually reads all.
    let is_each = by_node(first) && interface.by.len() > 1;
    let name = if is_each { format!("Each{}", camel(one)) } else { camel(one) };
    let of_pods = patterns_of_one(&name, one, interface, |function| function.cached == Cached::Pods)?;
    let counting = patterns_of_one(&name, one, interface, |function| function.counts_pods)?;
    let attribute = match first.cached {
        Cached::Always | Cached::Never => None,
        Cached::Request | Cached::Node | Cached::Pods | Cached::Cluster | Cached::Facts => {
            Some(Variant::of_all(name, interface, one, &[]))
        }
    };
    let index = interface.by.iter().find(|index| *index != "node");
    Ok(Some(CoreRead {
        variant: Variant::of_all(camel(one), interface, one, &interface.by),
        shown: None,
        prefix: index.map_or_else(|| one.clone(), |index| format!("{one}[{{{index}}}]")),
        cached: first.cached,
        has_node: by_node(first),
        attribute,
        attribute_prefix: if is_each { format!("{one}[each]") } else { one.clone() },
        is_each,
        of_pods,
        counting,
    }))
}

/// A separate read.
fn of_function(interface: &Interface, function: &Function) -> anyhow::Result<CoreRead> {
    let variant = || Variant::of_interface(interface, function);
    let attribute = match function.cached {
        Cached::Always | Cached::Never => None,
        Cached::Facts if !function.has_node() => Some(variant()?),
        Cached::Request | Cached::Cluster => Some(variant()?),
        Cached::Node | Cached::Pods | Cached::Facts => Some(variant()?.without_node()),
    };
    let is_of_pods = function.cached == Cached::Pods;
    let of_pods = attribute.iter().filter(|_| is_of_pods).map(Variant::any).collect();
    let counted = attribute.as_ref().map_or_else(|| Ok(variant()?.any()), |own| anyhow::Ok(own.any()))?;
    Ok(CoreRead {
        variant: variant()?,
        shown: Some(variant()?.shown(function)),
        prefix: interface.name.clone(),
        cached: function.cached,
        has_node: function.has_node(),
        attribute,
        attribute_prefix: interface.name.clone(),
        is_each: false,
        of_pods,
        counting: if function.counts_pods { vec![counted] } else { vec![] },
    })
}

/// The patterns of the attribute with this name for those reads of one thing that are chosen.
fn patterns_of_one(
    name: &str,
    one: &str,
    interface: &Interface,
    is_chosen: fn(&Function) -> bool,
) -> anyhow::Result<Vec<String>> {
    let of_one = || interface.reads().filter(|function| function.of_one);
    if of_one().all(is_chosen) {
        return Ok(vec![format!("{name}(_)")]);
    }
    let chosen = of_one().filter(|function| is_chosen(function));
    chosen
        .map(|function| Ok(format!("{name}({}::{})", reads_name(one), Variant::of_one(interface, function)?.any())))
        .collect()
}
