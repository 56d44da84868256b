//! The policies of a directory or of a file, before anything is compiled: for commands that check files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{
    DirectoryError,
    config::ReadLimits,
    refusal::FileRefusal,
    scan::{File, PolicyId, Scan, Sources, name_problem, two_sidecars},
    sidecar::Sidecar,
    source::{self, no_module, parse_sidecar, read_sidecar},
};

/// A policy of a directory, as the gateway would find it.
#[derive(Debug)]
pub struct ListedPolicy {
    /// `NAME` or `GROUP/NAME`; the name of the entry if it cannot be a policy or a group.
    pub name: String,
    /// Its files, or why they are refused.
    pub files: Result<PolicyFiles, DirectoryError>,
}

/// The files of a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyFiles {
    /// The module that it runs.
    pub module: PathBuf,
    /// Its sidecar, if there is one.
    pub sidecar: Option<PathBuf>,
}

/// Lists the policies of a directory and then of its groups, by name; modules that only serve other policies are left out.
///
/// # Errors
/// If the directory cannot be listed, or has too many files.
pub fn list_policies(root: &Path) -> Result<Vec<ListedPolicy>, DirectoryError> {
    let scan = Scan::take(root)?;
    let mut libraries: BTreeSet<File> = BTreeSet::new();
    let mut policies = Vec::new();
    for (id, sources) in scan.policies() {
        let resolved = resolve(root, &sources);
        if let Ok((parsed, module)) = &resolved
            && parsed.module.is_some()
        {
            libraries.insert(module.clone());
        }
        policies.push((id, sources, resolved));
    }
    policies.retain(|(_, sources, _)| {
        sources.sidecar.is_some() || sources.module.as_ref().is_none_or(|module| !libraries.contains(module))
    });
    let listed = policies.into_iter().map(|(id, sources, resolved)| {
        let sidecar = sources.sidecar.map(|file| file.path(root));
        let files = resolved.map(|(_, module)| PolicyFiles { module: module.path(root), sidecar });
        (id, files.map_err(refused))
    });
    let problems = scan.problems.iter().map(|(id, text)| (id.clone(), Err(DirectoryError::Refused(text.clone()))));
    let mut all: Vec<(PolicyId, Result<PolicyFiles, DirectoryError>)> = listed.chain(problems).collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all.into_iter().map(|(id, files)| ListedPolicy { name: id.to_string(), files }).collect())
}

/// The files of the policy that a module or a sidecar belongs to.
///
/// # Errors
/// If the name is no name for a policy, there are two sidecars, or the sidecar is refused or has no module.
pub fn policy_files(file: &Path) -> Result<PolicyFiles, DirectoryError> {
    if let Some(problem) = name_problem(&file.file_stem().unwrap_or_default().to_string_lossy()) {
        return Err(DirectoryError::Refused(problem));
    }
    let beside = ["yaml", "yml"].map(|ending| Some(file.with_extension(ending)).filter(|path| path.exists()));
    let sidecar = match beside {
        [Some(one), Some(other)] => {
            let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
            return Err(DirectoryError::Refused(two_sidecars(name(&one), name(&other))));
        }
        [one, other] => one.or(other),
    };
    if file.extension().is_some_and(|ending| ending == "wasm") {
        return Ok(PolicyFiles { module: file.to_owned(), sidecar });
    }
    let module = module_of_sidecar(file).map_err(refused)?;
    Ok(PolicyFiles { module, sidecar: Some(file.to_owned()) })
}

/// The sidecar of a policy, parsed, and its module.
fn resolve(root: &Path, sources: &Sources) -> Result<(Sidecar, File), FileRefusal> {
    if let Some(problem) = &sources.problem {
        return Err(FileRefusal::new(problem));
    }
    let path = sources.sidecar.as_ref().map(|file| file.path(root));
    // The user of a command may read the file that a link leads to, so errors quote it.
    let text = path.as_deref().map(|path| read_sidecar(None, path)).transpose()?;
    let parsed = parse_sidecar(path.as_deref(), text.as_ref(), &ReadLimits::default())?;
    let module = source::module_of(sources, &parsed, path.as_deref())?;
    Ok((parsed, module))
}

/// The module of a sidecar that may be in a group or in the root.
fn module_of_sidecar(sidecar: &Path) -> Result<PathBuf, FileRefusal> {
    let text = read_sidecar(None, sidecar)?;
    let parsed = parse_sidecar(Some(sidecar), Some(&text), &ReadLimits::default())?;
    let Some(named) = parsed.module else {
        let module = sidecar.with_extension("wasm");
        return if module.symlink_metadata().is_ok() { Ok(module) } else { Err(no_module(sidecar)) };
    };
    let folder = sidecar.parent().unwrap_or(Path::new(""));
    let folder = if named.in_root { folder.join("..") } else { folder.to_owned() };
    Ok(folder.join(&*named.name))
}

fn refused(refusal: FileRefusal) -> DirectoryError {
    DirectoryError::Refused(refusal.text)
}
