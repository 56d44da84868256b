//! What the host passes as the policy's settings.

use serde::Deserialize;

use crate::json::Json;

/// The settings: the block `cel` of the sidecar, and what else of it expressions may name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) cel: Rules,
    /// The sidecar's own `settings`.
    #[serde(default, rename = "settings")]
    pub(crate) own: Json,
    /// The sources of facts that the sidecar names.
    #[serde(default)]
    pub(crate) facts: Vec<String>,
    /// Whether the host asks for what is known of the rules, in place of taking them.
    #[serde(default)]
    pub(crate) describe: bool,
}

/// The block `cel`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    #[serde(default)]
    pub(crate) variables: Vec<Variable>,
    #[serde(default)]
    pub(crate) filter: Vec<Condition>,
    pub(crate) score: Option<String>,
    /// Whether the filter is asked again as the pod is bound.
    #[serde(default)]
    pub(crate) bind: bool,
}

/// An expression that others name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) expression: String,
}

/// What a node must fulfil.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Condition {
    pub(crate) expression: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<String>,
    #[serde(default)]
    pub(crate) unresolvable: bool,
}
