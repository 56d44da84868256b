//! `ExtenderArgs`: the parts that the gateway uses, and the wrapper as serde reads it.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, de::MapAccess};
use serde_json::value::RawValue;

use super::{
    fold::{BoundedList, Fields, Object, value},
    nodes::WireNodes,
};

/// A filter or prioritize request.
#[derive(Debug)]
pub(crate) struct ExtenderArgs {
    /// The Pod's JSON.
    pub(crate) pod: Bytes,
    /// The nodes to decide about.
    pub(crate) nodes: WireNodes,
}

/// The wrapper's keys, in any ASCII case.
pub(super) const FIELDS: [&str; 3] = ["Pod", "Nodes", "NodeNames"];

/// The only key of a `NodeList` that counts, in any ASCII case.
pub(super) const ITEMS: &str = "items";

/// The wrapper's fields; null is none.
#[derive(Default)]
pub(super) struct RawExtenderArgs<'a> {
    pub(super) pod: Option<&'a RawValue>,
    pub(super) nodes: Option<Vec<&'a RawValue>>,
    pub(super) names: Option<Vec<Cow<'a, str>>>,
}

/// The items of a `NodeList`.
#[derive(Default)]
struct NodeList<'a>(Vec<&'a RawValue>);

/// A text, borrowed unless it has escapes.
#[derive(Default, Deserialize)]
pub(crate) struct JsonString<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl<'de> Fields<'de> for RawExtenderArgs<'de> {
    const EXPECTED: &'static str = "an object with Pod and Nodes or NodeNames";
    const KEYS: &'static [&'static str] = &FIELDS;

    fn read<A: MapAccess<'de>>(&mut self, key: usize, map: &mut A) -> Result<(), A::Error> {
        match key {
            0 => self.pod = value(map, "Pod")?,
            1 => self.nodes = value::<_, Option<Object<NodeList<'_>>>>(map, "Nodes")?.map(|list| list.0.0),
            _ => {
                let names: Option<BoundedList<JsonString<'_>>> = value(map, "NodeNames")?;
                self.names = names.map(|names| names.0.into_iter().map(|name| name.0).collect());
            }
        }
        Ok(())
    }
}

impl<'de> Fields<'de> for NodeList<'de> {
    const EXPECTED: &'static str = "a NodeList";
    const KEYS: &'static [&'static str] = &[ITEMS];

    fn read<A: MapAccess<'de>>(&mut self, _: usize, map: &mut A) -> Result<(), A::Error> {
        self.0 = value::<_, BoundedList<&RawValue>>(map, ".items")?.0;
        Ok(())
    }
}
