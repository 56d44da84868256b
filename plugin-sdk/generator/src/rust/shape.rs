//! The shapes of results: each has a helper of the same name in the host, the SDK and its native twin.

use anyhow::{Context, bail};

use super::syntax::{camel, number_type, snake};
use crate::{Function, Type};

/// Records that the SDK calls otherwise than `Taint`.
const RENAMED: [(&str, &str); 1] = [("grouping", "Groups")];

/// The form in which a result is passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    OptionalText,
    Texts,
    /// With the number's type in Rust.
    Number(&'static str),
    OptionalNumber(&'static str),
    OptionalReal,
    Flag,
    OptionalFlag,
    Numbers,
    /// With the record's name.
    Record(String),
    OptionalRecord(String),
    Records(String),
    OptionalRecords(String),
}

// === impl Shape ===

impl Shape {
    /// The shape of a read's result.
    pub(super) fn of(function: &Function) -> anyhow::Result<Self> {
        let result = function.result.as_ref().context("a read has a result")?;
        if *result == Type::F64 {
            bail!("{}: the generator has no rule for a result f64, only for option<f64>", function.name);
        }
        if let Some(number) = number_type(result) {
            return Ok(Self::Number(number));
        }
        Ok(match result {
            Type::Text => Self::Text,
            Type::Bool => Self::Flag,
            Type::Record(name) => Self::Record(name.clone()),
            Type::Option(some) => match number_type(some) {
                Some("f64") => Self::OptionalReal,
                Some(number) => Self::OptionalNumber(number),
                None => match &**some {
                    Type::Text => Self::OptionalText,
                    Type::Bool => Self::OptionalFlag,
                    Type::Record(name) => Self::OptionalRecord(name.clone()),
                    Type::List(item) => match &**item {
                        Type::Record(name) => Self::OptionalRecords(name.clone()),
                        other => bail!("{}: the generator has no rule for option<list<{other:?}>>", function.name),
                    },
                    other => bail!("{}: the generator has no rule for option<{other:?}>", function.name),
                },
            },
            Type::List(item) => match &**item {
                Type::Text => Self::Texts,
                Type::U32 => Self::Numbers,
                Type::Record(name) => Self::Records(name.clone()),
                other => bail!("{}: the generator has no rule for list<{other:?}>", function.name),
            },
            other => bail!("{}: the generator has no rule for a result {other:?}", function.name),
        })
    }

    /// The helper that makes such a result.
    pub(super) fn helper(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::OptionalText => "optional_text".to_owned(),
            Self::Texts => "texts".to_owned(),
            Self::Number(_) => "number".to_owned(),
            Self::OptionalNumber(_) => "optional_number".to_owned(),
            Self::OptionalReal => "optional_real".to_owned(),
            Self::Flag => "flag".to_owned(),
            Self::OptionalFlag => "optional_flag".to_owned(),
            Self::Numbers => "numbers".to_owned(),
            Self::Record(name) => snake(name),
            Self::OptionalRecord(name) => format!("optional_{}", snake(name)),
            Self::Records(name) => snake(name) + "s",
            Self::OptionalRecords(name) => format!("optional_{}s", snake(name)),
        }
    }

    /// The result's type in the SDK.
    pub(super) fn rust(&self) -> String {
        match self {
            Self::Text => "&'a str".to_owned(),
            Self::OptionalText => "Option<&'a str>".to_owned(),
            Self::Texts => "Vec<&'a str>".to_owned(),
            Self::Number(number) => (*number).to_owned(),
            Self::OptionalNumber(number) => format!("Option<{number}>"),
            Self::OptionalReal => "Option<f64>".to_owned(),
            Self::Flag => "bool".to_owned(),
            Self::OptionalFlag => "Option<bool>".to_owned(),
            Self::Numbers => "Vec<u32>".to_owned(),
            Self::Record(name) => record(name),
            Self::OptionalRecord(name) => format!("Option<{}>", record(name)),
            Self::Records(name) => format!("Vec<{}>", record(name)),
            Self::OptionalRecords(name) => format!("Option<Vec<{}>>", record(name)),
        }
    }
}

fn record(name: &str) -> String {
    let renamed = RENAMED.iter().find(|(record, _)| *record == name);
    format!("{}<'a>", renamed.map_or_else(|| camel(name), |(_, rust)| (*rust).to_owned()))
}
