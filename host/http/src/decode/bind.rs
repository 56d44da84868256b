//! `ExtenderBindingArgs` and `ExtenderBindingResult`.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

use super::{
    args::JsonString,
    fold::{Field, value},
};

/// Reads the wrapper.
pub(super) struct BindArgsVisitor;

/// The wrapper's fields; absent and null ones are empty.
#[derive(Default)]
pub(super) struct RawBindArgs<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) namespace: Cow<'a, str>,
    pub(super) uid: Cow<'a, str>,
    pub(super) node: Cow<'a, str>,
}

/// Reads the reply of another replica.
pub(super) struct BindResultVisitor;

const FIELDS: [&str; 4] = ["PodName", "PodNamespace", "PodUID", "Node"];

/// The longest name that Kubernetes gives a pod or node: a DNS subdomain.
const MAX_NAME: usize = 253;

/// The longest name of a namespace: a DNS label.
const MAX_NAMESPACE: usize = 63;

// === impl RawBindArgs ===

impl RawBindArgs<'_> {
    /// The first invalid name, if any. Names become part of the API server's URLs.
    pub(super) fn problem(&self) -> Option<String> {
        let [name, namespace, uid, node] = FIELDS;
        let empty = [(name, &self.name), (namespace, &self.namespace), (uid, &self.uid), (node, &self.node)];
        if let Some((field, _)) = empty.iter().find(|(_, value)| value.is_empty()) {
            return Some(format!("{field} is missing or empty; expected text"));
        }
        let named =
            [(name, &self.name, MAX_NAME), (namespace, &self.namespace, MAX_NAMESPACE), (node, &self.node, MAX_NAME)];
        let (field, _, most) = named.iter().find(|(_, value, most)| !is_name(value, *most))?;
        Some(format!("{field} is no name: expected lower-case letters, digits, '-' and '.', at most {most} bytes"))
    }
}

fn is_name(text: &str, most: usize) -> bool {
    let dns = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    text.len() <= most && text.bytes().all(dns) && !text.starts_with('.') && !text.contains("..")
}

impl<'de> DeserializeSeed<'de> for BindArgsVisitor {
    type Value = RawBindArgs<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for BindArgsVisitor {
    type Value = RawBindArgs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with PodName, PodNamespace, PodUID and Node")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut args = RawBindArgs::default();
        while let Some(field) = map.next_key_seed(Field(&FIELDS))? {
            match field {
                Some(0) => args.name = text(&mut map, FIELDS[0])?,
                Some(1) => args.namespace = text(&mut map, FIELDS[1])?,
                Some(2) => args.uid = text(&mut map, FIELDS[2])?,
                Some(3) => args.node = text(&mut map, FIELDS[3])?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(args)
    }
}

/// Text; null is empty.
fn text<'de, A: MapAccess<'de>>(map: &mut A, field: &str) -> Result<Cow<'de, str>, A::Error> {
    let text: Option<JsonString<'de>> = value(map, field)?;
    Ok(text.map(|text| text.0).unwrap_or_default())
}

impl<'de> DeserializeSeed<'de> for BindResultVisitor {
    /// The error; none for success.
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for BindResultVisitor {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with Error")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut error = None;
        while let Some(field) = map.next_key_seed(Field(&["Error"]))? {
            match field {
                Some(_) => error = value::<_, Option<String>>(&mut map, "Error")?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(error.filter(|error| !error.is_empty()))
    }
}
