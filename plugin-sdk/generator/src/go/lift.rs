//! The code with which Go reads values from memory.

use anyhow::bail;

use super::syntax::{go_type, record_name};
use crate::{Contract, Type, layout::Layout};

/// The Go function that reads a value of the type from memory, as a function value.
pub(super) fn lift(ty: &Type, contract: &Contract) -> anyhow::Result<String> {
    Ok(match ty {
        Type::Text => "liftText".to_owned(),
        Type::Bool => "liftBool".to_owned(),
        Type::U32 => "liftU32".to_owned(),
        Type::U64 => "liftU64".to_owned(),
        Type::S32 => "liftS32".to_owned(),
        Type::S64 => "liftS64".to_owned(),
        Type::F64 => "liftF64".to_owned(),
        Type::Record(name) => format!("lift{}", record_name(name)),
        Type::List(item) => {
            let (size, lift) = (Layout::of(item, contract)?.size, lift(item, contract)?);
            format!("func(at unsafe.Pointer) []{} {{ return liftList(at, {size}, {lift}) }}", go_type(item)?)
        }
        Type::Option(_) | Type::Enum(_) => bail!("the generator has no rule for {ty:?} within another type"),
    })
}

/// The call of that function: `liftText(at)`.
pub(super) fn lifted(ty: &Type, at: &str, contract: &Contract) -> anyhow::Result<String> {
    Ok(match ty {
        Type::Option(some) => {
            let (payload, lift) = (Layout::of(some, contract)?.align, lift(some, contract)?);
            format!("liftOption({at}, {payload}, {lift})")
        }
        Type::List(item) => {
            let (size, lift) = (Layout::of(item, contract)?.size, lift(item, contract)?);
            format!("liftList({at}, {size}, {lift})")
        }
        other => format!("{}({at})", lift(other, contract)?),
    })
}

/// A pointer some bytes further: `unsafe.Add(at, 8)`.
pub(super) fn moved(at: &str, offset: usize) -> String {
    if offset == 0 { at.to_owned() } else { format!("unsafe.Add({at}, {offset})") }
}
