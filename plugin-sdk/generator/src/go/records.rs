//! The records of the contract as structs, and how they cross the border.

use std::fmt::Write;

use anyhow::bail;

use super::{
    lift::{lifted, moved},
    syntax::{BY_HAND, docs, exported, go_type, record_name},
};
use crate::{Contract, Param, Record, Type, layout::Layout};

/// The declarations of the records that reads take and return.
pub(super) fn declarations(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    for record in contract.records.iter().filter(|record| !is_by_hand(record)) {
        let name = record_name(&record.name);
        let about = docs(&name, "is", &record.docs);
        writeln!(text, "{about}type {name} struct {{")?;
        for (at, field) in record.fields.iter().enumerate() {
            // A blank line between fields, or gofmt would align their types.
            let blank = if at == 0 { "" } else { "\n" };
            let comment: String = field.docs.lines().flat_map(|line| ["\t// ", line, "\n"]).collect();
            writeln!(text, "{blank}{comment}\t{} {}", exported(&field.name), field_type(field)?)?;
        }
        writeln!(text, "}}\n")?;
    }
    Ok(text)
}

/// Functions that read records from memory, and that write those there which reads take.
pub(super) fn functions(contract: &Contract) -> anyhow::Result<String> {
    let mut text = String::new();
    let taken: Vec<&str> = taken(contract).collect();
    for record in contract.records.iter().filter(|record| !is_by_hand(record)) {
        let name = record_name(&record.name);
        let (_, offsets) = Layout::of_fields(&record.fields, contract)?;
        if taken.contains(&record.name.as_str()) {
            writeln!(text, "func put{name}(at unsafe.Pointer, value {name}) {{")?;
            for (field, offset) in record.fields.iter().zip(offsets) {
                text += &put(field, offset, contract)?;
            }
            writeln!(text, "}}\n")?;
        } else {
            let value = |(field, offset): (&Param, usize)| {
                let value = lifted(&field.ty, &moved("at", offset), contract)?;
                anyhow::Ok(format!("{}: {value}", exported(&field.name)))
            };
            let fields = record.fields.iter().zip(offsets).map(value).collect::<anyhow::Result<Vec<_>>>()?.join(", ");
            writeln!(text, "func lift{name}(at unsafe.Pointer) {name} {{\n\treturn {name}{{{fields}}}\n}}\n")?;
        }
    }
    Ok(text)
}

/// The statements that write a field; an optional field is absent where it has the zero value.
fn put(field: &Param, offset: usize, contract: &Contract) -> anyhow::Result<String> {
    let value = format!("value.{}", exported(&field.name));
    let at = moved("at", offset);
    Ok(match &field.ty {
        Type::Option(some) => {
            let zero = match &**some {
                Type::Text => "\"\"".to_owned(),
                Type::Record(name) => format!("({}{{}})", record_name(name)),
                other => bail!("{}: no rule for an optional {other:?} that goes in", field.name),
            };
            let payload = offset + Layout::of(some, contract)?.align;
            let put = put_call(some, &moved("at", payload), &value)?;
            format!("\tputBool({at}, {value} != {zero})\n\t{put}\n")
        }
        other => format!("\t{}\n", put_call(other, &at, &value)?),
    })
}

/// The call that writes a value to memory: `putText(at, key)`.
pub(super) fn put_call(ty: &Type, at: &str, value: &str) -> anyhow::Result<String> {
    let name = match ty {
        Type::Text => "Text".to_owned(),
        Type::Bool => "Bool".to_owned(),
        Type::U32 => "U32".to_owned(),
        Type::U64 => "U64".to_owned(),
        Type::S32 => "S32".to_owned(),
        Type::S64 => "S64".to_owned(),
        Type::Record(name) => record_name(name),
        other => bail!("the generator has no rule for {other:?} that goes in"),
    };
    Ok(format!("put{name}({at}, {value})"))
}

/// The records that are parameters, and those within them.
fn taken(contract: &Contract) -> impl Iterator<Item = &str> {
    let params = contract.interfaces.iter().flat_map(|interface| &interface.functions).flat_map(|read| &read.params);
    let own = params.filter_map(|param| record_of(&param.ty));
    own.flat_map(|name| {
        let fields =
            contract.records.iter().filter(move |record| record.name == name).flat_map(|record| &record.fields);
        fields.filter_map(|field| record_of(&field.ty)).chain([name])
    })
}

fn record_of(ty: &Type) -> Option<&str> {
    match ty {
        Type::Record(name) => Some(name),
        Type::Option(some) => record_of(some),
        _ => None,
    }
}

fn field_type(field: &Param) -> anyhow::Result<String> {
    match &field.ty {
        Type::Option(some) => go_type(some),
        other => go_type(other),
    }
}

fn is_by_hand(record: &Record) -> bool {
    BY_HAND.iter().any(|(name, _)| *name == record.name)
}
