//! Reads the contract from `policy.wit` and `reads.yaml`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use wit_parser::{Function as WitFunction, InterfaceId, Resolve, WorldItem};

use super::{Cached, Contract, Cost, Function, Interface, Param, Type, types::Types};

/// `reads.yaml`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    interfaces: BTreeMap<String, InterfaceEntry>,
    functions: BTreeMap<String, Cached>,
    #[serde(default)]
    uncounted: BTreeSet<String>,
    #[serde(default)]
    costs: BTreeMap<String, Cost>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterfaceEntry {
    one: Option<String>,
    #[serde(default)]
    by: Vec<String>,
    cached: Cached,
}

// === impl Contract ===

impl Contract {
    /// Reads the contract in a folder.
    ///
    /// # Errors
    /// If a file is missing or malformed, or if the two do not fit each other.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let text = |name: &str| {
            fs::read_to_string(folder.join(name)).with_context(|| format!("{name} in {}", folder.display()))
        };
        Self::parse(&text("policy.wit")?, &text("reads.yaml")?)
    }

    /// Reads the contract in two texts.
    ///
    /// # Errors
    /// If one is malformed, or if the two do not fit each other.
    pub fn parse(wit: &str, table: &str) -> anyhow::Result<Self> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("policy.wit", wit)?;
        let mut table: Table = serde_saphyr::from_str(table).context("reads.yaml")?;
        let name = &resolve.packages[package].name;
        let version = name.version.as_ref().context("the package has no version")?.to_string();
        let world = &resolve.worlds[resolve.select_world(&[package], Some("imports"))?];
        let mut types = Types::new(&resolve);
        let mut interfaces = vec![];
        for item in world.imports.values() {
            let WorldItem::Interface { id, .. } = item else { bail!("the world `imports` has more than interfaces") };
            if !resolve.interfaces[*id].functions.is_empty() {
                interfaces.push(interface(*id, &mut types, &mut table)?);
            }
        }
        let left = table.interfaces.keys().chain(table.functions.keys()).chain(&table.uncounted);
        if let Some(name) = left.chain(table.costs.keys()).next() {
            bail!("reads.yaml has `{name}`, which is not in policy.wit");
        }
        let package = format!("{}:{}", name.namespace, name.name);
        Ok(Self { package, version, interfaces, records: types.records, enums: types.enums })
    }
}

fn interface(id: InterfaceId, types: &mut Types<'_>, table: &mut Table) -> anyhow::Result<Interface> {
    let own = &types.resolve.interfaces[id];
    let name = own.name.clone().context("an interface has no name")?;
    let entry = table.interfaces.remove(&name).with_context(|| format!("reads.yaml has no interface `{name}`"))?;
    let functions = own.functions.values().map(|function| {
        let full = format!("{name}.{}", function.name);
        let (params, result) = signature(function, types).with_context(|| full.clone())?;
        table.function(&full, &entry, function, params, result)
    });
    let functions = functions.collect::<anyhow::Result<_>>()?;
    let docs = own.docs.contents.clone().unwrap_or_default();
    Ok(Interface { name, docs, one: entry.one, by: entry.by, functions })
}

/// The parameters and the result of a function.
fn signature(function: &WitFunction, types: &mut Types<'_>) -> anyhow::Result<(Vec<Param>, Option<Type>)> {
    let param = |param: &wit_parser::Param| {
        Ok(Param { name: param.name.clone(), docs: String::new(), ty: types.convert(&param.ty)? })
    };
    let params = function.params.iter().map(param).collect::<anyhow::Result<_>>()?;
    let result = function.result.as_ref().map(|ty| types.convert(ty)).transpose()?;
    Ok((params, result))
}

// === impl Table ===

