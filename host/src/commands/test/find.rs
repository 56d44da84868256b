//! Finds the policies to test, and their cases.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use plimsoll_cases::Case;
use plimsoll_directory::PolicyFiles;

use super::report::Skipped;
use crate::{args::TestArgs, text::count};

/// Maximum number of policies that an error names.
const SHOWN_POLICIES: usize = 5;

/// Directories of build tools; a module in one of them is tested if that directory is named.
const LEFT_OUT: [&str; 2] = ["target", "node_modules"];

/// Maximum depth below the directory that is named.
const MAX_DEPTH: usize = 8;

/// A policy with the files of its cases.
pub(super) struct Subject {
    /// The file that has the policy's name.
    pub(super) file: PathBuf,
    /// Its files, or why they are refused.
    pub(super) files: Result<PolicyFiles, String>,
    pub(super) cases: Vec<PathBuf>,
    /// Whether a directory was searched for it.
    is_searched: bool,
}

/// All that is to be tested, and the files that are not.
pub(super) struct Found {
    pub(super) subjects: Vec<Subject>,
    pub(super) skipped: Vec<Skipped>,
}

/// The files of a directory and of those below it.
#[derive(Default)]
struct Walk {
    modules: BTreeSet<PathBuf>,
    /// YAML files that are no cases: some may be sidecars.
    yaml: BTreeSet<PathBuf>,
    /// Directories named `cases`, and those in them, that have YAML files.
    cases: BTreeSet<PathBuf>,
}

/// Finds policies and cases.
///
/// # Errors
/// If a file or directory that is named does not exist or cannot be read.
pub(super) fn find(args: &TestArgs) -> Result<Found> {
    let mut walk = Walk::default();
    let mut named = Vec::new();
    for file in &args.files {
        match file.extension().and_then(|ending| ending.to_str()) {
            _ if file.is_dir() => walk.add(file, false, 0)?,
            _ if !file.exists() => bail!("{}: there is no such file or directory", file.display()),
            Some("wasm" | "yaml" | "yml") => {
                let subject = Subject::of(file, false);
                if subject.files.is_err() && Case::read(file).is_ok() {
                    bail!("{} is a case: name its module, and the case with --cases", file.display());
                }
                named.push(subject);
            }
            _ => bail!("{}: expected a policy module (.wasm), a sidecar (.yaml) or a directory", file.display()),
        }
    }
    let mut subjects = named;
    subjects.extend(walk.modules.iter().map(|module| Subject::of(module, true)));
    subjects.extend(sidecars(&walk));
    let mut seen = BTreeSet::new();
    subjects.retain(|subject| seen.insert(subject.files.clone().map_err(|_| subject.file.clone())));
    let mut used = BTreeSet::new();
    match args.cases.as_deref() {
        Some(file) if file.is_file() => {
            drop_bystanders(&mut subjects);
            take_file(&mut subjects, file)?;
        }
        Some(directory) => {
            walk.add(directory, directory.file_name().is_some_and(|name| name == "cases"), 0)?;
            used.extend(take_cases(&mut subjects, Some(directory))?);
        }
        None => used.extend(take_cases(&mut subjects, None)?),
    }
    drop_bystanders(&mut subjects);
    Ok(Found { subjects, skipped: orphans(&walk, &used) })
}

/// Sidecars that name a module: several policies may share one.
fn sidecars(walk: &Walk) -> Vec<Subject> {
    // A sidecar is beside its module, or in a group next to it; other YAML is not looked at.
    let has_modules: BTreeSet<&Path> = walk.modules.iter().filter_map(|module| module.parent()).collect();
    let is_near = |file: &&PathBuf| file.ancestors().skip(1).take(2).any(|folder| has_modules.contains(folder));
    let is_own = |file: &&PathBuf| walk.modules.contains(&file.with_extension("wasm"));
    let near = walk.yaml.iter().filter(is_near).filter(|file| !is_own(file));
    near.map(|file| Subject::of(file, true)).collect()
}

/// The cases of one file, for the one policy.
fn take_file(subjects: &mut [Subject], file: &Path) -> Result<()> {
    match subjects {
        [only] => only.cases.push(file.to_owned()),
        [] => bail!("--cases {}: no policy was found for it: name its module", file.display()),
        several => {
            let names: Vec<String> = several.iter().take(SHOWN_POLICIES).map(Subject::name).collect();
            let more = if several.len() > SHOWN_POLICIES { ", …" } else { "" };
            bail!(
                "--cases {}: a single file is for one policy, and {} were found ({}{more}): name the module or the sidecar of one",
                file.display(),
                several.len(),
                names.join(", ")
            )
        }
    }
    Ok(())
}

