//! The policies of a directory or of a file, before anything is compiled: for commands that check files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use plimsoll_core::Module;

use crate::{
    DirectoryConfig, DirectoryError,
    content::{FileRefusal, SidecarFile, read_module},
    scan::{File, PolicyId, Scan, Sources, name_problem, two_sidecars},
    source::{Source, cel_interpreter},
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
    /// Where its rule is.
    pub source: Source,
    /// Its sidecar, if there is one.
    pub sidecar: Option<PathBuf>,
}

/// Lists the policies of a directory and then of its groups, by name; modules that only serve other policies are left out.
///
/// # Errors
/// If the directory cannot be listed, or has too many files.
pub fn list_policies(root: &Path) -> Result<Vec<ListedPolicy>, DirectoryError> {
    let scan = Scan::take(root)?;
    let config = DirectoryConfig::new(root);
    let read = |(id, sources): (PolicyId, Sources)| {
        let sidecar = SidecarFile::read(&config, &sources);
        (id, sources, sidecar)
    };
    let policies: Vec<(PolicyId, Sources, Result<SidecarFile, FileRefusal>)> =
        scan.policies().into_iter().map(read).collect();
    let named = policies.iter().filter_map(|(.., sidecar)| sidecar.as_ref().ok()?.named_module.clone());
    let libraries: BTreeSet<File> = named.collect();
    let mut all: Vec<(PolicyId, Result<PolicyFiles, FileRefusal>)> = Vec::new();
    for (id, Sources { module, sidecar: file, .. }, sidecar) in policies {
        if file.is_none() && module.as_ref().is_some_and(|module| libraries.contains(module)) {
            continue;
        }
        let path = file.map(|file| file.path(root));
        let files = sidecar.and_then(|sidecar| {
            let module = sidecar.named_module.clone().or(module);
            let source = sidecar.source(module.map(|module| module.path(root)))?;
            Ok(PolicyFiles { source, sidecar: path })
        });
        all.push((id, files));
    }
    all.extend(scan.problems.iter().map(|(id, text)| (id.clone(), Err(FileRefusal::new(text)))));
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all
        .into_iter()
        .map(|(id, files)| ListedPolicy { name: id.to_string(), files: files.map_err(refused) })
        .collect())
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
        return Ok(PolicyFiles { source: Source::Module(file.to_owned()), sidecar });
    }
    let source = source_of(file).map_err(refused)?;
    Ok(PolicyFiles { source, sidecar: Some(file.to_owned()) })
}

/// Where the rule of a sidecar is, which may be in a group or in the root.
fn source_of(sidecar: &Path) -> Result<Source, FileRefusal> {
    let read = SidecarFile::at(Some(sidecar), &DirectoryConfig::new(""))?;
    let Some(named) = &read.sidecar.module else {
        let module = sidecar.with_extension("wasm");
        return read.source(module.symlink_metadata().is_ok().then_some(module));
    };
    let folder = sidecar.parent().unwrap_or(Path::new(""));
    let folder = if named.in_root { folder.join("..") } else { folder.to_owned() };
    Ok(Source::Module(folder.join(&*named.name)))
}

// === impl PolicyFiles ===

impl PolicyFiles {
    /// The file with the rule.
    pub fn rule(&self) -> &Path {
        match (&self.source, &self.sidecar) {
            (Source::Module(module), _) => module,
            (Source::Cel, sidecar) => sidecar.as_deref().unwrap_or(Path::new("")),
        }
    }

    /// Reads the module that runs the rule.
    ///
    /// # Errors
    /// If it is no regular file, larger than a module may be, or cannot be read.
    pub fn module(&self) -> Result<Module, DirectoryError> {
        match &self.source {
            Source::Module(path) => read_module(path, &DirectoryConfig::new("")).map_err(refused),
            Source::Cel => Ok(cel_interpreter()),
        }
    }
}

fn refused(refusal: FileRefusal) -> DirectoryError {
    DirectoryError::Refused(refusal.text)
}
