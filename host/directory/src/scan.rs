//! A scan of the directory: groups and files with their stamps, unread; and when they have been unchanged for long enough
//! to be read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Failure, escaped};
use plimsoll_system::FileStamp;

use crate::DirectoryError;

/// Maximum policy files (modules, sidecars and their facts) of a directory.
const MAX_FILES: usize = 2_000;

/// Maximum ignored files that are reported.
const MAX_IGNORED: usize = 100;

/// Maximum length of a policy's or group's name, which prefixes every reason.
const MAX_NAME_BYTES: usize = 63;

/// Multiples of the settling time after which a file is taken as complete: a refusal of it is reported, and files that
/// others change all the time no longer hold it up.
const FINAL_FACTOR: u32 = 10;

/// Why files that look like policies are ignored.
const WRONG_CASE: &str = "the ending must be lower-case: expected .wasm, .yaml or .yml";
const TOO_DEEP: &str =
    "it is a directory in a group: expected policies in the directory itself or in its sub-directories";
const NOT_UTF8: &str = "its name is not UTF-8";

/// A policy by group and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PolicyId {
    pub(crate) group: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// A file by group and file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct File {
    pub(crate) group: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// The kind of a file, by its suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Module,
    Sidecar,
    /// Facts that a sidecar may name; no policy by itself.
    Facts,
}

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

/// The last scan, and when its files changed.
pub(crate) struct Settling {
    settle: Duration,
    scan: Arc<Scan>,
    /// Files that changed less than `settle * FINAL_FACTOR` ago.
    changed: BTreeMap<File, Instant>,
}

// === impl Scan ===

impl Scan {
    /// Lists the directory and its sub-directories.
    pub(crate) fn take(root: &Path) -> Result<Self, DirectoryError> {
        let mut scan = Self::default();
        let unreadable = |cause| DirectoryError::Unreadable { path: root.to_owned(), cause };
        for name in scan.list(root, &Arc::from("")).map_err(unreadable)? {
            if !is_group_name(&name) {
                scan.note_ill_named(root, &name);
                continue;
            }
            let group = Arc::from(name);
            match scan.list(&root.join(&*group), &group) {
                Ok(_) => {}
                // Removed since the root was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let text = format!("{} cannot be read: {error}", root.join(&*group).display());
                    scan.problems.insert(PolicyId::whole(&group), text);
                    scan.unreadable.insert(Arc::clone(&group));
                    scan.groups.insert(group);
                }
            }
        }
        if scan.files.len() > MAX_FILES {
            return Err(DirectoryError::TooMany { path: root.to_owned(), most: MAX_FILES });
        }
        Ok(scan)
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
            match &sources.sidecar {
                _ if kind == FileKind::Module => sources.module = Some(file.clone()),
                None => sources.sidecar = Some(file.clone()),
                Some(other) => sources.problem = Some(two_sidecars(other, file)),
            }
        }
        policies
    }

    /// Adds the policy files of one directory; returns the names of its subdirectories.
    fn list(&mut self, directory: &Path, group: &Arc<str>) -> io::Result<Vec<String>> {
        let mut directories = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // `..data` of a mounted ConfigMap, an editor's `.x.swp`.
            if name.starts_with('.') {
                continue;
            }
            let (kind, is_text) = (FileKind::of(&name.to_ascii_lowercase()), path.to_str().is_some());
            if path.is_dir() {
                if !group.is_empty() && has_policies(&path) {
                    self.ignore(group, &name, TOO_DEEP);
                } else if group.is_empty() && is_text {
                    directories.push(name);
                }
            } else if kind.is_some() && !is_text {
                self.ignore(group, &name, NOT_UTF8);
            } else if FileKind::of(&name).is_some() {
                let stamp = FileStamp::of(&path);
                self.files.insert(File { group: Arc::clone(group), name: Arc::from(name) }, stamp);
            } else if kind.is_some_and(|kind| kind != FileKind::Facts) {
                self.ignore(group, &name, WRONG_CASE);
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

    /// Reports a directory with policies whose name cannot be part of a URL; others (`lost+found`) are ignored.
    fn note_ill_named(&mut self, root: &Path, name: &str) {
        if has_policies(&root.join(name)) {
            let text = format!(
                "'{}' is no name for a group: expected a to z, 0 to 9 and '-', at most {MAX_NAME_BYTES} characters",
                escaped(name, |_| false)
            );
            self.problems.insert(PolicyId::of(&Arc::from(""), name), text);
        }
    }
}

// === impl Sources ===

impl Sources {
    /// The files, as far as file names tell.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.module.iter().chain(&self.sidecar)
    }

    /// The group of the policy.
    pub(crate) fn group(&self) -> Arc<str> {
        self.files().next().map(|file| Arc::clone(&file.group)).unwrap_or_default()
    }
}

