//! The keys of a case file.

use std::{fmt, marker::PhantomData};

use plimsoll_core::{DeviceClass, KnownKeys, Namespace, Node, Pod};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed as _, Error, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};

use crate::{ProposedVictims, expect::ExpectYaml};

/// A case file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseYaml {
    pub(super) description: String,
    #[serde(default, deserialize_with = "present")]
    pub(super) settings: Option<Value>,
    #[serde(default)]
    pub(super) now: Time,
    #[serde(default = "nameless")]
    pub(super) pod: Spanned<Written<Pod>>,
    #[serde(default)]
    pub(super) nodes: Vec<Spanned<Written<Node>>>,
    #[serde(default)]
    pub(super) request: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) pods: PlacedPods,
    #[serde(default)]
    pub(super) namespaces: Vec<Spanned<Written<Namespace>>>,
    #[serde(default, rename = "deviceClasses")]
    pub(super) device_classes: Vec<Spanned<Written<DeviceClass>>>,
    #[serde(default)]
    pub(super) facts: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) candidates: Vec<Spanned<ProposedVictims>>,
    pub(super) expect: ExpectYaml,
}

/// Unix seconds.
#[derive(Default, Deserialize)]
#[serde(try_from = "TimeYaml")]
pub(super) struct Time(pub(super) u64);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected Unix seconds, or a time such as 2026-01-31T12:00:00Z")]
enum TimeYaml {
    Seconds(u64),
    Text(String),
}

/// The placed pods; none where the host has no view of them.
pub(super) struct PlacedPods(pub(super) Option<Vec<Spanned<Written<Pod>>>>);

/// An object whose keys are known.
pub(super) struct Written<K>(pub(super) Value, PhantomData<K>);

/// A kind of object that people write.
pub(super) trait Kind {
    /// Its name in the API.
    const NAME: &'static str;
}

impl Kind for Pod {
    const NAME: &'static str = "Pod";
}

impl Kind for Node {
    const NAME: &'static str = "Node";
}

impl Kind for Namespace {
    const NAME: &'static str = "Namespace";
}

impl Kind for DeviceClass {
    const NAME: &'static str = "DeviceClass";
}

impl<'de, K: Kind> Deserialize<'de> for Written<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        KnownKeys::of(K::NAME).deserialize(deserializer).map(|object| Self(object, PhantomData))
    }
}

/// The pod of a case that has none.
fn nameless() -> Spanned<Written<Pod>> {
    let pod = serde_json::json!({"metadata": {"name": "pod"}});
    Spanned::new(Written(pod, PhantomData), Location::UNKNOWN, Location::UNKNOWN)
}

/// `settings:` with nothing behind it is `null`, which is something other than no such key.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<TimeYaml> for Time {
    type Error = String;

    fn try_from(yaml: TimeYaml) -> Result<Self, String> {
        match yaml {
            TimeYaml::Seconds(seconds) => Ok(Self(seconds)),
            TimeYaml::Text(text) => match text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_second) {
                Ok(second) if second >= 0 => Ok(Self(second as u64)),
                _ => Err(format!("'{text}' is no time: expected Unix seconds, or such as 2026-01-31T12:00:00Z")),
            },
        }
    }
}

impl Default for PlacedPods {
    fn default() -> Self {
        Self(Some(vec![]))
    }
}

impl<'de> Deserialize<'de> for PlacedPods {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlacedPodsVisitor)
    }
}

/// Keeps the line of each pod, which a value that was read as a whole would not have.
struct PlacedPodsVisitor;

impl<'de> Visitor<'de> for PlacedPodsVisitor {
    type Value = PlacedPods;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of placed pods, or `unknown`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<PlacedPods, E> {
        match word {
            "unknown" => Ok(PlacedPods(None)),
            _ => Err(E::custom("expected a list of placed pods, or `unknown`")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PlacedPods, A::Error> {
        let mut pods = vec![];
        while let Some(pod) = list.next_element()? {
            pods.push(pod);
        }
        Ok(PlacedPods(Some(pods)))
    }
}
