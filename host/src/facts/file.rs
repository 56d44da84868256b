//! The facts file of the operator.

use std::path::{self, Component, Path, PathBuf};

use anyhow::{Result, ensure};
use plimsoll_facts::FactsConfig;

/// The facts file, with its content at the start.
pub(crate) struct FactsFile {
    pub(super) path: PathBuf,
    /// The policies directory, outside of which it must be.
    policies: PathBuf,
    pub(super) text: Vec<u8>,
    pub(super) config: FactsConfig,
}

// === impl FactsFile ===

impl FactsFile {
    /// Reads the facts file.
    ///
    /// # Errors
    /// If it is bad, or lies in the policies directory.
    pub(crate) fn read(path: PathBuf, policies: &Path) -> Result<Self> {
        let text = FactsConfig::read_text(&path)?;
        let config = parse_outside_policies(&path, policies, &text)?;
        Ok(Self { path, policies: policies.to_owned(), text, config })
    }

    /// Its text now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn text_now(&self) -> Result<Vec<u8>> {
        Ok(FactsConfig::read_text(&self.path)?)
    }

    /// Parses the text that the file has now.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(super) fn config_of(&self, text: &[u8]) -> Result<FactsConfig> {
        parse_outside_policies(&self.path, &self.policies, text)
    }
}

/// Parses the text and checks that the facts file and all files it names lie outside of the policies directory: a person
/// who may write policies must not declare sources. The parent is checked too, because relative paths are resolved in the
/// directory of a link, not of its target.
fn parse_outside_policies(path: &Path, policies: &Path, text: &[u8]) -> Result<FactsConfig> {
    let config = FactsConfig::from_text(path, text)?;
    let is_inside = |path: &Path| resolved(path).starts_with(resolved(policies));
    for path in config.files().chain([path]) {
        ensure!(
            !is_inside(path) && !path.parent().is_some_and(is_inside),
            "{} is in the policies directory: expected the facts file and its files outside of it, since its sources are the operator's",
            path.display()
        );
    }
    Ok(config)
}

/// The path without links, as far as it exists: the rest may be made later.
fn resolved(path: &Path) -> PathBuf {
    let path = path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.components().fold(PathBuf::new(), |mut resolved, part| {
        if part == Component::ParentDir {
            resolved.pop();
        } else {
            resolved.push(part);
        }
        resolved.canonicalize().unwrap_or(resolved)
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_that_could_be_made_in_the_policies_directory_later_is_refused() {
        let directory = plimsoll_harness::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("real")).unwrap();
        symlink(at("real"), at("policies")).unwrap();
        let refusal = |file: &str| {
            let text = format!("racks: {{file: {{path: {file}}}}}\n");
            let checked = parse_outside_policies(&at("facts.yaml"), &at("policies"), text.as_bytes());
            checked.err().map(|error| error.to_string())
        };
        for inside in ["policies/x.csv", "policies/sub/x.csv", "real/sub/x.csv", "none/../policies/x.csv"] {
            assert!(refusal(inside).is_some_and(|error| error.contains("is in the policies directory")), "{inside}");
        }
        for outside in ["x.csv", "none/x.csv", "policies/../x.csv"] {
            assert_eq!(refusal(outside), None, "{outside}");
        }
    }
}
