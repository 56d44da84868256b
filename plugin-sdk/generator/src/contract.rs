//! The contract as every generator needs it: the functions of the WIT, and the facts of `reads.yaml` about each read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use wit_parser::{InterfaceId, Resolve, Type as WitType, TypeDefKind, WorldItem};

/// The functions that a policy imports.
#[derive(Debug)]
pub struct Contract {
    /// `plimsoll:policy`.
    pub package: String,
    /// `0.1.0`.
    pub version: String,
    /// In the order of the WIT.
    pub interfaces: Vec<Interface>,
    /// The records that the functions take and return.
    pub records: Vec<Record>,
    /// The enums that they take, by name, with the names of their cases.
    pub enums: Vec<(String, Vec<String>)>,
}

/// One interface of the contract.
#[derive(Debug)]
pub struct Interface {
    /// As the WIT writes it.
    pub name: String,
    /// Of the WIT.
    pub docs: String,
    /// One of those that the interface describes; none for `host`.
    pub one: Option<String>,
    /// The parameters that choose one of them.
    pub by: Vec<String>,
    /// In the order of the WIT.
    pub functions: Vec<Function>,
}

/// One function of the contract.
#[derive(Debug)]
pub struct Function {
    /// As the WIT writes it, such as `image-size`.
    pub name: String,
    /// Of the WIT.
    pub docs: String,
    /// All parameters, those that choose one of the interface's things first.
    pub params: Vec<Param>,
    /// A function without a result is no read.
    pub result: Option<Type>,
    /// Whether its first parameters choose one of the interface's things.
    pub of_one: bool,
    /// The way in which answers that depend on it are cached.
    pub cached: Cached,
    /// Whether its value may change when a pod is bound.
    pub counts_pods: bool,
    /// Its cost.
    pub cost: Cost,
}

/// One parameter.
#[derive(Debug)]
pub struct Param {
    /// As the WIT writes it.
    pub name: String,
    /// Of the WIT, for the field of a record; a parameter has none.
    pub docs: String,
    /// Its type.
    pub ty: Type,
}

/// One record.
#[derive(Debug)]
pub struct Record {
    /// As the WIT writes it.
    pub name: String,
    /// Of the WIT.
    pub docs: String,
    /// Its fields.
    pub fields: Vec<Param>,
}

/// The types that the contract uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `string`
    Text,
    /// `bool`
    Bool,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `s32`
    S32,
    /// `s64`
    S64,
    /// `f64`
    F64,
    /// `option<T>`
    Option(Box<Type>),
    /// `list<T>`
    List(Box<Type>),
    /// A record, by its name.
    Record(String),
    /// An enum, by its name.
    Enum(String),
}

/// The part of the world that must stay equal for a cached answer to hold; `reads.yaml` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cached {
    /// The value never changes.
    Always,
    /// It is of the pod being scheduled, or the time.
    Request,
    /// It is of a node's own object.
    Node,
    /// It is of the pods placed on a node.
    Pods,
    /// It is of the cluster as a whole.
    Cluster,
    /// It is a fact from outside: of a node if the first parameter is one.
    Facts,
    /// It is of the request as a whole.
    Never,
}

/// The cost of a function; `reads.yaml` describes each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cost {
    /// The same for any value.
    #[default]
    Constant,
    /// It grows with the value.
    Value,
    /// It searches the object's JSON.
    Search,
    /// It grows with the pods placed on the node.
    Pods,
    /// It grows with the nodes of the request.
    Nodes,
    /// The first read with new keys goes over all pods.
    Cluster,
}

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

