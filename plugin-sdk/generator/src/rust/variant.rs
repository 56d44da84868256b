//! Variants of the enums that core has for reads.

use anyhow::Context;

use super::syntax::{SELECTOR, camel, docs, number_type, snake};
use crate::{Function, Interface, Param, Type};

/// One variant of an enum.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) docs: String,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    ty: FieldType,
}

#[derive(Debug)]
enum FieldType {
    Text,
    /// `Selector`, which has texts.
    Selector,
    Number(&'static str),
    /// An enum of reads, such as `NodeRead`, and whether it has texts.
    Reads(String, bool),
}

// === impl Variant ===

impl Variant {
    /// A read of one of the things that an interface describes, in the enum of these.
    pub(super) fn of_one(interface: &Interface, function: &Function) -> anyhow::Result<Self> {
        Self::new(&camel(&function.name), &function.docs, interface.arguments(function))
    }

    /// A read that is not of one of these.
    pub(super) fn of_interface(interface: &Interface, function: &Function) -> anyhow::Result<Self> {
        Self::new(&(camel(&interface.name) + &camel(&function.name)), &function.docs, &function.params)
    }

    /// All reads of one of the things that an interface describes.
    pub(super) fn of_all(name: String, interface: &Interface, one: &str) -> Self {
        let index = |name: &String| Field { name: snake(name), ty: FieldType::Number("u32") };
        let reads = FieldType::Reads(reads_name(one), has_text(interface));
        let fields = interface.by.iter().map(index).chain([Field { name: "read".to_owned(), ty: reads }]).collect();
        Self { name, docs: interface.docs.clone(), fields }
    }

    fn new(name: &str, docs: &str, params: &[Param]) -> anyhow::Result<Self> {
        let field = |param: &Param| {
            let ty = match &param.ty {
                Type::Text => Some(FieldType::Text),
                Type::Record(name) if name == SELECTOR => Some(FieldType::Selector),
                other => number_type(other).map(FieldType::Number),
            };
            let ty = ty.with_context(|| format!("{name}: no rule for a parameter {:?}", param.ty))?;
            Ok(Field { name: snake(&param.name), ty })
        };
        let fields = params.iter().map(field).collect::<anyhow::Result<_>>()?;
        Ok(Self { name: name.to_owned(), docs: docs.to_owned(), fields })
    }

    /// The variant as the enum has it; texts have the type `text`.
    pub(super) fn declaration(&self, text: &str) -> String {
        let ty = |field: &Field| match &field.ty {
            FieldType::Text => text.to_owned(),
            FieldType::Selector => format!("Selector<{text}>"),
            FieldType::Number(number) => (*number).to_owned(),
            FieldType::Reads(name, true) => format!("{name}<{text}>"),
            FieldType::Reads(name, false) => name.clone(),
        };
        let field = |field: &Field| {
            let docs = docs(&format!("The `{}` of the contract.", field.name));
            if self.is_named() { format!("{docs}{}: {}", field.name, ty(field)) } else { ty(field) }
        };
        format!("{}{}", docs(&self.docs), self.with(field))
    }

    /// The variant with a variable for each field; also its constructor from such variables.
    pub(super) fn pattern(&self) -> String {
        self.with(|field| field.name.clone())
    }

    /// As [`Variant::pattern`], without the node.
    pub(super) fn pattern_without_node(&self) -> String {
        let has_node = self.is_named() && self.fields.iter().any(|field| field.name == "node");
        if has_node {
            let others = self.fields.iter().filter(|field| field.name != "node");
            let others: Vec<&str> = others.map(|field| field.name.as_str()).collect();
            return format!("{} {{ {}, .. }}", self.name, others.join(", "));
        }
        self.with(|field| if field.name == "node" { "_".to_owned() } else { field.name.clone() })
    }

    /// The pattern of a read of a node, with the node alone.
    pub(super) fn node_pattern(&self) -> String {
        match self.fields.len() {
            _ if self.is_named() => format!("{} {{ node, .. }}", self.name),
            1 => format!("{}(node)", self.name),
            _ => format!("{}(node, ..)", self.name),
        }
    }

    /// The pattern that any of them matches.
    pub(super) fn any(&self) -> String {
        match self.fields.len() {
            0 => self.name.clone(),
            _ => format!("{} {{ .. }}", self.name),
        }
    }

    /// Constructs it from references to its fields, each text converted by `text`.
    pub(super) fn mapped(&self) -> String {
        let value = |field: &Field| match &field.ty {
            FieldType::Text => format!("text({})", field.name),
            FieldType::Number(_) | FieldType::Reads(_, false) => format!("*{}", field.name),
            FieldType::Selector | FieldType::Reads(_, true) => format!("{}.map(text)", field.name),
        };
        self.with(|field| if self.is_named() { format!("{}: {}", field.name, value(field)) } else { value(field) })
    }

    /// The arguments for `write!` that show it behind a prefix: `.label({key:?})`.
    pub(super) fn shown(&self, function: &Function) -> String {
        let shown = |field: &Field| (field.name != "node").then(|| format!("{{{}:?}}", field.name));
        let arguments: Vec<String> = self.fields.iter().filter_map(shown).collect();
        let arguments = if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) };
        format!(".{}{arguments}", function.name)
    }

    fn is_named(&self) -> bool {
        self.fields.len() > 1 && !self.fields.iter().any(|field| matches!(field.ty, FieldType::Reads(..)))
    }

    fn with(&self, field: impl Fn(&Field) -> String) -> String {
        let fields: Vec<String> = self.fields.iter().map(field).collect();
        match (fields.as_slice(), self.is_named()) {
            ([], _) => self.name.clone(),
            (_, true) => format!("{} {{ {} }}", self.name, fields.join(", ")),
            (_, false) => format!("{}({})", self.name, fields.join(", ")),
        }
    }
}

/// `node` as `NodeRead`.
pub(super) fn reads_name(one: &str) -> String {
    camel(one) + "Read"
}

/// Whether a read of one of the things that an interface describes has a text as its argument.
pub(super) fn has_text(interface: &Interface) -> bool {
    let of_one = interface.reads().filter(|function| function.of_one);
    of_one.flat_map(|function| interface.arguments(function)).any(|param| param.ty == Type::Text)
}

/// The constructor of a `Read` from variables that have the names of the function's parameters; `text` goes before a text,
/// and `selector` after a selector.
pub(super) fn constructor(
    interface: &Interface,
    function: &Function,
    text: &str,
    selector: &str,
) -> anyhow::Result<String> {
    let borrow = |variant: &Variant| {
        variant.with(|field| {
            let value = match &field.ty {
                FieldType::Text => format!("{text}{}", field.name),
                FieldType::Selector => format!("{}{selector}", field.name),
                FieldType::Number(_) | FieldType::Reads(..) => field.name.clone(),
            };
            if variant.is_named() && value != field.name { format!("{}: {value}", field.name) } else { value }
        })
    };
    let Some(one) = interface.one.as_deref().filter(|_| function.of_one) else {
        return Ok(format!("Read::{}", borrow(&Variant::of_interface(interface, function)?)));
    };
    let by: String = interface.by.iter().map(|index| snake(index) + ", ").collect();
    let read = borrow(&Variant::of_one(interface, function)?);
    Ok(format!("Read::{}({by}{}::{read})", camel(one), reads_name(one)))
}
