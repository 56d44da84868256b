//! The targets of `plimsoll check`: the policies that file and directory names stand for, each once.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail, ensure};

/// One policy to check.
pub(super) struct Target {
    /// How it is named in the report: as it was typed, or `DIR: GROUP/NAME`.
    pub(super) name: String,
    /// Its files, or why there are none.
    pub(super) files: Result<PolicyFiles>,
    /// Whether it is one of a directory: those have a line each.
    pub(super) is_listed: bool,
    /// Whether `serve` would ignore it.
    pub(super) is_ignored: bool,
}

/// The files of a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PolicyFiles {
    pub(super) module: PathBuf,
    pub(super) sidecar: Option<PathBuf>,
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
    match ending(file) {
        "wasm" => {
            let beside = ["yaml", "yml"].map(|ending| file.with_extension(ending));
            Ok(PolicyFiles { module: file.to_owned(), sidecar: beside.into_iter().find(|path| path.exists()) })
        }
        "yaml" | "yml" => {
            Ok(PolicyFiles { module: plimsoll_directory::module_of(file)?, sidecar: Some(file.to_owned()) })
        }
        _ => bail!("expected a policy module (.wasm), a sidecar (.yaml), or a directory of them"),
    }
}

/// Every policy of a directory and of its groups, as `serve` would find them.
fn of_directory(directory: &Path) -> Vec<Target> {
    let shown = directory.display();
    let read = || -> Result<Vec<Target>> {
        let mut policies = of_group(directory, "")?;
        for entry in visible(directory)?.into_iter().filter(|path| path.is_dir()) {
            let group = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            policies.extend(of_group(&entry, &format!("{group}/"))?);
        }
        ensure!(!policies.is_empty(), "it holds no policy");
        Ok(policies)
    };
    let named = |target: Target| Target { name: format!("{shown}: {}", target.name), ..target };
    let mut targets = match read() {
        Ok(policies) => policies.into_iter().map(named).collect(),
        Err(error) => {
            vec![Target { name: shown.to_string(), files: Err(error), is_listed: true, is_ignored: false }]
        }
    };
    // A directory that cannot be listed was reported above.
    let ignored = plimsoll_directory::ignored_files(directory).unwrap_or_default();
    let ignored = ignored.into_iter().map(|(name, why)| Target {
        name,
        files: Err(anyhow!(why)),
        is_listed: true,
        is_ignored: true,
    });
    targets.extend(ignored.map(named));
    targets
}

fn of_group(folder: &Path, prefix: &str) -> Result<Vec<Target>> {
    let files = visible(folder)?;
    let sidecars = || files.iter().filter(|path| matches!(ending(path), "yaml" | "yml"));
    let modules = files.iter().filter(|path| ending(path) == "wasm");
    // A module that sidecars name, and that has none of its own, is shared by them; it is no policy by itself.
    let named: BTreeSet<PathBuf> =
        sidecars().filter_map(|sidecar| plimsoll_directory::module_of(sidecar).ok()).collect();
    let alone = modules.filter(|module| !named.contains(*module));
    let mut policies: Vec<Target> = sidecars()
        .chain(alone)
        .map(|file| {
            let name = format!("{prefix}{}", file.file_stem().unwrap_or_default().to_string_lossy());
            Target { name, files: of_file(file), is_listed: true, is_ignored: false }
        })
        .collect();
    policies.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(policies)
}

/// The entries of a folder whose names do not begin with a dot, by name.
fn visible(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| !path.file_name().unwrap_or_default().to_string_lossy().starts_with('.'));
    paths.sort();
    Ok(paths)
}

fn ending(file: &Path) -> &str {
    file.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}
