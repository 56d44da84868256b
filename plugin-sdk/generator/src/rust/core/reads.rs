//! The variants of `Read`, with the way in which answers that depend on each are cached.

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
    /// The function as a module imports it; none for all reads of one thing, each of which has its own.
    pub(super) function: Option<String>,
    cached: Cached,
    /// Whether it is of a node.
    has_node: bool,
    /// The patterns of those that are of the pods of a node.
    pub(super) of_pods: Vec<String>,
    /// The patterns of those that count pods.
    pub(super) counting: Vec<String>,
}

impl CoreRead {
    /// Its variant of `ReadScope`.
    pub(super) fn scope(&self) -> &'static str {
        match self.cached {
            Cached::Always => "Constant",
            Cached::Request => "Request",
            Cached::Cluster => "Cluster",
            Cached::Facts if !self.has_node => "Cluster",
            Cached::Node | Cached::Pods | Cached::Facts => "Node(*node)",
            Cached::Never => "Whole",
        }
    }
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
    let index = interface.by.iter().find(|index| *index != "node");
    Ok(Some(CoreRead {
        variant: Variant::of_all(camel(one), interface, one),
        shown: None,
        function: None,
        prefix: index.map_or_else(|| one.clone(), |index| format!("{one}[{{{index}}}]")),
        cached: first.cached,
        has_node: by_node(first),
        of_pods: patterns_of_one(one, interface, |function| function.cached == Cached::Pods)?,
        counting: patterns_of_one(one, interface, |function| function.counts_pods)?,
    }))
}

/// A separate read.
fn of_function(interface: &Interface, function: &Function) -> anyhow::Result<CoreRead> {
    let variant = Variant::of_interface(interface, function)?;
    let pattern_if = |is_chosen: bool| if is_chosen { vec![variant.any()] } else { vec![] };
    Ok(CoreRead {
        shown: Some(variant.shown(function)),
        prefix: interface.name.clone(),
        function: Some(format!("{}.{}", interface.name, function.name)),
        cached: function.cached,
        has_node: function.has_node(),
        of_pods: pattern_if(function.cached == Cached::Pods),
        counting: pattern_if(function.counts_pods),
        variant,
    })
}

/// The patterns of those reads of one thing that are chosen.
fn patterns_of_one(one: &str, interface: &Interface, is_chosen: fn(&Function) -> bool) -> anyhow::Result<Vec<String>> {
    let of_one = || interface.reads().filter(|function| function.of_one);
    if of_one().all(is_chosen) {
        return Ok(vec![format!("{} {{ .. }}", camel(one))]);
    }
    let chosen = of_one().filter(|function| is_chosen(function));
    let by = "_, ".repeat(interface.by.len());
    let pattern = |function| {
        let read = Variant::of_one(interface, function)?.any();
        Ok(format!("{}({by}{}::{read})", camel(one), reads_name(one)))
    };
    chosen.map(pattern).collect()
}
