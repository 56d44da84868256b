//! The objects of the protocol, as far as they must be typed; other keys are skipped.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// Maximum elements of one list of names, nodes, candidates or victims. Kubernetes supports 5,000 nodes.
pub(super) const MAX_ELEMENTS: usize = 100_000;

/// The error of a longer list.
pub(super) const TOO_LONG: &str = "a list has more than 100000 elements";

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
        names: List<JsonString<'a>> = "NodeNames",
    }
}

object! {
    /// A `NodeList`.
    NodeList { items: List<&'a RawValue> = "items", }
}

object! {
    /// An `ExtenderPreemptionArgs`.
    RawPreemptArgs {
        pod: Option<&'a RawValue> = "Pod",
        victims: Option<Candidates<'a>> = "NodeNameToVictims",
        meta_victims: Option<Candidates<'a>> = "NodeNameToMetaVictims",
    }
}

object! {
    /// `Victims` or `MetaVictims`.
    VictimList {
        pods: List<&'a RawValue> = "Pods",
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

/// Victims by node, in the order of the request.
pub(super) struct Candidates<'a>(pub(super) Vec<(Cow<'a, str>, VictimList<'a>)>);

/// An `ExtenderBindingResult` of another replica.
#[derive(Deserialize)]
pub(super) struct RawBindResult {
    /// None, or an empty one, for success.
    #[serde(rename = "Error")]
    pub(super) error: Option<String>,
}

/// A list of bounded length.
pub(super) struct List<T>(pub(super) Vec<T>);

struct ListVisitor<T>(PhantomData<T>);

struct CandidatesVisitor;

struct FieldsVisitor;

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
        value.map(Option::unwrap_or_default).map_err(|error| serde_json::Error::custom(format_args!("{key}: {error}")))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((JsonString(key), value)) = map.next_entry()? {
            push(&mut fields, (key, value))?;
        }
        Ok(Fields(fields))
    }
}

// === impl List ===

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element()? {
            push(&mut list, element)?;
        }
        Ok(List(list))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Candidates<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CandidatesVisitor)
    }
}

impl<'de> Visitor<'de> for CandidatesVisitor {
    type Value = Candidates<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with victims by node name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut candidates = Vec::new();
        while let Some((JsonString(node), victims)) = map.next_entry::<_, Option<VictimList<'_>>>()? {
            push(&mut candidates, (node, victims.unwrap_or_default()))?;
        }
        Ok(Candidates(candidates))
    }
}

/// Adds an element, unless the list is as long as it may be.
fn push<T, E: Error>(list: &mut Vec<T>, element: T) -> Result<(), E> {
    if list.len() == MAX_ELEMENTS {
        return Err(E::custom(TOO_LONG));
    }
    list.push(element);
    Ok(())
}
