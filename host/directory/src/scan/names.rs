//! Names of policies, groups and files.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use plimsoll_core::{Failure, escaped};

/// Maximum length of a policy's or group's name, which prefixes every reason.
pub(super) const MAX_NAME_BYTES: usize = 63;

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
pub(super) enum FileKind {
    Module,
    Sidecar,
    /// Facts that a sidecar may name; no policy by itself.
    Facts,
}

// === impl PolicyId ===

impl PolicyId {
    /// The ID of files with this stem. A name that is no name for a policy is changed where it could be taken for
    /// something else: it is shown in logs and on pages.
    pub(super) fn of(group: &Arc<str>, stem: &str) -> Self {
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
        if self.group.is_empty() { root.join(&*self.name) } else { root.join(&*self.group).join(&*self.name) }
    }

    pub(super) fn parts(&self) -> Option<(&str, FileKind)> {
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
    /// Whether a file with this name makes a policy.
    pub(super) fn is_policy(name: &str) -> bool {
        matches!(Self::of(name), Some(Self::Module | Self::Sidecar))
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "wasm" => Some(Self::Module),
            "yaml" | "yml" => Some(Self::Sidecar),
            "csv" => Some(Self::Facts),
            _ => None,
        }
    }
}

pub(super) fn is_group_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= MAX_NAME_BYTES && name.bytes().all(is_fit)
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
