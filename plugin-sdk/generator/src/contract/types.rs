//! Converts the types of the WIT.

use anyhow::{Context, bail};
use wit_parser::{Enum, Field, Record as WitRecord, Resolve, Type as WitType, TypeDef, TypeDefKind};

use super::{Param, Record, Type};

/// Converts types and collects the records and enums among them.
pub(super) struct Types<'r> {
    pub(super) resolve: &'r Resolve,
    pub(super) records: Vec<Record>,
    /// By name, with the names of their cases.
    pub(super) enums: Vec<(String, Vec<String>)>,
}

// === impl Types ===

impl<'r> Types<'r> {
    pub(super) fn new(resolve: &'r Resolve) -> Self {
        Self { resolve, records: vec![], enums: vec![] }
    }

    pub(super) fn convert(&mut self, ty: &WitType) -> anyhow::Result<Type> {
        Ok(match ty {
            WitType::String => Type::Text,
            WitType::Bool => Type::Bool,
            WitType::U32 => Type::U32,
            WitType::U64 => Type::U64,
            WitType::S32 => Type::S32,
            WitType::S64 => Type::S64,
            WitType::F64 => Type::F64,
            WitType::Id(id) => self.convert_definition(&self.resolve.types[*id])?,
            other => bail!("the generator has no rule for the type {other:?}"),
        })
    }

    fn convert_definition(&mut self, own: &TypeDef) -> anyhow::Result<Type> {
        Ok(match &own.kind {
            TypeDefKind::Type(alias) => self.convert(alias)?,
            TypeDefKind::Option(ty) => Type::Option(Box::new(self.convert(ty)?)),
            TypeDefKind::List(ty) => Type::List(Box::new(self.convert(ty)?)),
            TypeDefKind::Enum(cases) => {
                let name = own.name.clone().context("an enum has no name")?;
                self.add_enum(&name, cases);
                Type::Enum(name)
            }
            TypeDefKind::Record(record) => {
                let name = own.name.clone().context("a record has no name")?;
                self.add_record(&name, own.docs.contents.clone().unwrap_or_default(), record)?;
                Type::Record(name)
            }
            other => bail!("the generator has no rule for a {}", other.as_str()),
        })
    }

    fn add_enum(&mut self, name: &str, cases: &Enum) {
        if self.enums.iter().all(|(known, _)| known != name) {
            self.enums.push((name.to_owned(), cases.cases.iter().map(|case| case.name.clone()).collect()));
        }
    }

    fn add_record(&mut self, name: &str, docs: String, record: &WitRecord) -> anyhow::Result<()> {
        if self.records.iter().all(|known| known.name != name) {
            let field = |field: &Field| {
                let docs = field.docs.contents.clone().unwrap_or_default();
                Ok(Param { name: field.name.clone(), docs, ty: self.convert(&field.ty)? })
            };
            let fields = record.fields.iter().map(field).collect::<anyhow::Result<_>>()?;
            self.records.push(Record { name: name.to_owned(), docs, fields });
        }
        Ok(())
    }
}
