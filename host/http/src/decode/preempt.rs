//! `ExtenderPreemptionArgs`, as far as it must be typed.

use std::{borrow::Cow, collections::HashMap, fmt, marker::PhantomData};

use plimsoll_core::{CandidateQuery, Victims};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    args::JsonString,
    fold::{BoundedList, Field, at, check_length, value},
};

/// Reads the wrapper.
pub(super) struct PreemptArgsVisitor;

/// The wrapper's fields; null is none.
#[derive(Default)]
pub(super) struct RawPreemptArgs<'a> {
    pub(super) pod: Option<&'a RawValue>,
    pub(super) victims: Option<Candidates<'a, &'a RawValue>>,
    pub(super) meta_victims: Option<Candidates<'a, Uid<'a>>>,
}

/// Victims by node, in the order of the request.
pub(super) struct Candidates<'a, P>(Vec<(Cow<'a, str>, VictimList<P>)>);

/// A `MetaPod`.
pub(super) struct Uid<'a>(Cow<'a, str>);

/// `Victims` or `MetaVictims`.
struct VictimList<P> {
    pods: Vec<P>,
    pdb_violations: i64,
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

impl<'a> From<Uid<'a>> for Cow<'a, str> {
    fn from(uid: Uid<'a>) -> Self {
        uid.0
    }
}

impl<'de> DeserializeSeed<'de> for PreemptArgsVisitor {
    type Value = RawPreemptArgs<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PreemptArgsVisitor {
    type Value = RawPreemptArgs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with Pod and NodeNameToVictims or NodeNameToMetaVictims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut args = RawPreemptArgs::default();
        while let Some(field) = map.next_key_seed(Field(&["Pod", "NodeNameToVictims", "NodeNameToMetaVictims"]))? {
            match field {
                Some(0) => args.pod = value(&mut map, "Pod")?,
                Some(1) => args.victims = value(&mut map, "NodeNameToVictims")?,
                Some(2) => args.meta_victims = value(&mut map, "NodeNameToMetaVictims")?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(args)
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
            let list =
                map.next_value::<Option<VictimList<P>>>().map_err(|error| at(format_args!("[{node:?}]"), &error))?;
            check_length(candidates.len())?;
            candidates.push((node, list.unwrap_or_default()));
        }
        Ok(Candidates(candidates))
    }
}

impl<P> Default for VictimList<P> {
    fn default() -> Self {
        Self { pods: Vec::new(), pdb_violations: 0 }
    }
}

impl<'de, P: Deserialize<'de>> Deserialize<'de> for VictimList<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(VictimsVisitor(PhantomData))
    }
}

struct VictimsVisitor<P>(PhantomData<P>);

impl<'de, P: Deserialize<'de>> Visitor<'de> for VictimsVisitor<P> {
    type Value = VictimList<P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with Pods and NumPDBViolations")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = VictimList::default();
        while let Some(field) = map.next_key_seed(Field(&["Pods", "NumPDBViolations"]))? {
            match field {
                Some(0) => list.pods = value::<_, BoundedList<P>>(&mut map, ".Pods")?.0,
                Some(1) => list.pdb_violations = value::<_, Option<i64>>(&mut map, ".NumPDBViolations")?.unwrap_or(0),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(list)
    }
}

impl<'de> Deserialize<'de> for Uid<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UidVisitor)
    }
}

struct UidVisitor;

impl<'de> Visitor<'de> for UidVisitor {
    type Value = Uid<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with UID")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut uid = Cow::Borrowed("");
        while let Some(field) = map.next_key_seed(Field(&["UID"]))? {
            match field {
                Some(_) => {
                    uid =
                        value::<_, Option<JsonString<'_>>>(&mut map, ".UID")?.map_or(Cow::Borrowed(""), |name| name.0);
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Uid(uid))
    }
}
