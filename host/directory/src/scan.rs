//! A scan of the directory: groups and files with their stamps, unread.

mod names;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::Path,
    sync::Arc,
};

use plimsoll_core::escaped;
use plimsoll_system::FileStamp;

pub(crate) use self::names::{File, PolicyId, name_problem};
use self::names::{FileKind, MAX_NAME_BYTES, is_group_name};

use crate::DirectoryError;

/// Maximum policy files (modules, sidecars and their facts) of a directory.
const MAX_FILES: usize = 2_000;

/// The endings of policy files.
const ENDINGS: [&str; 4] = ["wasm", "yaml", "yml", "csv"];

/// Maximum ignored files that are reported.
const MAX_IGNORED: usize = 100;

/// Why files that look like policies are ignored.
const WRONG_CASE: &str = "the ending must be lower-case: expected .wasm, .yaml or .yml";
const TOO_DEEP: &str =
    "it is a directory in a group: expected policies in the directory itself or in its sub-directories";

/// The files of a policy, as far as file names tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sources {
    /// The module with the policy's name; a sidecar may name another.
    pub(crate) module: Option<File>,
    pub(crate) sidecar: Option<File>,
    /// Why the names do not form a policy.
    pub(crate) problem: Option<String>,
}

/// The content of the directory at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Scan {
    /// The root and every group.
    pub(crate) groups: BTreeSet<Arc<str>>,
    pub(crate) files: BTreeMap<File, FileStamp>,
    /// Problems that are found without reading any file.
    pub(crate) problems: BTreeMap<PolicyId, String>,
    /// Groups that cannot be listed; their policies stay in force.
    pub(crate) unreadable: BTreeSet<Arc<str>>,
    /// Files and directories that look like policies and are ignored: their paths below the root, and why.
    pub(crate) ignored: BTreeMap<String, &'static str>,
}

// === impl Scan ===

impl Scan {
    /// Lists the directory and its sub-directories.
    pub(crate) fn take(root: &Path) -> Result<Self, DirectoryError> {
        let mut scan = Self::default();
        let directories = scan.list(root, &Arc::from("")).map_err(|error| scan_error(root, error))?;
        for name in directories {
            if !is_group_name(&name) {
                scan.note_ill_named(root, &name);
                continue;
            }
            let group = Arc::from(name);
            match scan.list(&root.join(&*group), &group) {
                Ok(_) => {}
                // Removed since the root was listed.
                Err(ListError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(ListError::TooMany) => return Err(scan_error(root, ListError::TooMany)),
                Err(ListError::Io(error)) => {
                    let text = format!("{} cannot be read: {error}", root.join(&*group).display());
                    scan.note(PolicyId::whole(&group), &text);
                    scan.unreadable.insert(Arc::clone(&group));
                    scan.groups.insert(group);
                }
            }
        }
        Ok(scan)
    }

    /// As this scan, with the files of its policies as they are now.
    ///
    /// For a directory that holds too many files to be listed: changes of known policies, `mode: off` above all, count.
    pub(crate) fn again(&self, root: &Path, error: &DirectoryError) -> Self {
        let (groups, unreadable) = (self.groups.clone(), self.unreadable.clone());
        let (problems, ignored) = (self.problems.clone(), self.ignored.clone());
        let mut scan = Self { groups, unreadable, problems, ignored, files: BTreeMap::new() };
        let policies: BTreeSet<_> = self.files.keys().filter_map(|file| Some((&file.group, file.parts()?.0))).collect();
        for (group, stem) in policies {
            for ending in ENDINGS {
                let file = File { group: Arc::clone(group), name: Arc::from(format!("{stem}.{ending}")) };
                let path = file.path(root);
                let stamp = match path.symlink_metadata() {
                    Ok(_) if path.is_dir() => None,
                    Ok(_) => Some(FileStamp::of(&path)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    // It may be there.
                    Err(_) => self.files.get(&file).copied(),
                };
                scan.files.extend(stamp.map(|stamp| (file, stamp)));
            }
        }
        scan.note(PolicyId::whole(&Arc::from("")), &error.to_string());
        scan
    }

    /// The policies, by name.
    pub(crate) fn policies(&self) -> BTreeMap<PolicyId, Sources> {
        let mut policies: BTreeMap<PolicyId, Sources> = BTreeMap::new();
        for file in self.files.keys() {
            let Some((stem, kind)) = file.parts().filter(|(_, kind)| *kind != FileKind::Facts) else { continue };
            let sources = policies.entry(PolicyId::of(&file.group, stem)).or_default();
            if let Some(problem) = name_problem(stem) {
                sources.problem = Some(problem);
            }
            match (kind, &sources.sidecar) {
                (FileKind::Facts, _) => {}
                (FileKind::Module, _) => sources.module = Some(file.clone()),
                (FileKind::Sidecar, None) => sources.sidecar = Some(file.clone()),
                (FileKind::Sidecar, Some(other)) => {
                    sources.problem = Some(two_sidecars(other, file));
                }
            }
        }
        policies
    }

    /// Adds the policy files of one directory; returns the names of its subdirectories.
    fn list(&mut self, directory: &Path, group: &Arc<str>) -> Result<Vec<String>, ListError> {
        let mut directories = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let Some(name) = visible_name(&entry) else {
                self.note_unreadable_name(&entry, group);
                continue;
            };
            let path = entry.path();
            if FileKind::of(&name).is_some() {
                let stamp = FileStamp::of(&path);
                if path.is_dir() {
                    continue;
                }
                self.files.insert(File { group: Arc::clone(group), name: Arc::from(name) }, stamp);
            } else if FileKind::is_policy(&name.to_ascii_lowercase()) && !path.is_dir() {
                self.ignore(group, &name, WRONG_CASE);
            } else if !group.is_empty() {
                if self.ignored.len() < MAX_IGNORED && !is_link(&entry) && path.is_dir() && has_policies(&path) {
                    self.ignore(group, &name, TOO_DEEP);
                }
            } else if path.is_dir() {
                if leads_out(directory, &entry) {
                    self.note_link(&path, &name);
                } else {
                    directories.push(name);
                }
            }
            if self.files.len() > MAX_FILES || directories.len() > MAX_FILES {
                return Err(ListError::TooMany);
            }
        }
        self.groups.insert(Arc::clone(group));
        directories.sort();
        Ok(directories)
    }

    fn ignore(&mut self, group: &Arc<str>, name: &str, why: &'static str) {
        if self.ignored.len() < MAX_IGNORED {
            let path = File { group: Arc::clone(group), name: Arc::from(name) }.to_string();
            self.ignored.insert(escaped(&path, |_| false).into_owned(), why);
        }
    }

    /// Reports a policy file whose name is not valid text; other files are ignored.
    fn note_unreadable_name(&mut self, entry: &fs::DirEntry, group: &Arc<str>) {
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        // A name that is valid text belongs to a hidden file.
        if name.to_str().is_none() && FileKind::is_policy(&shown) && self.problems.len() < MAX_FILES {
            let text = format!("the name of '{}' is not UTF-8: the file is ignored", entry.path().display());
            self.note(PolicyId::of(group, &shown), &text);
        }
    }

    /// Reports a link to a directory outside of the root, if it contains policies.
    fn note_link(&mut self, path: &Path, name: &str) {
        if is_group_name(name) && has_policies(path) {
            let text = format!(
                "{} is a link that leads out of the directory: expected a directory, or a link to one inside",
                path.display()
            );
            self.note(PolicyId::of(&Arc::from(""), name), &text);
        }
    }

    /// Reports a directory with policies whose name cannot be part of a URL; others (`lost+found`) are ignored.
    fn note_ill_named(&mut self, root: &Path, name: &str) {
        if has_policies(&root.join(name)) {
            let text = format!(
                "'{name}' is no name for a group: expected a to z, 0 to 9 and '-', at most {MAX_NAME_BYTES} characters"
            );
            self.note(PolicyId::of(&Arc::from(""), name), &text);
        }
    }

    /// Notes a problem. Names of files are others' texts, so it is escaped.
    fn note(&mut self, id: PolicyId, text: &str) {
        self.problems.insert(id, escaped(text, |_| false).into_owned());
    }
}

enum ListError {
    Io(io::Error),
    TooMany,
}

// === impl Sources ===

impl Sources {
    /// The files, as far as file names tell.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.module.iter().chain(&self.sidecar)
    }
}

