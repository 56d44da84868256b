//! The records and enums of the contract as classes, with the functions that read them from memory and write them there.

use std::fmt::Write;

use anyhow::bail;

use super::syntax::{as_type, is_number, tag};
use crate::{
    Contract, Param, Record, Type,
    layout::{Layout, fields},
    typescript::syntax::{camel, comment, pascal},
};

/// The classes, then the functions: `lift` reads a value that the host has written, `lower` writes one for the host.
pub(super) fn file(contract: &Contract) -> anyhow::Result<String> {
    let mut classes = String::new();
    for (name, cases) in &contract.enums {
        let cases: Vec<String> = cases.iter().map(|case| pascal(case)).collect();
        writeln!(classes, "export enum {} {{ {} }}\n", pascal(name), cases.join(", "))?;
    }
    for record in &contract.records {
        classes += &class(record)?;
    }
    let mut functions = String::new();
    for record in &contract.records {
        // The contract takes selectors, and returns all other records.
        let ty = Type::Record(record.name.clone());
        if any_holds(params(contract), &ty, contract)? {
            functions += &lower_record(record, contract)?;
        }
        if any_holds(results(contract), &ty, contract)? {
            functions += &lift_record(record, contract)?;
        }
    }
    for list in lists(contract) {
        functions += &lift_list(&list, contract)?;
    }
    Ok(format!("import {{ liftText, lowerText }} from \"./memory\";\n\n{classes}{functions}"))
}

/// The expression that reads a value at an address.
pub(super) fn lifted(ty: &Type, at: &str, contract: &Contract) -> anyhow::Result<String> {
    Ok(match ty {
        Type::Text => format!("liftText({at})"),
        Type::Bool => format!("load<bool>({at})"),
        number if is_number(number) => format!("load<{}>({at})", as_type(number)),
        Type::Record(name) => format!("lift{}({at})", pascal(name)),
        Type::List(_) => format!("lift{}({at})", tag(ty)),
        Type::Option(some) => {
            let value = lifted(some, &plus(at, Layout::of(some, contract)?.align), contract)?;
            let value = if is_number(some) { format!("new Some<{}>({value})", as_type(some)) } else { value };
            format!("load<bool>({at}) ? {value} : null")
        }
        other => bail!("the generator has no rule to lift {other:?} in AssemblyScript"),
    })
}

/// The statements that write a value at an address.
pub(super) fn lowered(ty: &Type, at: &str, value: &str, contract: &Contract, indent: &str) -> anyhow::Result<String> {
    Ok(match ty {
        Type::Text => format!("{indent}lowerText({value}, {at});\n"),
        Type::Record(name) => format!("{indent}lower{}({value}, {at});\n", pascal(name)),
        Type::Option(some) if !is_number(some) => {
            let inner = plus(at, Layout::of(some, contract)?.align);
            let inner = lowered(some, &inner, value, contract, &format!("{indent}  "))?;
            format!(
                "{indent}store<bool>({at}, {value} !== null);\n{indent}if ({value} !== null) {{\n{inner}{indent}}}\n"
            )
        }
        number if is_number(number) => format!("{indent}store<{}>({at}, {value});\n", as_type(number)),
        other => bail!("the generator has no rule to lower {other:?} in AssemblyScript"),
    })
}

/// The names that a file of lifted values must import.
pub(super) fn lift_functions<'t>(types: impl Iterator<Item = &'t Type>) -> Vec<String> {
    fn function(ty: &Type) -> Option<String> {
        match ty {
            Type::Record(_) | Type::List(_) => Some(format!("lift{}", tag(ty))),
            Type::Option(some) => function(some),
            _ => None,
        }
    }
    let mut names: Vec<String> = types.filter_map(function).collect();
    names.sort();
    names.dedup();
    names
}

/// `at + 4`, or `at` for an offset of 0.
fn plus(at: &str, offset: usize) -> String {
    if offset == 0 { at.to_owned() } else { format!("{at} + {offset}") }
}

