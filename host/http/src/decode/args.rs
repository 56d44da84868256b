//! `ExtenderArgs`, as far as it must be typed.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::fold::{BoundedList, Field, at, value};

/// The wrapper's keys, in any ASCII case.
pub(super) const FIELDS: [&str; 3] = ["Pod", "Nodes", "NodeNames"];

/// The only key of a `NodeList` that counts, in any ASCII case.
pub(super) const ITEMS: &str = "items";

/// Reads the wrapper.
pub(super) struct ExtenderArgsVisitor;

/// The wrapper's fields; null is none.
#[derive(Default)]
pub(super) struct RawExtenderArgs<'a> {
    pub(super) pod: Option<&'a RawValue>,
    pub(super) nodes: Option<Vec<&'a RawValue>>,
    pub(super) names: Option<Vec<Cow<'a, str>>>,
}

/// The items of a `NodeList`.
struct NodeList<'a>(Vec<&'a RawValue>);

/// A text, borrowed unless it has escapes.
#[derive(Deserialize)]
pub(crate) struct JsonString<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for ExtenderArgsVisitor {
    type Value = RawExtenderArgs<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ExtenderArgsVisitor {
    type Value = RawExtenderArgs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with Pod and Nodes or NodeNames")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut args = RawExtenderArgs::default();
        while let Some(field) = map.next_key_seed(Field(&FIELDS))? {
            match field {
                Some(0) => args.pod = value(&mut map, "Pod")?,
                Some(1) => args.nodes = value::<_, Option<NodeList<'_>>>(&mut map, "Nodes")?.map(|list| list.0),
                Some(2) => {
                    let names: Option<BoundedList<JsonString<'_>>> = value(&mut map, "NodeNames")?;
                    args.names = names.map(|names| names.0.into_iter().map(|name| name.0).collect());
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(args)
    }
}

impl<'de> Deserialize<'de> for NodeList<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NodeListVisitor)
    }
}

struct NodeListVisitor;

impl<'de> Visitor<'de> for NodeListVisitor {
    type Value = NodeList<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a NodeList")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(field) = map.next_key_seed(Field(&[ITEMS]))? {
            match field {
                Some(_) => items = map.next_value::<BoundedList<&RawValue>>().map_err(|error| at(".items", &error))?.0,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(NodeList(items))
    }
}
