//! The sidecar as it stands in the file; editors show the doc comments.

use std::{collections::BTreeMap, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_saphyr::Spanned;

/// Says how plimsoll uses one policy. It lies beside the module: `gpu.yaml` for `gpu.wasm`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(title = "plimsoll policy")]
pub(crate) struct RawSidecar {
    /// The module's file in the same directory, or `../name.wasm` for one in the root. Default: the sidecar's name.
    #[schemars(with = "Option<String>")]
    pub(crate) module: Option<Spanned<String>>,
    /// Whether the policy's answers count. Default: enforce.
    pub(crate) mode: Option<RawMode>,
    /// Filters run in ascending order, then by name. Default: 100.
    pub(crate) order: Option<i32>,
    /// Share in the score; 0 takes it out. Default: 1.
    pub(crate) weight: Option<u32>,
    /// The effect of a fault of the policy on the decision. Default: fail for filter, preempt and bind, ignore for
    /// score and rank.
    pub(crate) on_error: Option<RawOnError>,
    /// Time of one request, all nodes together, such as `100ms` or `2s`; at most 60s. Default: 100ms, of a program
    /// on standard input 2s.
    #[schemars(with = "Option<String>")]
    pub(crate) timeout: Option<Spanned<String>>,
    /// Bytes of memory that the policy may use, as a Kubernetes quantity such as `64Mi`. Default: 64Mi.
    #[schemars(schema_with = "quantity_schema")]
    pub(crate) memory: Option<Spanned<String>>,
    /// Refuses any module but this one: `sha256:` and 64 hexadecimal digits.
    #[schemars(with = "Option<String>", extend("pattern" = "^sha256:[0-9a-f]{64}$"))]
    pub(crate) digest: Option<Spanned<String>>,
    /// The sources of facts that the policy reads: a list of their names, or a map from each name to its file. Default:
    /// none.
    pub(crate) facts: Option<RawFacts>,
    /// The effect of reading a fact that is not there. Default: default.
    pub(crate) absent: Option<RawAbsent>,
    /// Whether the policy's filter may count pods or read those on a node; if not, such a read is a fault. Default: if its
    /// module imports such a function.
    pub(crate) counts: Option<bool>,
    /// The part in decisions of a program that answers on standard output. Only for a module with `_start` and without
    /// verbs.
    pub(crate) stdio: Option<RawStdio>,
    /// Which pods the policy is asked about; all parts must hold. Default: every pod.
    #[serde(rename = "match")]
    pub(crate) matches: Option<RawMatch>,
    /// The policy's settings; it gets them as JSON and may refuse them.
    pub(crate) settings: Option<serde_json::Value>,
}

/// The part in decisions of a program that answers on standard output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stdio")]
pub(crate) struct RawStdio {
    /// The verbs that the program is started with as its first argument. Default: filter.
    #[schemars(with = "Option<Vec<RawStdioVerb>>", length(min = 1))]
    pub(crate) verbs: Option<Spanned<Vec<RawStdioVerb>>>,
}

/// A verb of a program.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "StdioVerb")]
pub(crate) enum RawStdioVerb {
    /// It answers with an `ExtenderFilterResult`.
    Filter,
    /// It answers with a `HostPriorityList`.
    Prioritize,
}

/// The sources of facts that a policy reads.
#[derive(Debug, JsonSchema)]
#[schemars(untagged, rename = "Facts")]
pub(crate) enum RawFacts {
    /// Sources of the gateway (`--facts`).
    Names(#[schemars(with = "Vec<String>")] Vec<Spanned<String>>),
    /// Sources by name; those without a file are of the gateway.
    Sources(
        #[schemars(with = "BTreeMap<String, Option<RawFactSource>>")] BTreeMap<String, Spanned<Option<RawFactSource>>>,
    ),
}

/// Not `untagged`, whose errors name neither the source nor its key.
impl<'de> Deserialize<'de> for RawFacts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FactsVisitor)
    }
}

struct FactsVisitor;

impl<'de> Visitor<'de> for FactsVisitor {
    type Value = RawFacts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of sources, such as [load], or a map, such as {prices: {file: prices.csv}}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<RawFacts, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(names)).map(RawFacts::Names)
    }

    fn visit_map<A: MapAccess<'de>>(self, sources: A) -> Result<RawFacts, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(sources)).map(RawFacts::Sources)
    }
}

/// One source of facts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FactSource")]
pub(crate) struct RawFactSource {
    /// A `.csv` file in the directory of the sidecar: on each line a key, a comma and a value.
    #[schemars(with = "Option<String>")]
    pub(crate) file: Option<Spanned<String>>,
}

/// The effect of reading a fact that is not there.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Absent")]
pub(crate) enum RawAbsent {
    /// The policy gets none, and decides by its default.
    Default,
    /// The decision is made without this policy.
    Ignore,
    /// The whole decision fails.
    Fail,
}

/// Which pods a policy is asked about; all parts that are given must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Match")]
pub(crate) struct RawMatch {
    /// The pod is in one of these namespaces.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    pub(crate) namespaces: Option<Spanned<Vec<Spanned<String>>>>,
    /// The pod is of one of these profiles of kube-scheduler, by its `spec.schedulerName`.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    pub(crate) scheduler_names: Option<Spanned<Vec<Spanned<String>>>>,
    /// The pod's labels fit this Kubernetes label selector.
    pub(crate) pod_selector: Option<RawSelector>,
    /// A container names one of these resources in its requests or limits.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    pub(crate) resources: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A Kubernetes label selector: all requirements must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "LabelSelector")]
pub(crate) struct RawSelector {
    /// Labels with exactly these values.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) match_labels: BTreeMap<String, Spanned<String>>,
    /// Requirements on labels.
    #[serde(default)]
    #[schemars(with = "Vec<RawRequirement>")]
    pub(crate) match_expressions: Vec<Spanned<RawRequirement>>,
}

/// One requirement on a label.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Requirement")]
pub(crate) struct RawRequirement {
    /// The label's key.
    #[schemars(with = "String")]
    pub(crate) key: Spanned<String>,
    /// The comparison with the label.
    pub(crate) operator: RawOperator,
    /// The values that the label is compared with: at least one for `In` and `NotIn`, none for `Exists` and
    /// `DoesNotExist`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) values: Vec<Spanned<String>>,
}

/// Whether a policy's answers count.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Mode")]
pub(crate) enum RawMode {
    /// Asked and obeyed.
    Enforce,
    /// Asked and recorded, never obeyed.
    Shadow,
    /// Loaded, never asked.
    Off,
}

/// The effect of a fault of a policy on the decision.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnError")]
pub(crate) enum RawOnError {
    /// The whole decision fails.
    Fail,
    /// The decision is made without this policy.
    Ignore,
}

/// A comparison with a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "Operator")]
pub(crate) enum RawOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

/// A quantity may be a bare number as well.
fn quantity_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "integer", "null"] })
}
