//! A sidecar, the operator's configuration of one policy: from text to checked values.

mod raw;
mod resolve;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use plimsoll_core::{PolicyConfig, Verbs};
use plimsoll_yaml::{FieldError, Format};

use raw::RawSidecar;

/// Maximum bytes of a sidecar, as of a ConfigMap.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// Small limits: a sidecar is written by hand.
const FORMAT: Format = Format {
    max_nodes: 100_000,
    max_depth: 32,
    max_aliases: 100,
    max_replayed_events: 256,
    free_field: Some("settings"),
    empty: "the file is empty: expected at least one key, or '{}' for the defaults",
};

/// The settings of a sidecar, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sidecar {
    /// The module, if it is not the file with the policy's name.
    pub(crate) module: Option<ModulePath>,
    /// The only module that is accepted, `sha256:…`.
    pub(crate) digest: Option<Box<str>>,
    /// The settings for plimsoll.
    pub(crate) config: PolicyConfig,
    /// The settings for the policy, as JSON.
    pub(crate) settings: Arc<str>,
    /// Whether the operator gave a weight, which only scoring policies use.
    pub(crate) weighted: bool,
    /// Whether the operator gave a timeout; otherwise it is the default of the kind of module.
    pub(crate) has_timeout: bool,
    /// The verbs that a program is asked.
    pub(crate) stdio: Option<Verbs>,
    /// The sources of facts that the policy reads, by name.
    pub(crate) facts: Vec<FactUse>,
}

/// A module's file by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModulePath {
    pub(crate) name: Box<str>,
    /// Whether it is in the root while the policy is in a group.
    pub(crate) in_root: bool,
}

/// A source of facts that a policy reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactUse {
    /// The policy's name for it.
    pub(crate) name: Box<str>,
    /// The file in the sidecar's directory that it is; none: it is one of the gateway's, of the same name.
    pub(crate) file: Option<Box<str>>,
}

// === impl Sidecar ===

impl Sidecar {
    /// The files with facts that it names.
    pub(crate) fn fact_files(&self) -> impl Iterator<Item = &str> {
        self.facts.iter().filter_map(|used| used.file.as_deref())
    }

    /// Reads the text of a sidecar; `most_memory` bounds the memory that it may give its policy.
    pub(crate) fn parse(text: &str, most_memory: usize) -> Result<Self, FieldError> {
        FORMAT.read::<RawSidecar>(text).and_then(|raw| raw.resolve(most_memory))
    }
}

impl Default for Sidecar {
    fn default() -> Self {
        let (module, digest, config) = (None, None, PolicyConfig::default());
        let (weighted, has_timeout, stdio, facts) = (false, false, None, Vec::new());
        Self { module, digest, config, settings: Arc::from("null"), weighted, has_timeout, stdio, facts }
    }
}

/// The JSON Schema of a sidecar, for editors and linters.
pub fn sidecar_schema() -> serde_json::Value {
    schemars::schema_for!(RawSidecar).to_value()
}