// === impl PolicyId ===

impl PolicyId {
    /// The ID of files with this stem. A name that is no name for a policy is changed where it could be taken for
    /// something else: it is shown in logs and on pages.
    fn of(group: &Arc<str>, stem: &str) -> Self {
        let name = match stem {
            Failure::DIRECTORY => Arc::from(format!("'{stem}'")),
            _ => Arc::from(escaped(stem, |_| false)),
        };
        Self { group: Arc::clone(group), name }
    }

    /// The ID that stands for a group's whole directory.
    pub(crate) fn whole(group: &Arc<str>) -> Self {
        Self { group: Arc::clone(group), name: Arc::from(Failure::DIRECTORY) }
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.group, self.name) }
    }
}

// === impl File ===

impl File {
    /// The path of the file.
    pub(crate) fn path(&self, root: &Path) -> PathBuf {
        root.join(&*self.group).join(&*self.name)
    }

    fn parts(&self) -> Option<(&str, FileKind)> {
        let kind = FileKind::of(&self.name)?;
        self.name.rsplit_once('.').map(|(stem, _)| (stem, kind))
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.group, self.name) }
    }
}

// === impl FileKind ===

impl FileKind {
    fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "wasm" => Some(Self::Module),
            "yaml" | "yml" => Some(Self::Sidecar),
            "csv" => Some(Self::Facts),
            _ => None,
        }
    }
}

// === impl Settling ===

impl Settling {
    /// Starts from a scan whose files may be read at once.
    pub(crate) fn new(settle: Duration, scan: Arc<Scan>) -> Self {
        Self { settle, scan, changed: BTreeMap::new() }
    }

    /// The last scan.
    pub(crate) fn scan(&self) -> &Arc<Scan> {
        &self.scan
    }

    /// Records which files have changed.
    pub(crate) fn observe(&mut self, scan: Arc<Scan>, now: Instant) {
        let forgotten_after = self.settle * FINAL_FACTOR;
        self.changed.retain(|_, at| now.saturating_duration_since(*at) < forgotten_after);
        let before = std::mem::replace(&mut self.scan, scan);
        let added = self.scan.files.iter().filter(|(file, stamp)| before.files.get(*file) != Some(*stamp));
        let gone = before.files.keys().filter(|file| !self.scan.files.contains_key(*file));
        self.changed.extend(added.map(|(file, _)| file).chain(gone).map(|file| (file.clone(), now)));
    }

    /// Whether these files may be read: nothing at all has changed for the settling time, or these files have been
    /// unchanged for ten times as long.
    pub(crate) fn may_read<'f>(&self, files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        self.changed.values().all(|at| now.saturating_duration_since(*at) >= self.settle) || self.is_final(files, now)
    }

    /// Whether these files have been unchanged for so long that nobody can still be writing them.
    pub(crate) fn is_final<'f>(&self, mut files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        let is_final = |at: &Instant| now.saturating_duration_since(*at) >= self.settle * FINAL_FACTOR;
        files.all(|file| self.changed.get(file).is_none_or(is_final))
    }

    /// Whether nothing at all has changed for that long.
    pub(crate) fn is_calm(&self, now: Instant) -> bool {
        self.is_final(self.changed.keys(), now)
    }

    /// The first moment after this one at which an answer may change.
    pub(crate) fn next(&self, after: Instant) -> Option<Instant> {
        let moments = |at: &Instant| [*at + self.settle, *at + self.settle * FINAL_FACTOR];
        self.changed.values().flat_map(moments).filter(|moment| *moment > after).min()
    }
}

