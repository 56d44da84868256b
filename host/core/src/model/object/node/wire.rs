//! A node as the API writes it.

use std::borrow::Cow;

use serde::Deserialize;

use super::super::{Entries, Quantities, metadata::MetadataJson};

#[derive(Deserialize)]
pub(super) struct NodeJson<'a> {
    #[serde(borrow)]
    pub(super) metadata: MetadataJson<'a>,
    pub(super) spec: Option<SpecJson>,
    #[serde(borrow)]
    pub(super) status: Option<StatusJson<'a>>,
}

#[derive(Deserialize, Default)]
pub(super) struct SpecJson {
    pub(super) taints: Option<Box<[Taint]>>,
    pub(super) unschedulable: Option<bool>,
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Taint {
    /// The taint's key.
    pub key: Box<str>,
    /// Its value; empty if it has none.
    #[serde(default)]
    pub value: Box<str>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Box<str>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct StatusJson<'a> {
    pub(super) allocatable: Quantities,
    pub(super) capacity: Quantities,
    #[serde(borrow)]
    pub(super) conditions: Option<Vec<Option<ConditionJson<'a>>>>,
    #[serde(borrow)]
    pub(super) addresses: Option<Vec<Option<AddressJson<'a>>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AddressJson<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ConditionJson<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
}

/// Conditions as a map; one that does not say its type or its status is left out.
pub(super) fn statuses(conditions: Vec<Option<ConditionJson<'_>>>) -> Entries {
    let complete = |condition: &ConditionJson<'_>| !condition.r#type.is_empty() && !condition.status.is_empty();
    conditions.into_iter().flatten().filter(complete).map(|condition| (condition.r#type, condition.status)).collect()
}

/// Addresses, each once, without those that are the name.
pub(super) fn other_names(addresses: Vec<Option<AddressJson<'_>>>, name: &str) -> Box<[Box<str>]> {
    let mut others: Vec<Box<str>> = Vec::new();
    for AddressJson { address } in addresses.into_iter().flatten() {
        let is_known = address.is_empty() || address == name || others.iter().any(|known| **known == *address);
        if !is_known {
            others.push(address.into());
        }
    }
    others.into()
}
