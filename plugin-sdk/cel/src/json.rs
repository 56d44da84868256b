//! JSON of any shape: the settings of the sidecar, and fields of objects.

use std::{collections::BTreeMap, fmt};

use cel::common::{
    types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString},
    value::Val,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
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

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonVisitor;

        impl<'de> Visitor<'de> for JsonVisitor {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Int(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(i64::try_from(value).map_or(Json::Double(value as f64), Json::Int))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::Double(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
                let mut map = BTreeMap::new();
                while let Some((key, value)) = entries.next_entry()? {
                    map.insert(key, value);
                }
                Ok(Json::Map(map))
            }
        }

        deserializer.deserialize_any(JsonVisitor)
    }
}