// === impl ListError ===

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The name, unless it is not valid text or starts with a dot (`..data` of a mounted ConfigMap, an editor's `.x.swp`).
fn visible_name(entry: &fs::DirEntry) -> Option<String> {
    entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))
}

/// Why a policy with these two sidecars is refused.
pub(crate) fn two_sidecars(one: impl fmt::Display, other: impl fmt::Display) -> String {
    format!("'{one}' and '{other}' are both there: expected one sidecar")
}

/// Whether a directory is a link to one outside of the root.
///
/// The links of a mounted ConfigMap lead through `..data` to a directory below the root.
fn leads_out(root: &Path, entry: &fs::DirEntry) -> bool {
    if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
        return false;
    }
    match (root.canonicalize(), entry.path().canonicalize()) {
        (Ok(root), Ok(target)) => target == root || !target.starts_with(&root),
        // Removed since it was listed: listing it reports that.
        _ => false,
    }
}

/// Whether the entry is a symbolic link.
fn is_link(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_symlink())
}

fn has_policies(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    let is_policy = |entry: fs::DirEntry| visible_name(&entry).is_some_and(|name| FileKind::is_policy(&name));
    entries.flatten().take(MAX_FILES).any(is_policy)
}

/// The files and directories that look like policies and are ignored: their paths below the directory, and why.
///
/// # Errors
/// If the directory cannot be listed or holds too many policies.
pub fn ignored_files(directory: &Path) -> Result<Vec<(String, &'static str)>, DirectoryError> {
    Ok(Scan::take(directory)?.ignored.into_iter().collect())
}

fn scan_error(root: &Path, error: ListError) -> DirectoryError {
    let path = root.to_owned();
    match error {
        ListError::Io(cause) => DirectoryError::Unreadable { path, cause },
        ListError::TooMany => DirectoryError::TooMany { path, most: MAX_FILES },
    }
}
