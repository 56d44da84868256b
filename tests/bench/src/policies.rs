//! The modules that are measured, and directories of policies made of them.

use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

/// What `make policies` built.
#[derive(Debug)]
pub(crate) struct Modules {
    /// A filter that reads one label of each node.
    pub(crate) filter: Vec<u8>,
    /// A score that reads the images of each node.
    pub(crate) score: Vec<u8>,
    score_sidecar: String,
}

/// The settings of the filter: the namespace of the pod has a pool, others have theirs.
pub(crate) const FILTER_SETTINGS: &str =
    r#"{"label":"example.com/pool","pools":{"team-a":"team-a","team-b":"team-b"},"shared":["shared"]}"#;

/// What a sidecar says for itself here; the rest is as shipped.
const OWN_KEYS: [&str; 4] = ["module:", "order:", "timeout:", "mode:"];

// === impl Modules ===

impl Modules {
    /// Reads the modules from the directory that `make policies` fills.
    ///
    /// # Errors
    /// If one is missing; the text says what to do.
    pub(crate) fn find(directory: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = directory.join(name);
            std::fs::read(&path).with_context(|| format!("{} is missing: run `make policies`", path.display()))
        };
        let score_sidecar = String::from_utf8(read("warm-image.yaml").unwrap_or_default())?;
        Ok(Self { filter: read("tenant-pool.wasm")?, score: read("warm-image.wasm")?, score_sidecar })
    }

    /// A directory with this many filters and as many scores.
    pub(crate) fn lay_out(&self, policies: usize) -> Result<TempDir> {
        let directory = tempfile::tempdir()?;
        let file = |name: String| directory.path().join(name);
        for at in 0..policies {
            // Each with a file of its own, as an operator would have it; equal contents are compiled once.
            std::fs::write(file(format!("filter-{at}.wasm")), &self.filter)?;
            std::fs::write(file(format!("filter-{at}.yaml")), format!("timeout: 4s\nsettings: {FILTER_SETTINGS}\n"))?;
            std::fs::write(file(format!("score-{at}.wasm")), &self.score)?;
            std::fs::write(file(format!("score-{at}.yaml")), format!("timeout: 4s\n{}", self.shipped()))?;
        }
        Ok(directory)
    }

    fn shipped(&self) -> String {
        let is_own = |line: &&str| OWN_KEYS.iter().any(|key| line.starts_with(key));
        self.score_sidecar.lines().filter(|line| !is_own(line)).flat_map(|line| [line, "\n"]).collect()
    }
}
