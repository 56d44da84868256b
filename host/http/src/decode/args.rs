//! The objects of the protocol, as far as they must be typed; other keys are skipped.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Deserializer as JsonDeserializer, value::RawValue};

/// Begins the error of a list or an object that is too long.
pub(super) const TOO_LONG: &str = "more than the";

/// Maximum keys of one of the protocol's objects, which have four at most.
const MAX_KEYS: Bound = Bound { max: 1000, of: "keys that an object may have", expected: "an object" };

/// The longest name that Kubernetes gives a pod or node: a DNS subdomain.
const MAX_NAME: usize = 253;

/// The longest name of a namespace: a DNS label.
const MAX_NAMESPACE: usize = 63;

/// The fields of one of the protocol's objects. As in Go's `encoding/json`, keys match in any ASCII case, and the last of
/// several wins: the wire of Kubernetes up to 1.17 is in lower case.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// Defines an object of the protocol; absent fields and null are the default.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Default, Deserialize)]
        #[serde(try_from = "Fields<'a>", bound(deserialize = "'de: 'a"))]
        pub(super) struct $name<'a> {
            $(pub(super) $field: $type,)*
        }

        impl<'a> TryFrom<Fields<'a>> for $name<'a> {
            type Error = serde_json::Error;

            fn try_from(fields: Fields<'a>) -> Result<Self, Self::Error> {
                Ok(Self { $($field: fields.get($key)?,)* })
            }
        }
    };
}

object! {
    /// An `ExtenderArgs`.
    RawExtenderArgs {
        pod: Option<&'a RawValue> = "Pod",
        nodes: Option<NodeList<'a>> = "Nodes",
        names: List<'a> = "NodeNames",
    }
}

object! {
    /// A `NodeList`.
    NodeList { items: List<'a> = "items", }
}

object! {
    /// An `ExtenderPreemptionArgs`.
    RawPreemptArgs {
        pod: Option<&'a RawValue> = "Pod",
        victims: Option<List<'a>> = "NodeNameToVictims",
        meta_victims: Option<List<'a>> = "NodeNameToMetaVictims",
    }
}

object! {
    /// `Victims` or `MetaVictims`.
    VictimList {
        pods: List<'a> = "Pods",
        pdb_violations: i64 = "NumPDBViolations",
    }
}

object! {
    /// A `MetaPod`.
    MetaPod { uid: JsonString<'a> = "UID", }
}

object! {
    /// An `ExtenderBindingArgs`; absent fields are empty.
    RawBindArgs {
        name: JsonString<'a> = "PodName",
        namespace: JsonString<'a> = "PodNamespace",
        uid: JsonString<'a> = "PodUID",
        node: JsonString<'a> = "Node",
    }
}

/// A text, borrowed unless it has escapes.
#[derive(Default, Deserialize)]
pub(crate) struct JsonString<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// An `ExtenderBindingResult` of another replica.
#[derive(Deserialize)]
pub(super) struct RawBindResult {
    /// None, or an empty one, for success.
    #[serde(rename = "Error")]
    pub(super) error: Option<String>,
}

/// A node's name with its victims.
pub(super) type Candidate<'a> = (Cow<'a, str>, VictimList<'a>);

/// A list, or the victims by node, that is yet to be read.
#[derive(Default, Deserialize)]
pub(super) struct List<'a>(#[serde(borrow)] Option<&'a RawValue>);

/// The most elements of a list or an object, for the errors of both.
#[derive(Clone, Copy)]
struct Bound {
    max: usize,
    of: &'static str,
    expected: &'static str,
}

struct ListVisitor<T>(Bound, PhantomData<T>);

struct FieldsVisitor(Bound);

// === impl RawBindArgs ===

impl RawBindArgs<'_> {
    /// The first invalid name, if any. Names become part of the API server's URLs.
    pub(super) fn problem(&self) -> Option<String> {
        let fields = [
            ("PodName", &self.name, MAX_NAME),
            ("PodNamespace", &self.namespace, MAX_NAMESPACE),
            ("PodUID", &self.uid, usize::MAX),
            ("Node", &self.node, MAX_NAME),
        ];
        fields.into_iter().find_map(|(field, JsonString(value), most)| {
            if value.is_empty() {
                return Some(format!("{field} is missing or empty; expected text"));
            }
            let expected = "lower-case letters, digits, '-' and '.'";
            (field != "PodUID" && !is_name(value, most))
                .then(|| format!("{field} is no name: expected {expected}, at most {most} bytes"))
        })
    }
}

fn is_name(text: &str, most: usize) -> bool {
    let dns = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    text.len() <= most && text.bytes().all(dns) && !text.starts_with('.') && !text.contains("..")
}

// === impl Fields ===

impl<'a> Fields<'a> {
    fn get<T: Deserialize<'a> + Default>(&self, key: &str) -> Result<T, serde_json::Error> {
        let field = self.0.iter().rev().find(|(found, _)| found.eq_ignore_ascii_case(key));
        let value = field.map_or(Ok(None), |(_, value)| serde_json::from_str::<Option<T>>(value.get()));
        value.map(Option::unwrap_or_default).map_err(at(key))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor(MAX_KEYS))
    }
}

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((JsonString(key), value)) = map.next_entry()? {
            self.0.push(&mut fields, (key, value))?;
        }
        Ok(Fields(fields))
    }
}

// === impl List ===

impl<'a> List<'a> {
    /// The elements, at most `max`, of the list at a path.
    pub(super) fn elements<T: Deserialize<'a>>(
        &self,
        path: impl fmt::Display,
        max: usize,
    ) -> Result<Vec<T>, serde_json::Error> {
        let Some(list) = self.0 else { return Ok(vec![]) };
        let visitor = ListVisitor(Bound::nodes(max, "a list"), PhantomData);
        JsonDeserializer::from_str(list.get()).deserialize_seq(visitor).map_err(at(path))
    }

    /// The victims of at most `max` nodes, in the order of the request.
    pub(super) fn candidates(&self, key: &str, max: usize) -> Result<Vec<Candidate<'a>>, serde_json::Error> {
        let Some(map) = self.0 else { return Ok(vec![]) };
        let visitor = FieldsVisitor(Bound::nodes(max, "an object with victims by node name"));
        let Fields(nodes) = JsonDeserializer::from_str(map.get()).deserialize_map(visitor).map_err(at(key))?;
        let victims = |json: &'a RawValue| serde_json::from_str::<Option<VictimList<'a>>>(json.get());
        let candidate = |(node, list)| victims(list).map(|list| (node, list.unwrap_or_default()));
        nodes.into_iter().map(candidate).collect::<Result<_, _>>().map_err(at(key))
    }
}

/// The same error, with its path before it.
fn at(path: impl fmt::Display) -> impl FnOnce(serde_json::Error) -> serde_json::Error {
    move |error| Error::custom(format_args!("{path}: {error}"))
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.expected)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element()? {
            self.0.push(&mut list, element)?;
        }
        Ok(list)
    }
}

// === impl Bound ===

impl Bound {
    const fn nodes(max: usize, expected: &'static str) -> Self {
        Self { max, of: "elements that --max-nodes allows", expected }
    }

    /// Adds an element, unless the list is as long as it may be.
    fn push<T, E: Error>(self, list: &mut Vec<T>, element: T) -> Result<(), E> {
        let Self { max, of, .. } = self;
        if list.len() >= max {
            return Err(E::custom(format_args!("{TOO_LONG} {max} {of}")));
        }
        list.push(element);
        Ok(())
    }
}
