//! `ExtenderPreemptionArgs`, as far as it must be typed.

use std::{borrow::Cow, collections::HashMap, fmt, marker::PhantomData};

use plimsoll_core::{CandidateQuery, Victims};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    args::JsonString,
    fold::{BoundedList, Fields, Object, at, check_length, value},
};

/// The wrapper's fields; null is none.
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
