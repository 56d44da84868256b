//! The objects of the protocol, as far as they must be typed. Keys are those of kube-scheduler's Go types; other keys are
//! skipped, and null is absent.

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

/// An `ExtenderArgs`.
#[derive(Default, Deserialize)]
#[serde(rename = "ExtenderArgs", default)]
pub(super) struct RawExtenderArgs<'a> {
    #[serde(borrow, rename = "Pod")]
    pub(super) pod: Option<&'a RawValue>,
    #[serde(borrow, rename = "Nodes")]
    pub(super) nodes: Option<NodeList<'a>>,
    #[serde(borrow, rename = "NodeNames")]
    pub(super) names: Option<List<JsonString<'a>>>,
}

/// A `NodeList`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeList<'a> {
    #[serde(borrow)]
    pub(super) items: List<&'a RawValue>,
}

/// A text, borrowed unless it has escapes.
#[derive(Default, Deserialize)]
pub(crate) struct JsonString<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// An `ExtenderPreemptionArgs`.
#[derive(Default, Deserialize)]
#[serde(rename = "ExtenderPreemptionArgs", default)]
pub(super) struct RawPreemptArgs<'a> {
    #[serde(borrow, rename = "Pod")]
    pub(super) pod: Option<&'a RawValue>,
    #[serde(borrow, rename = "NodeNameToVictims")]
    pub(super) victims: Option<Candidates<'a>>,
    #[serde(borrow, rename = "NodeNameToMetaVictims")]
    pub(super) meta_victims: Option<Candidates<'a>>,
}

/// Victims by node, in the order of the request.
pub(super) struct Candidates<'a>(pub(super) Vec<(Cow<'a, str>, VictimList<'a>)>);

/// `Victims` or `MetaVictims`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct VictimList<'a> {
    #[serde(borrow, rename = "Pods")]
    pub(super) pods: List<&'a RawValue>,
    #[serde(rename = "NumPDBViolations")]
    pub(super) pdb_violations: i64,
}

/// A `MetaPod`.
#[derive(Deserialize)]
pub(super) struct MetaPod<'a> {
    #[serde(borrow, rename = "UID")]
    pub(super) uid: Cow<'a, str>,
}

/// An `ExtenderBindingArgs`; absent fields are empty.
#[derive(Default, Deserialize)]
#[serde(rename = "ExtenderBindingArgs", default)]
pub(super) struct RawBindArgs<'a> {
    #[serde(borrow, rename = "PodName")]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, rename = "PodNamespace")]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow, rename = "PodUID")]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow, rename = "Node")]
    pub(super) node: Cow<'a, str>,
}

/// An `ExtenderBindingResult` of another replica.
#[derive(Deserialize)]
pub(super) struct RawBindResult {
    /// None, or an empty one, for success.
    #[serde(rename = "Error")]
    pub(super) error: Option<String>,
}

/// A list of bounded length; null is an empty one.
pub(super) struct List<T>(pub(super) Vec<T>);

struct ListVisitor<T>(PhantomData<T>);

struct CandidatesVisitor;

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
        fields.into_iter().find_map(|(field, value, most)| {
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

// === impl List ===

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<List<T>, E> {
        Ok(List::default())
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
