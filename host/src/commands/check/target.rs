//! The targets of `plimsoll check`: the policies that file and directory names stand for, each once.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow, bail};
use plimsoll_directory::{ListedPolicy, PolicyFiles};

use crate::commands::source_folder;

/// One policy to check.
pub(super) struct Target {
    /// Its name in the report: as it was typed, or `DIR: GROUP/NAME`.
    pub(super) name: String,
    /// Its files, or why there are none.
    pub(super) files: Result<PolicyFiles>,
    /// Whether it is one of a directory: those have a line each.
    pub(super) is_listed: bool,
    /// Whether `serve` would ignore it.
    pub(super) is_ignored: bool,
}

/// The policies behind these names; a module and its sidecar that are both named are one policy.
pub(super) fn targets(names: &[PathBuf]) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_dir() {
            targets.extend(of_directory(name));
            continue;
        }
        let files = of_file(name);
        if files.as_ref().map_or(true, |files| seen.insert(files.clone())) {
            let name = name.display().to_string();
            targets.push(Target { name, files, is_listed: false, is_ignored: false });
        }
    }
    targets
}

/// The module and the sidecar that a file name stands for.
fn of_file(file: &Path) -> Result<PolicyFiles> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("wasm") => {
            let files = plimsoll_directory::policy_files(file)?;
            // Its sidecar may name another module, which is the one that `serve` runs.
            Ok(files.sidecar.as_deref().map_or(Ok(files.clone()), plimsoll_directory::policy_files)?)
        }
        Some("yaml" | "yml") => Ok(plimsoll_directory::policy_files(file)?),
        _ if file.symlink_metadata().is_err() => bail!("there is no such file or directory"),
        _ => bail!("expected a policy (.wasm, or .yaml with `cel`), a sidecar (.yaml), or a directory of them"),
    }
}

/// Every policy of a directory and of its groups, as `serve` would find them.
fn of_directory(directory: &Path) -> Vec<Target> {
    let shown = directory.display().to_string();
    let target = |name, files, is_ignored| Target { name, files, is_listed: true, is_ignored };
    if let Some(mistake) = source_folder::mistaken(directory) {
        return vec![target(shown, Err(anyhow!(mistake)), false)];
    }
    let mut targets = match plimsoll_directory::list_policies(directory) {
        Ok(policies) if policies.is_empty() => vec![target(shown.clone(), Err(anyhow!("it holds no policy")), false)],
        Ok(policies) => policies
            .into_iter()
            .map(|ListedPolicy { name, files }| target(format!("{shown}: {name}"), files.map_err(Into::into), false))
            .collect(),
        Err(error) => vec![target(shown.clone(), Err(error.into()), false)],
    };
    // A directory that cannot be listed was reported above.
    let ignored = plimsoll_directory::ignored_files(directory).unwrap_or_default();
    targets.extend(ignored.into_iter().map(|(name, why)| target(format!("{shown}: {name}"), Err(anyhow!(why)), true)));
    targets
}
