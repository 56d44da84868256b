//! The records of the contract, and the lists and optional values that reads take and return, as structs.

use std::fmt::Write;

use super::syntax::{c_type, comment, declared, local};
use crate::{
    Contract, Record, Type,
    layout::{Layout, fields},
};

/// The declarations, each after those that it needs.
pub(super) fn declarations(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for ty in in_order(contract)? {
        let name = c_type(&ty);
        match &ty {
            Type::Option(some) => {
                let own = c_type(some);
                writeln!(text, "// {} {own} that may be absent.", article(&own))?;
                writeln!(text, "typedef struct {{\n  bool present;\n  {own} value;\n}} {name};\n")?;
            }
            Type::List(item) => {
                let own = c_type(item);
                writeln!(text, "typedef struct {{\n  const {own} *items;\n  size_t count;\n}} {name};\n")?;
            }
            Type::Record(record) => text += &declaration(&name, record, contract)?,
            _ => {}
        }
    }
    Ok(text)
}

/// Assertions that the structs have the sizes that the host expects.
pub(super) fn layouts(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for ty in in_order(contract)? {
        let (name, size) = (c_type(&ty), Layout::of(&ty, contract)?.size);
        writeln!(text, "PLIMSOLL_ASSERT(sizeof({name}) == {size}, \"the layout of {name}\");")?;
    }
    Ok(text)
}

fn declaration(name: &str, record: &str, contract: &Contract) -> anyhow::Result<String> {
    let of_record = |own: &&Record| own.name == record;
    let docs = contract.records.iter().find(of_record).map(|own| own.docs.as_str()).unwrap_or_default();
    let mut text = comment(docs, "");
    text += "typedef struct {\n";
    for field in fields(record, contract)? {
        text += &comment(&field.docs, "  ");
        writeln!(text, "  {};", declared(&c_type(&field.ty), &local(&field.name)))?;
    }
    writeln!(text, "}} {name};\n")?;
    Ok(text)
}

/// `A double`, `An int64_t`; names with `u` are spoken with a consonant.
fn article(name: &str) -> &'static str {
    if name.starts_with(['a', 'e', 'i', 'o']) { "An" } else { "A" }
}

/// Every type that needs a declaration, once, and those within it before it.
fn in_order(contract: &Contract) -> anyhow::Result<Vec<Type>> {
    let mut found = vec![];
    for function in contract.interfaces.iter().flat_map(|interface| &interface.functions) {
        for ty in function.params.iter().map(|param| &param.ty).chain(&function.result) {
            visit(ty, contract, &mut found)?;
        }
    }
    Ok(found)
}

fn visit(ty: &Type, contract: &Contract, found: &mut Vec<Type>) -> anyhow::Result<()> {
    match ty {
        Type::Option(inner) | Type::List(inner) => visit(inner, contract, found)?,
        Type::Record(name) => fields(name, contract)?.iter().try_for_each(|field| visit(&field.ty, contract, found))?,
        _ => return Ok(()),
    }
    if !found.contains(ty) {
        found.push(ty.clone());
    }
    Ok(())
}
