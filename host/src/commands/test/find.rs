//! Finds the policies to test, and their cases.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use plimsoll_cases::Case;
use plimsoll_directory::PolicyFiles;

use super::report::Skipped;
use crate::{args::TestArgs, text::count};

/// Directories of build tools; a module in one of them is tested if that directory is named.
const LEFT_OUT: [&str; 2] = ["target", "node_modules"];

/// Maximum bytes of a sidecar, as `serve` reads it.
const MAX_SIDECAR_BYTES: u64 = 1 << 20;

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
    let mut subjects = Vec::new();
    for file in &args.files {
        match file.extension().and_then(|ending| ending.to_str()) {
            _ if file.is_dir() => walk.add(file, false, 0)?,
            _ if !file.exists() => bail!("{}: there is no such file or directory", file.display()),
            Some("wasm" | "yaml" | "yml") => {
                let subject = Subject::of(file, false);
                if subject.files.is_err() && Case::read(file).is_ok() {
                    bail!("{} is a case: name its policy, and the case with --cases", file.display());
                }
                subjects.push(subject);
            }
            _ => bail!(
                "{}: expected a policy (.wasm, or .yaml with `cel`), a sidecar (.yaml) or a directory",
                file.display()
            ),
        }
    }
    subjects.extend(walk.modules.iter().map(|module| Subject::of(module, true)));
    subjects.extend(sidecars(&walk));
    let mut seen = BTreeSet::new();
    subjects.retain(|subject| seen.insert(subject.files.clone().map_err(|_| subject.file.clone())));
    let mut used = BTreeSet::new();
    match args.cases.as_deref() {
        Some(file) if file.is_file() => {
            drop_bystanders(&mut subjects);
            for subject in &mut subjects {
                subject.cases.push(file.to_owned());
            }
        }
        named => {
            if let Some(directory) = named {
                walk.add(directory, directory.file_name().is_some_and(|name| name == "cases"), 0)?;
            }
            used = take_cases(&mut subjects, named)?;
        }
    }
    drop_bystanders(&mut subjects);
    // A case that is named leaves no others out.
    let skipped = if args.cases.as_deref().is_some_and(Path::is_file) { vec![] } else { orphans(&walk, &used) };
    Ok(Found { subjects, skipped })
}

/// Sidecars with a rule, and those that name a module: several policies may share one.
fn sidecars(walk: &Walk) -> Vec<Subject> {
    // A sidecar with a module is beside it, or in a group next to it; of other YAML only the keys are looked at.
    let has_modules: BTreeSet<&Path> = walk.modules.iter().filter_map(|module| module.parent()).collect();
    let is_near = |file: &&PathBuf| file.ancestors().skip(1).take(2).any(|folder| has_modules.contains(folder));
    let is_own = |file: &&PathBuf| walk.modules.contains(&file.with_extension("wasm"));
    let may_be = |file: &&PathBuf| is_near(file) || has_rule(file);
    walk.yaml.iter().filter(may_be).filter(|file| !is_own(file)).map(|file| Subject::of(file, true)).collect()
}

/// Whether a YAML file has a rule in CEL, or was meant to have one.
fn has_rule(file: &PathBuf) -> bool {
    let text = file.metadata().is_ok_and(|found| found.len() <= MAX_SIDECAR_BYTES).then(|| fs::read_to_string(file));
    text.and_then(Result::ok).is_some_and(|text| text.lines().any(|line| line.starts_with("cel:")))
}

/// Gives each policy its cases, and returns the real paths of their directories.
fn take_cases(subjects: &mut [Subject], named: Option<&Path>) -> Result<BTreeSet<PathBuf>> {
    let usable: Vec<(PathBuf, String)> = subjects
        .iter()
        .filter(|subject| subject.files.is_ok())
        .map(|subject| (subject.folder(), subject.name()))
        .collect();
    // A build and what was deployed from it have one name, and the cases are for both.
    let is_only = |at: &Path| {
        let is_below = |folder: &Path| named.is_some() || at == Path::new(".") || folder.starts_with(at);
        let below = usable.iter().filter(|(folder, _)| is_below(folder)).map(|(_, name)| name);
        below.collect::<BTreeSet<_>>().len() == 1
    };
    let mut used = BTreeSet::new();
    for subject in subjects {
        let places = named.map_or_else(|| vec![subject.folder(), PathBuf::from(".")], |named| vec![named.to_owned()]);
        let mut taken = BTreeSet::new();
        let directories = |at: &PathBuf| {
            let is_only = subject.files.is_ok() && is_only(at);
            directories(at, &subject.name(), is_only, named.is_some())
        };
        for directory in places.iter().flat_map(directories).collect::<Vec<_>>() {
            let Ok(real) = directory.canonicalize() else { continue };
            if real.is_dir() && taken.insert(real.clone()) {
                subject.cases.extend(Case::files(&tidy(&directory))?);
                used.insert(real);
            }
        }
    }
    Ok(used)
}

/// The directories in `at` that may have cases of a policy; `is_only`: cases without a name are its own; `is_named`: `at`
/// itself may be the directory of cases.
fn directories(at: &Path, policy: &str, is_only: bool, is_named: bool) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = is_only.then(|| at.join("cases")).into_iter().collect();
    directories.extend((is_only && is_named).then(|| at.to_owned()));
    let is_cases = is_named && at.file_name().is_some_and(|name| name == "cases");
    for name in spellings(policy) {
        directories.extend([at.join(&name).join("cases"), at.join("cases").join(&name)]);
        directories.extend(is_cases.then(|| at.join(&name)));
    }
    directories
}

/// Drops the other files of a directory: YAML that is no sidecar, and modules that only serve others.
fn drop_bystanders(subjects: &mut Vec<Subject>) {
    let shared: BTreeSet<PathBuf> = subjects.iter().filter_map(Subject::shared_module).collect();
    subjects.retain(|subject| {
        let is_library = subject.files.as_ref().is_ok_and(|files| {
            files.sidecar.is_none() && files.rule().canonicalize().is_ok_and(|module| shared.contains(&module))
        });
        let is_yaml = subject.file.extension().is_some_and(|ending| ending != "wasm");
        let is_other = subject.files.is_err() && is_yaml && !has_rule(&subject.file);
        !subject.is_searched || !subject.cases.is_empty() || !(is_library || is_other)
    });
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
        let (file, cases) = (tidy(directory).display().to_string(), count(cases, "case"));
        Skipped { file, why: format!("there is no policy for {cases}") }
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
        let is_shared = files.rule().file_stem() != self.file.file_stem();
        files.rule().canonicalize().ok().filter(|_| is_shared)
    }
}
