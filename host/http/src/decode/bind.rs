//! `ExtenderBindingArgs` and `ExtenderBindingResult`.

use std::borrow::Cow;

use serde::de::MapAccess;

use super::{
    args::JsonString,
    fold::{Fields, value},
};

/// The wrapper's fields; absent and null ones are empty.
#[derive(Default)]
pub(super) struct RawBindArgs<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) namespace: Cow<'a, str>,
    pub(super) uid: Cow<'a, str>,
    pub(super) node: Cow<'a, str>,
}

/// The reply of another replica.
#[derive(Default)]
pub(super) struct RawBindResult {
    /// None, or an empty one, for success.
    pub(super) error: Option<String>,
}

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

impl<'de> Fields<'de> for RawBindArgs<'de> {
    const EXPECTED: &'static str = "an object with PodName, PodNamespace, PodUID and Node";
    const KEYS: &'static [&'static str] = &FIELDS;

    fn read<A: MapAccess<'de>>(&mut self, key: usize, map: &mut A) -> Result<(), A::Error> {
        let text = value::<_, Option<JsonString<'de>>>(map, FIELDS[key])?.unwrap_or_default().0;
        *[&mut self.name, &mut self.namespace, &mut self.uid, &mut self.node][key] = text;
        Ok(())
    }
}

impl<'de> Fields<'de> for RawBindResult {
    const EXPECTED: &'static str = "an object with Error";
    const KEYS: &'static [&'static str] = &["Error"];

    fn read<A: MapAccess<'de>>(&mut self, _: usize, map: &mut A) -> Result<(), A::Error> {
        self.error = value(map, "Error")?;
        Ok(())
    }
}
