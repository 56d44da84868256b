//! JSON of any shape: the settings of the sidecar, and fields of objects.

use std::collections::BTreeMap;

use cel::common::{
    types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString},
    value::Val,
};
use serde::Deserialize;

/// A JSON value.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Json {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    List(Vec<Json>),
    Map(BTreeMap<String, Json>),
}

// === impl Json ===

impl Json {
    /// The value as CEL has it.
    pub(crate) fn to_val<'v>(&self) -> Box<dyn Val + 'v> {
        match self {
            Self::Null => Box::new(CelNull),
            Self::Bool(value) => Box::new(CelBool::from(*value)),
            Self::Int(value) => Box::new(CelInt::from(*value)),
            Self::Double(value) => Box::new(CelDouble::from(*value)),
            Self::Text(value) => Box::new(CelString::from(value.clone())),
            Self::List(items) => Box::new(CelList::from(items.iter().map(Self::to_val).collect::<Vec<_>>())),
            Self::Map(entries) => Box::new(CelMap::from(
                entries
                    .iter()
                    .map(|(key, value)| (CelMapKey::from(key.clone()), value.to_val()))
                    .collect::<std::collections::HashMap<_, _>>(),
            )),
        }
    }
}