/// The files and directories that look like policies and are ignored: their paths below the directory, and why.
///
/// # Errors
/// If the directory cannot be listed or holds too many policies.
pub fn ignored_files(directory: &Path) -> Result<Vec<(String, &'static str)>, DirectoryError> {
    Ok(Scan::take(directory)?.ignored.into_iter().collect())
}

/// Why a policy with these two sidecars is refused.
pub(crate) fn two_sidecars(one: impl fmt::Display, other: impl fmt::Display) -> String {
    format!("'{one}' and '{other}' are both there: expected one sidecar")
}

/// Why files with this stem are no policy.
pub(crate) fn name_problem(stem: &str) -> Option<String> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = stem.len() <= MAX_NAME_BYTES && stem.bytes().all(is_fit);
    let problem = || {
        format!(
            "'{}' is no name for a policy: expected letters, digits, '.', '_' and '-', at most {MAX_NAME_BYTES}",
            escaped(stem, |_| false)
        )
    };
    (!is_name).then(problem)
}

fn is_group_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= MAX_NAME_BYTES && name.bytes().all(is_fit)
}

fn has_policies(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    let is_policy = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let is_visible = |name: &&str| !name.starts_with('.');
        matches!(name.to_str().filter(is_visible).and_then(FileKind::of), Some(FileKind::Module | FileKind::Sidecar))
    };
    entries.flatten().take(MAX_FILES).any(is_policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLE: Duration = Duration::from_millis(100);

    fn file(name: &str) -> File {
        File { group: Arc::from(""), name: Arc::from(name) }
    }

    /// A scan of files by name and length.
    fn scan(files: &[(&str, u64)]) -> Arc<Scan> {
        let stamp = |length| FileStamp { length, ..FileStamp::default() };
        let files = files.iter().map(|(name, length)| (file(name), stamp(*length))).collect();
        Arc::new(Scan { files, ..Scan::default() })
    }

    fn may_read(settling: &Settling, name: &str, now: Instant) -> bool {
        settling.may_read([file(name)].iter(), now)
    }

    #[test]
    fn files_are_settled_when_all_have_been_still() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1), ("b", 1)]));
        assert!(may_read(&settling, "a", start));
        settling.observe(scan(&[("a", 2), ("b", 1)]), start);
        settling.observe(scan(&[("a", 2), ("b", 2)]), start + SETTLE / 2);
        assert!(!may_read(&settling, "a", start + SETTLE), "b changed in the same burst");
        assert_eq!(settling.next(start + SETTLE), Some(start + SETTLE + SETTLE / 2));
        assert!(may_read(&settling, "a", start + SETTLE + SETTLE / 2));
    }

    #[test]
    fn a_file_that_is_always_written_holds_up_others_for_a_bounded_time() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1), ("busy", 0)]));
        let mut now = start;
        for length in 1..=41 {
            now = start + SETTLE / 4 * (length as u32 - 1);
            settling.observe(scan(&[("a", 2), ("busy", length)]), now);
        }
        assert!(now >= start + SETTLE * FINAL_FACTOR);
        assert!(may_read(&settling, "a", now));
        assert!(!may_read(&settling, "busy", now));
    }

    #[test]
    fn a_failure_is_final_when_its_files_have_been_still_for_long() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1)]));
        settling.observe(scan(&[]), start);
        let is_final = |settling: &Settling, now| settling.is_final([file("a")].iter(), now);
        assert!(!is_final(&settling, start + SETTLE));
        assert!(is_final(&settling, start + SETTLE * FINAL_FACTOR));
        assert_eq!(settling.next(start + SETTLE), Some(start + SETTLE * FINAL_FACTOR));
        assert_eq!(settling.next(start + SETTLE * FINAL_FACTOR), None);
    }
}