/// Converts types and collects the records and enums among them.
struct Types<'r> {
    resolve: &'r Resolve,
    records: Vec<Record>,
    enums: Vec<(String, Vec<String>)>,
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
        let mut types = Types { resolve: &resolve, records: vec![], enums: vec![] };
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
    let mut functions = vec![];
    for function in own.functions.values() {
        let full = format!("{name}.{}", function.name);
        let docs = function.docs.contents.clone().unwrap_or_default();
        ensure!(!docs.is_empty(), "{full} has no comment, and it becomes the documentation of every SDK");
        let param = |param: &wit_parser::Param| {
            Ok(Param { name: param.name.clone(), docs: String::new(), ty: types.convert(&param.ty)? })
        };
        let params: Vec<Param> =
            function.params.iter().map(param).collect::<anyhow::Result<_>>().with_context(|| full.clone())?;
        let result = function.result.as_ref().map(|ty| types.convert(ty)).transpose().with_context(|| full.clone())?;
        let chosen: Vec<&String> = params.iter().map(|param| &param.name).take(entry.by.len()).collect();
        let of_one = entry.one.is_some() && chosen.iter().copied().eq(&entry.by);
        let of_node = params.first().is_some_and(|param| param.name == "node");
        let by_default = if entry.by.is_empty() || of_one || of_node { entry.cached } else { Cached::Never };
        let cached = table.functions.remove(&full).unwrap_or(by_default);
        let by_node = matches!(cached, Cached::Node | Cached::Pods);
        ensure!(!by_node || of_node, "{full} is cached by node, but its first parameter is no `node`");
        let is_of_pods = |cached| matches!(cached, Cached::Pods | Cached::Cluster);
        let is_uncounted = table.uncounted.remove(&full);
        let counts_pods = (is_of_pods(cached) || is_of_pods(entry.cached)) && !is_uncounted;
        let cost = table.costs.remove(&full).unwrap_or_default();
        functions.push(Function {
            name: function.name.clone(),
            docs,
            params,
            result,
            of_one,
            cached,
            counts_pods,
            cost,
        });
    }
    let docs = own.docs.contents.clone().unwrap_or_default();
    Ok(Interface { name, docs, one: entry.one, by: entry.by, functions })
}

// === impl Types ===

impl Types<'_> {
    fn convert(&mut self, ty: &WitType) -> anyhow::Result<Type> {
        Ok(match ty {
            WitType::String => Type::Text,
            WitType::Bool => Type::Bool,
            WitType::U32 => Type::U32,
            WitType::U64 => Type::U64,
            WitType::S32 => Type::S32,
            WitType::S64 => Type::S64,
            WitType::F64 => Type::F64,
            WitType::Id(id) => {
                let resolve = self.resolve;
                let own = &resolve.types[*id];
                let name = own.name.clone();
                match &own.kind {
                    TypeDefKind::Type(alias) => self.convert(alias)?,
                    TypeDefKind::Option(ty) => Type::Option(Box::new(self.convert(ty)?)),
                    TypeDefKind::List(ty) => Type::List(Box::new(self.convert(ty)?)),
                    TypeDefKind::Enum(own) => {
                        let name = name.context("an enum has no name")?;
                        if self.enums.iter().all(|(known, _)| *known != name) {
                            self.enums.push((name.clone(), own.cases.iter().map(|case| case.name.clone()).collect()));
                        }
                        Type::Enum(name)
                    }
                    TypeDefKind::Record(record) => {
                        let name = name.context("a record has no name")?;
                        if self.records.iter().all(|known| known.name != name) {
                            let field = |field: &wit_parser::Field| {
                                let docs = field.docs.contents.clone().unwrap_or_default();
                                Ok(Param { name: field.name.clone(), docs, ty: self.convert(&field.ty)? })
                            };
                            let fields = record.fields.iter().map(field).collect::<anyhow::Result<_>>()?;
                            let docs = own.docs.contents.clone().unwrap_or_default();
                            self.records.push(Record { name: name.clone(), docs, fields });
                        }
                        Type::Record(name)
                    }
                    other => bail!("the generator has no rule for a {}", other.as_str()),
                }
            }
            other => bail!("the generator has no rule for the type {other:?}"),
        })
    }
}

// === impl Function ===

impl Function {
    /// Whether its first parameter is a node.
    pub fn has_node(&self) -> bool {
        self.params.first().is_some_and(|param| param.name == "node")
    }
}

// === impl Interface ===

impl Interface {
    /// Its functions that are reads.
    pub fn reads(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.result.is_some())
    }

    /// The parameters that do not choose one of the interface's things.
    pub fn arguments<'f>(&self, function: &'f Function) -> &'f [Param] {
        if function.of_one { &function.params[self.by.len()..] } else { &function.params }
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
