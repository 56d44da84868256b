//! The contract as every generator needs it: the functions of the WIT, with the properties that `reads.yaml` gives each.

mod parse;
mod types;
mod views;

use serde::Deserialize;

pub(crate) use self::views::{Place, about_index, generated_place, place};

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
