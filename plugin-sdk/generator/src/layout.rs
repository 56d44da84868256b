//! The memory layout of values in the canonical ABI, for every language.

use anyhow::Context;

use crate::{Contract, Function, Param, Type};

/// The canonical ABI passes more values than this through memory.
pub(crate) const MAX_FLAT: usize = 16;

/// The size and alignment of a type in memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) size: usize,
    pub(crate) align: usize,
}

// === impl Layout ===

impl Layout {
    pub(crate) fn of(ty: &Type, contract: &Contract) -> anyhow::Result<Self> {
        let number = |bytes| Self { size: bytes, align: bytes };
        Ok(match ty {
            Type::Bool | Type::Enum(_) => number(1),
            Type::U32 | Type::S32 => number(4),
            Type::U64 | Type::S64 | Type::F64 => number(8),
            Type::Text | Type::List(_) => Self { size: 8, align: 4 },
            Type::Option(some) => {
                let some = Self::of(some, contract)?;
                Self { size: (some.align + some.size).next_multiple_of(some.align), align: some.align }
            }
            Type::Record(name) => Self::of_fields(fields(name, contract)?, contract)?.0,
        })
    }

    /// The layout of a record with these fields, and the offset of each.
    pub(crate) fn of_fields(fields: &[Param], contract: &Contract) -> anyhow::Result<(Self, Vec<usize>)> {
        let (mut size, mut align, mut offsets) = (0usize, 1, vec![]);
        for field in fields {
            let own = Self::of(&field.ty, contract)?;
            let at = size.next_multiple_of(own.align);
            offsets.push(at);
            (size, align) = (at + own.size, align.max(own.align));
        }
        Ok((Self { size: size.next_multiple_of(align), align }, offsets))
    }
}

/// The fields of a record.
pub(crate) fn fields<'c>(record: &str, contract: &'c Contract) -> anyhow::Result<&'c [Param]> {
    let found = contract.records.iter().find(|own| own.name == record);
    Ok(&found.with_context(|| format!("there is no record {record}"))?.fields)
}

/// The number of flat values of a type.
fn flat_count(ty: &Type, contract: &Contract) -> anyhow::Result<usize> {
    Ok(match ty {
        Type::Text | Type::List(_) => 2,
        Type::Option(some) => 1 + flat_count(some, contract)?,
        Type::Record(name) => {
            let counts = fields(name, contract)?.iter().map(|field| flat_count(&field.ty, contract));
            counts.sum::<anyhow::Result<usize>>()?
        }
        _ => 1,
    })
}

/// Whether the parameters are passed through memory.
pub(crate) fn is_spilled(function: &Function, contract: &Contract) -> anyhow::Result<bool> {
    let counts = function.params.iter().map(|param| flat_count(&param.ty, contract));
    Ok(counts.sum::<anyhow::Result<usize>>()? > MAX_FLAT)
}
