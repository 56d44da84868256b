//! The names of nodes in a reply. That of a node that came as an object is found without reading the rest of it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};

use crate::{
    decode::{JsonString, WireNodes},
    text::push_text,
};

/// The name of a node of the request.
#[inline]
pub(super) fn push_name(out: &mut Vec<u8>, nodes: &WireNodes, at: usize) {
    if nodes.are_objects() {
        push_text(out, &nodes.known_name(at).map_or_else(|| node_name(nodes.json(at)), Cow::Borrowed));
    } else {
        out.extend_from_slice(nodes.json(at));
    }
}

/// `metadata.name` of a Node's JSON; empty if it has none.
///
/// Core has parsed the object before: it is valid, and has each of the two keys once. Go writes both first, so usually
/// only the first few bytes are read.
pub(super) fn node_name(json: &[u8]) -> Cow<'_, str> {
    let mut found = None;
    let seed = FieldAtPath { keys: &["metadata", "name"], found: &mut found };
    // The visitor ends the parse with an error as soon as it has the name.
    let _ended = seed.deserialize(&mut serde_json::Deserializer::from_slice(json));
    found.unwrap_or_default()
}

/// Descends along a path of keys and returns the text at its end.
struct FieldAtPath<'k, 'f, 'de> {
    keys: &'k [&'static str],
    found: &'f mut Option<Cow<'de, str>>,
}

impl<'de> DeserializeSeed<'de> for FieldAtPath<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.keys.is_empty() {
            *self.found = Some(JsonString::deserialize(deserializer)?.0);
            return Ok(());
        }
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldAtPath<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((wanted, keys)) = self.keys.split_first() else { return Ok(()) };
        while let Some(JsonString(key)) = map.next_key()? {
            if key == *wanted {
                map.next_value_seed(FieldAtPath { keys, found: self.found })?;
                return Err(A::Error::custom("found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