/// Gives each policy its cases, and returns the real paths of their directories.
fn take_cases(subjects: &mut [Subject], named: Option<&Path>) -> Result<BTreeSet<PathBuf>> {
    let usable = subjects.iter().filter(|subject| subject.files.is_ok());
    let (policies, folders): (BTreeSet<_>, Vec<_>) = usable.map(|subject| (subject.name(), subject.folder())).unzip();
    let mut used = BTreeSet::new();
    for subject in subjects {
        let is_usable = subject.files.is_ok();
        let name = subject.name();
        let folder = subject.folder();
        let is_only_in_folder = is_usable && folders.iter().filter(|other| **other == folder).count() == 1;
        // A build and what was deployed from it have one name, and the cases are for both.
        let is_only_in_run = is_usable && policies.len() == 1;
        let directories = if let Some(directory) = named {
            let mut places = places(directory, &name, is_only_in_run);
            if directory.file_name().is_some_and(|folder| folder == "cases") {
                places.extend(spellings(&name).map(|name| directory.join(name)));
            }
            places.extend(is_only_in_run.then(|| directory.to_owned()));
            places
        } else {
            let mut places = places(&folder, &name, is_only_in_folder);
            places.extend(self::places(Path::new("."), &name, is_only_in_run));
            places
        };
        let mut taken = BTreeSet::new();
        for directory in directories {
            let Ok(real) = directory.canonicalize() else { continue };
            if real.is_dir() && taken.insert(real.clone()) {
                subject.cases.extend(Case::files(&tidy(&directory))?);
                used.insert(real);
            }
        }
    }
    Ok(used)
}

/// Drops the other files of a directory: YAML that is no sidecar, and modules that only serve others.
fn drop_bystanders(subjects: &mut Vec<Subject>) {
    let shared: BTreeSet<PathBuf> = subjects.iter().filter_map(Subject::shared_module).collect();
    subjects.retain(|subject| {
        let is_library = subject.files.as_ref().is_ok_and(|files| {
            files.sidecar.is_none() && files.module.canonicalize().is_ok_and(|module| shared.contains(&module))
        });
        let is_other = subject.files.is_err() && subject.file.extension().is_some_and(|ending| ending != "wasm");
        !subject.is_searched || !subject.cases.is_empty() || !(is_library || is_other)
    });
}

/// The directories in `at` that may have cases of a policy; `is_only`: cases without a name are its own.
fn places(at: &Path, policy: &str, is_only: bool) -> Vec<PathBuf> {
    let named = spellings(policy).flat_map(|name| [at.join(&name).join("cases"), at.join("cases").join(&name)]);
    named.chain(is_only.then(|| at.join("cases"))).collect()
}

/// Cargo writes the module of the package `a-b` as `a_b.wasm`.
fn spellings(name: &str) -> impl Iterator<Item = String> + use<> {
    BTreeSet::from([name.to_owned(), name.replace('_', "-"), name.replace('-', "_")]).into_iter()
}

/// Directories of cases that belong to no policy.
fn orphans(walk: &Walk, used: &BTreeSet<PathBuf>) -> Vec<Skipped> {
    let is_unused = |directory: &&PathBuf| directory.canonicalize().is_ok_and(|real| !used.contains(&real));
    let skipped = |directory: &PathBuf| {
        let cases = Case::files(directory).map_or(0, |files| files.len());
        let (file, cases) = (tidy(directory), count(cases, "case"));
        Skipped { file, why: format!("there is no module for {cases}") }
    };
    walk.cases.iter().filter(is_unused).map(skipped).collect()
}

/// A path without `./`, as a user would write it.
fn tidy(path: &Path) -> PathBuf {
    path.strip_prefix(".").map_or_else(|_| path.to_owned(), ToOwned::to_owned)
}

// === impl Walk ===

impl Walk {
    /// Adds a directory; `is_cases`: all YAML files in it are cases.
    ///
    /// # Errors
    /// If it cannot be listed.
    fn add(&mut self, directory: &Path, is_cases: bool, depth: usize) -> Result<()> {
        let listed = directory.read_dir().with_context(|| format!("{} cannot be read", directory.display()))?;
        for entry in listed.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            // Of a link to a directory, the type is that of the link: it may lead back here.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // A directory below that cannot be read is left out, as one of another user.
                if !LEFT_OUT.iter().any(|left_out| name == *left_out) && depth < MAX_DEPTH && path.read_dir().is_ok() {
                    self.add(&path, is_cases || name == "cases", depth + 1)?;
                }
                continue;
            }
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("yaml" | "yml") if is_cases => drop(self.cases.insert(directory.to_owned())),
                Some("yaml" | "yml") => drop(self.yaml.insert(path)),
                Some("wasm") if !is_cases => drop(self.modules.insert(path)),
                _ => {}
            }
        }
        Ok(())
    }
}

// === impl Subject ===

impl Subject {
    fn of(file: &Path, is_searched: bool) -> Self {
        let file = tidy(file);
        let files = plimsoll_directory::policy_files(&file).map_err(|error| error.to_string());
        Self { file, files, cases: Vec::new(), is_searched }
    }

    fn name(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn folder(&self) -> PathBuf {
        match self.file.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    /// The module, if it has another name than the policy.
    fn shared_module(&self) -> Option<PathBuf> {
        let files = self.files.as_ref().ok()?;
        let is_shared = files.module.file_stem() != self.file.file_stem();
        files.module.canonicalize().ok().filter(|_| is_shared)
    }
}