impl Table {
    /// A function with the properties that the table gives it, which are removed.
    fn function(
        &mut self,
        full: &str,
        entry: &InterfaceEntry,
        function: &WitFunction,
        params: Vec<Param>,
        result: Option<Type>,
    ) -> anyhow::Result<Function> {
        let docs = function.docs.contents.clone().unwrap_or_default();
        ensure!(!docs.is_empty(), "{full} has no comment, and it becomes the documentation of every SDK");
        let chosen: Vec<&String> = params.iter().map(|param| &param.name).take(entry.by.len()).collect();
        let of_one = entry.one.is_some() && chosen.iter().copied().eq(&entry.by);
        let of_node = params.first().is_some_and(|param| param.name == "node");
        let by_default = if entry.by.is_empty() || of_one || of_node { entry.cached } else { Cached::Never };
        let cached = self.functions.remove(full).unwrap_or(by_default);
        let by_node = matches!(cached, Cached::Node | Cached::Pods);
        ensure!(!by_node || of_node, "{full} is cached by node, but its first parameter is no `node`");
        let is_of_pods = |cached| matches!(cached, Cached::Pods | Cached::Cluster);
        let is_uncounted = self.uncounted.remove(full);
        let counts_pods = (is_of_pods(cached) || is_of_pods(entry.cached)) && !is_uncounted;
        let cost = self.costs.remove(full).unwrap_or_default();
        Ok(Function { name: function.name.clone(), docs, params, result, of_one, cached, counts_pods, cost })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "interfaces:\n  nodes: { one: node, by: [node], cached: node }\nfunctions: {}\n";

    fn parse(function: &str, table: &str) -> Result<Contract, String> {
        let wit = format!(
            "package plimsoll:policy@0.1.0;\ninterface nodes {{\n/// What it is.\n{function}\n}}\n\
             world imports {{ import nodes; }}"
        );
        Contract::parse(&wit, table).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_read_of_a_node_is_cached_by_the_node_and_any_other_never() {
        let contract = parse("capacity: func(node: u32, name: string) -> s64;\nsum: func() -> s64;", TABLE);
        assert_eq!(contract.unwrap_err(), "nodes.sum has no comment, and it becomes the documentation of every SDK");
        let cached = |function| parse(function, TABLE).unwrap().interfaces[0].functions[0].cached;
        assert_eq!(cached("capacity: func(node: u32, name: string) -> s64;"), Cached::Node);
        assert_eq!(cached("sum: func(name: string) -> s64;"), Cached::Never);
    }

    #[test]
    fn all_functions_about_placed_pods_count_them_but_those_that_are_listed() {
        let counts = |function: &str, rest: &str| {
            let table = TABLE.replace("cached: node", "cached: pods").replace("functions: {}", rest);
            parse(function, &table).map(|contract| contract.interfaces[0].functions[0].counts_pods)
        };
        let (of_node, of_all) = ("known: func(node: u32) -> bool;", "sum: func(name: string) -> s64;");
        assert_eq!(counts(of_node, "functions: {}"), Ok(true));
        assert_eq!(counts(of_node, "functions: {nodes.known: node}"), Ok(true), "its interface is about pods");
        assert_eq!(counts(of_all, "functions: {}"), Ok(true));
        assert_eq!(counts(of_node, "functions: {}\nuncounted: [nodes.known]"), Ok(false));
        let error = "reads.yaml has `nodes.gone`, which is not in policy.wit".to_owned();
        assert_eq!(counts(of_node, "functions: {}\nuncounted: [nodes.gone]"), Err(error));
        let of_object = |rest| parse(of_node, &TABLE.replace("functions: {}", rest)).unwrap();
        assert!(!of_object("functions: {}").interfaces[0].functions[0].counts_pods);
        assert!(of_object("functions: {nodes.known: pods}").interfaces[0].functions[0].counts_pods);
    }

    #[test]
    fn what_has_no_rule_is_named() {
        let error = |function| parse(function, TABLE).unwrap_err();
        let no_rule = "nodes.ready: the generator has no rule for ";
        assert_eq!(error("ready: func(node: u32) -> f32;"), format!("{no_rule}the type F32"));
        assert_eq!(error("ready: func(node: u32) -> result<u32>;"), format!("{no_rule}a result"));
    }

    #[test]
    fn the_table_has_what_the_wit_has() {
        let function = "name: func(node: u32) -> string;";
        let error = |table: &str| parse(function, table).unwrap_err();
        assert_eq!(error("interfaces: {}\nfunctions: {}"), "reads.yaml has no interface `nodes`");
        let table = TABLE.replace("functions: {}", "functions: { nodes.nmae: pods }");
        assert_eq!(error(&table), "reads.yaml has `nodes.nmae`, which is not in policy.wit");
        let table = TABLE.replace("by: [node]", "by: [index]");
        let error = parse("name: func(index: u32) -> string;", &table).unwrap_err();
        assert_eq!(error, "nodes.name is cached by node, but its first parameter is no `node`");
    }
}
