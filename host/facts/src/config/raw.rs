//! The facts file as serde reads it, before any check.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Spanned;

/// Sources by name.
pub(super) type RawFile = BTreeMap<String, Spanned<RawSource>>;

/// One source: one of the kinds, and its bounds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawSource {
    pub(super) prometheus: Option<RawPrometheus>,
    pub(super) http: Option<RawHttp>,
    pub(super) config_map: Option<RawConfigMap>,
    pub(super) file: Option<RawFileSource>,
    pub(super) max_age: Option<Spanned<String>>,
    pub(super) round: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawPrometheus {
    pub(super) url: Spanned<String>,
    pub(super) query: Spanned<String>,
    /// The label with a node's name or address.
    pub(super) node: Option<Spanned<String>>,
    /// The label with the key of a fact.
    pub(super) key: Option<Spanned<String>>,
    pub(super) every: Option<Spanned<String>>,
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) bearer_token_file: Option<Spanned<String>>,
    pub(super) ca_file: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawHttp {
    pub(super) url: Spanned<String>,
    pub(super) every: Option<Spanned<String>>,
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) bearer_token_file: Option<Spanned<String>>,
    pub(super) ca_file: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawConfigMap {
    pub(super) namespace: Spanned<String>,
    pub(super) name: Spanned<String>,
    pub(super) every: Option<Spanned<String>>,
    pub(super) timeout: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawFileSource {
    pub(super) path: Spanned<String>,
    pub(super) every: Option<Spanned<String>>,
}
