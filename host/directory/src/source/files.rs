//! Reads single files of a policy.

use std::{io, path::Path};

use plimsoll_system::{
    FileStamp,
    bounded_file::{ReadFileError, read_file},
};

use super::FileRefusal;
use crate::{
    config::ReadLimits,
    sidecar::{self, Sidecar},
};

/// Reads a module by itself.
pub(crate) fn read_module(path: &Path, bounds: &ReadLimits) -> Result<Vec<u8>, FileRefusal> {
    read_bounded(path, bounds.module_bytes, "module")
}

pub(crate) fn read_sidecar(path: &Path) -> Result<String, FileRefusal> {
    let bytes = read_bounded(path, sidecar::MAX_BYTES, "sidecar")?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        FileRefusal::new(format!("{}: byte {at} is not UTF-8: expected YAML text", path.display()))
    })
}

/// Reads a file with facts.
pub(super) fn read_facts(path: &Path) -> Result<String, FileRefusal> {
    let bytes = read_bounded(path, sidecar::MAX_BYTES, "file with facts")?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        FileRefusal::new(format!(
            "{}: byte {at} is not UTF-8: expected lines with a key, a comma and a value",
            path.display()
        ))
    })
}

/// Parses a sidecar's text. The error of one that a link outside of `root` leads to does not quote it.
pub(crate) fn parse_sidecar(
    root: Option<&Path>,
    path: Option<&Path>,
    text: Option<&str>,
    bounds: &ReadLimits,
) -> Result<Sidecar, FileRefusal> {
    let (Some(path), Some(text)) = (path, text) else { return Ok(Sidecar::default()) };
    Sidecar::parse(text, bounds.memory).map_err(|error| {
        let error = if root.is_some_and(|root| leads_out(root, path)) { error.unquoted() } else { error };
        FileRefusal::new(format!("{}:{error}", path.display()))
    })
}

/// Whether a path leads to a file outside of the directory, or nobody can tell.
pub(super) fn leads_out(root: &Path, path: &Path) -> bool {
    match (root.canonicalize(), path.canonicalize()) {
        (Ok(root), Ok(target)) => !target.starts_with(root),
        _ => true,
    }
}

fn read_bounded(path: &Path, most: u64, what: &str) -> Result<Vec<u8>, FileRefusal> {
    read_file(path, most).map_err(|error| {
        let path = path.display();
        match error {
            // A missing file gets a new stamp when it appears; other errors may be transient.
            ReadFileError::Unreadable(cause) if cause.kind() != io::ErrorKind::NotFound => {
                FileRefusal::transient(format!("{path} cannot be read: {cause}: expected a {what}"))
            }
            ReadFileError::TooLarge { limit } => {
                FileRefusal::new(format!("{path} is larger than {limit} bytes, the most for a {what}"))
            }
            error => FileRefusal::new(format!("{path} {error}: expected a {what}")),
        }
    })
}

/// The stamp as a scan would find it.
pub(super) fn stamp_now(path: &Path) -> Option<FileStamp> {
    path.symlink_metadata().ok().map(|_| FileStamp::of(path))
}
