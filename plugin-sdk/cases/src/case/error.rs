//! The error of a case.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use plimsoll_core::{Fault, Verb, excerpt};
use plimsoll_yaml::FieldError;

use crate::Difference;

/// Maximum bytes of an error and of the field that it names; an author's text may be megabytes.
const MAX_TEXT_BYTES: usize = 500;

/// Why a case failed or could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file or directory cannot be read, is not a valid case, or names an object that is not there.
    #[error("{}: {error}", place(.path, *.line))]
    Unusable {
        /// The file or directory.
        path: PathBuf,
        /// The line, if the error is in one.
        line: Option<u64>,
        /// The error, with the field that it is in.
        error: String,
    },
    /// The call ended with a fault.
    #[error("{path} ({description}): {verb}: {fault}", path = .path.display())]
    Fault {
        /// The file.
        path: PathBuf,
        /// The description of the case.
        description: String,
        /// The verb that was asked.
        verb: Verb,
        /// The fault that ended the call.
        fault: Fault,
    },
    /// The policy answers something else.
    #[error("{path} ({description}):{}", lines_of(.differences), path = .path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// The description of the case.
        description: String,
        /// Where it does.
        differences: Vec<Difference>,
    },
    /// A directory without cases tests nothing.
    #[error("{path} has no *.yaml or *.yml", path = .0.display())]
    Empty(PathBuf),
}

// === impl CaseError ===

impl CaseError {
    /// The error of a file, or of a directory.
    pub(crate) fn unusable(path: &Path, error: impl fmt::Display) -> Self {
        Self::Unusable { path: path.to_owned(), line: None, error: error.to_string() }
    }

    pub(super) fn malformed(path: PathBuf, error: &FieldError) -> Self {
        let (field, text) = (excerpt(&error.field, MAX_TEXT_BYTES), excerpt(&error.text, MAX_TEXT_BYTES));
        let error_text = if field.is_empty() { text } else { format!("{field}: {text}") };
        Self::Unusable { path, line: error.position.map(|(line, _)| line), error: error_text }
    }
}

/// `cases/a.yaml:3`.
fn place(path: &Path, line: Option<u64>) -> String {
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line}", path.display())
}

/// Each difference on one line.
fn lines_of(differences: &[Difference]) -> String {
    differences.iter().flat_map(|difference| ["\n  ".to_owned(), difference.to_string()]).collect()
}
