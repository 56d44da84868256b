//! The objects of the protocol, as far as they must be typed.

use std::{borrow::Cow, collections::HashMap, fmt, marker::PhantomData};

use bytes::Bytes;
use plimsoll_core::{CandidateQuery, Victims};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    fold::{BoundedList, Fields, Object, at, check_length, value},
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

/// An `ExtenderArgs`; null is none.
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

/// An `ExtenderPreemptionArgs`; null is none.
#[derive(Default)]
pub(super) struct RawPreemptArgs<'a> {
    pub(super) pod: Option<&'a RawValue>,
    pub(super) victims: Option<Candidates<'a, &'a RawValue>>,
    pub(super) meta_victims: Option<Candidates<'a, Object<Uid<'a>>>>,
}

/// Victims by node, in the order of the request.
pub(super) struct Candidates<'a, P>(Vec<(Cow<'a, str>, VictimList<P>)>);

/// A `MetaPod`.
#[derive(Default)]
pub(super) struct Uid<'a>(Cow<'a, str>);

/// `Victims` or `MetaVictims`.
struct VictimList<P> {
    pods: Vec<P>,
    pdb_violations: i64,
}

/// An `ExtenderBindingArgs`; absent and null fields are empty.
#[derive(Default)]
pub(super) struct RawBindArgs<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) namespace: Cow<'a, str>,
    pub(super) uid: Cow<'a, str>,
    pub(super) node: Cow<'a, str>,
}

/// An `ExtenderBindingResult` of another replica.
#[derive(Default)]
pub(super) struct RawBindResult {
    /// None, or an empty one, for success.
    pub(super) error: Option<String>,
}

const BIND_FIELDS: [&str; 4] = ["PodName", "PodNamespace", "PodUID", "Node"];

/// The longest name that Kubernetes gives a pod or node: a DNS subdomain.
const MAX_NAME: usize = 253;

/// The longest name of a namespace: a DNS label.
const MAX_NAMESPACE: usize = 63;

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

// === impl Candidates ===

impl<'a, P> Candidates<'a, P> {
    /// The same for core; of several entries for one node the last wins, in the place of the first.
    pub(super) fn into_queries<Q>(self, victims: impl Fn(Vec<Q>) -> Victims<'a>) -> Vec<CandidateQuery<'a>>
    where
        P: Into<Q>,
    {
        let mut places: HashMap<Cow<'a, str>, usize> = HashMap::with_capacity(self.0.len());
        let mut queries: Vec<CandidateQuery<'a>> = Vec::with_capacity(self.0.len());
        for (node, list) in self.0 {
            let victims = victims(list.pods.into_iter().map(Into::into).collect());
            let query = CandidateQuery { node, victims, pdb_violations: list.pdb_violations };
            if let Some(place) = places.get(&query.node) {
                queries[*place] = query;
            } else {
                places.insert(query.node.clone(), queries.len());
                queries.push(query);
            }
        }
        queries
    }
}

impl<'a> From<Object<Uid<'a>>> for Cow<'a, str> {
    fn from(uid: Object<Uid<'a>>) -> Self {
        uid.0.0
    }
}

impl<'de> Fields<'de> for RawPreemptArgs<'de> {
    const EXPECTED: &'static str = "an object with Pod and NodeNameToVictims or NodeNameToMetaVictims";
    const KEYS: &'static [&'static str] = &["Pod", "NodeNameToVictims", "NodeNameToMetaVictims"];

    fn read<A: MapAccess<'de>>(&mut self, key: usize, map: &mut A) -> Result<(), A::Error> {
        match key {
            0 => self.pod = value(map, "Pod")?,
            1 => self.victims = value(map, "NodeNameToVictims")?,
            _ => self.meta_victims = value(map, "NodeNameToMetaVictims")?,
        }
        Ok(())
    }
}

impl<'de, P: Deserialize<'de>> Deserialize<'de> for Candidates<'de, P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CandidatesVisitor(PhantomData))
    }
}

struct CandidatesVisitor<P>(PhantomData<P>);

impl<'de, P: Deserialize<'de>> Visitor<'de> for CandidatesVisitor<P> {
    type Value = Candidates<'de, P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with victims by node name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut candidates = Vec::new();
        while let Some(JsonString(node)) = map.next_key()? {
            let list = map.next_value::<Option<Object<VictimList<P>>>>();
            let list = list.map_err(|error| at(format_args!("[{node:?}]"), &error))?;
            check_length(candidates.len())?;
            candidates.push((node, list.map(|list| list.0).unwrap_or_default()));
        }
        Ok(Candidates(candidates))
    }
}

impl<P> Default for VictimList<P> {
    fn default() -> Self {
        Self { pods: Vec::new(), pdb_violations: 0 }
    }
}

impl<'de, P: Deserialize<'de>> Fields<'de> for VictimList<P> {
    const EXPECTED: &'static str = "an object with Pods and NumPDBViolations";
    const KEYS: &'static [&'static str] = &["Pods", "NumPDBViolations"];

    fn read<A: MapAccess<'de>>(&mut self, key: usize, map: &mut A) -> Result<(), A::Error> {
        match key {
            0 => self.pods = value::<_, BoundedList<P>>(map, ".Pods")?.0,
            _ => self.pdb_violations = value::<_, Option<i64>>(map, ".NumPDBViolations")?.unwrap_or(0),
        }
        Ok(())
    }
}

impl<'de> Fields<'de> for Uid<'de> {
    const EXPECTED: &'static str = "an object with UID";
    const KEYS: &'static [&'static str] = &["UID"];

    fn read<A: MapAccess<'de>>(&mut self, _: usize, map: &mut A) -> Result<(), A::Error> {
        self.0 = value::<_, Option<JsonString<'_>>>(map, ".UID")?.unwrap_or_default().0;
        Ok(())
    }
}

// === impl RawBindArgs ===

impl RawBindArgs<'_> {
    /// The first invalid name, if any. Names become part of the API server's URLs.
    pub(super) fn problem(&self) -> Option<String> {
        let [name, namespace, uid, node] = BIND_FIELDS;
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
    const KEYS: &'static [&'static str] = &BIND_FIELDS;

    fn read<A: MapAccess<'de>>(&mut self, key: usize, map: &mut A) -> Result<(), A::Error> {
        let text = value::<_, Option<JsonString<'de>>>(map, BIND_FIELDS[key])?.unwrap_or_default().0;
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