/// A class whose constructor has the fields in the order of the contract; one that may be absent has the default `null`.
fn class(record: &Record) -> anyhow::Result<String> {
    let mut text = comment(&record.docs, "");
    writeln!(text, "export class {} {{\n  constructor(", pascal(&record.name))?;
    for field in &record.fields {
        text += &comment(&field.docs, "    ");
        let absent = if matches!(field.ty, Type::Option(_)) { " = null" } else { "" };
        writeln!(text, "    public {}: {}{absent},", camel(&field.name), as_type(&field.ty))?;
    }
    Ok(text + "  ) {}\n}\n\n")
}

fn lift_record(record: &Record, contract: &Contract) -> anyhow::Result<String> {
    let name = pascal(&record.name);
    let parts = offsets(record, contract)?
        .map(|(field, offset)| lifted(&field.ty, &plus("at", offset), contract))
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(format!("export function lift{name}(at: usize): {name} {{\n  return new {name}({});\n}}\n\n", parts.join(", ")))
}

fn lower_record(record: &Record, contract: &Contract) -> anyhow::Result<String> {
    let name = pascal(&record.name);
    let mut text = format!("export function lower{name}(from: {name}, at: usize): void {{\n");
    for (field, offset) in offsets(record, contract)? {
        let (own, at) = (camel(&field.name), plus("at", offset));
        if matches!(field.ty, Type::Option(_)) {
            // A local variable: the compiler does not narrow the type of a field.
            writeln!(text, "  const {own} = from.{own};")?;
            text += &lowered(&field.ty, &at, &own, contract, "  ")?;
        } else {
            text += &lowered(&field.ty, &at, &format!("from.{own}"), contract, "  ")?;
        }
    }
    Ok(text + "}\n\n")
}

fn lift_list(list: &Type, contract: &Contract) -> anyhow::Result<String> {
    let Type::List(item) = list else { bail!("{list:?} is no list") };
    let size = Layout::of(item, contract)?.size;
    let value = lifted(item, &format!("items + {size} * at"), contract)?;
    Ok(format!(
        "export function lift{}(from: usize): {ty} {{\n  const items = load<usize>(from);\n  \
         const list = new {ty}(load<i32>(from + 4));\n  \
         for (let at = 0, length = list.length; at < length; at++) list[at] = {value};\n  return list;\n}}\n\n",
        tag(list),
        ty = as_type(list),
    ))
}

fn offsets<'c>(
    record: &'c Record,
    contract: &Contract,
) -> anyhow::Result<impl Iterator<Item = (&'c Param, usize)> + use<'c>> {
    let (_, offsets) = Layout::of_fields(&record.fields, contract)?;
    Ok(record.fields.iter().zip(offsets))
}

fn results(contract: &Contract) -> impl Iterator<Item = &Type> {
    contract
        .interfaces
        .iter()
        .flat_map(|interface| &interface.functions)
        .filter_map(|function| function.result.as_ref())
}

fn params(contract: &Contract) -> impl Iterator<Item = &Type> {
    let functions = contract.interfaces.iter().flat_map(|interface| &interface.functions);
    functions.flat_map(|function| &function.params).map(|param| &param.ty)
}

/// Whether one of the types is another, or has values of it.
fn any_holds<'c>(types: impl Iterator<Item = &'c Type>, other: &Type, contract: &Contract) -> anyhow::Result<bool> {
    for ty in types {
        if holds(ty, other, contract)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a type is another, or has values of it.
fn holds(ty: &Type, other: &Type, contract: &Contract) -> anyhow::Result<bool> {
    if ty == other {
        return Ok(true);
    }
    match ty {
        Type::Option(inner) | Type::List(inner) => holds(inner, other, contract),
        Type::Record(name) => any_holds(fields(name, contract)?.iter().map(|field| &field.ty), other, contract),
        _ => Ok(false),
    }
}

/// The lists that reads return, those within records among them.
fn lists(contract: &Contract) -> Vec<Type> {
    let in_records = contract.records.iter().flat_map(|record| &record.fields).map(|field| &field.ty);
    let mut found = vec![];
    for ty in results(contract).chain(in_records) {
        let list = if let Type::Option(some) = ty { some } else { ty };
        if matches!(list, Type::List(_)) && !found.contains(list) {
            found.push(list.clone());
        }
    }
    found
}
