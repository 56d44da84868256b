//! Reads single files of a policy.

use std::{io, path::Path};

use plimsoll_core::Module;
use plimsoll_system::{
    FileStamp,
    bounded_file::{OpenedFile, ReadFileError},
    digest::sha256,
};

use crate::{
    config::ReadLimits,
    refusal::FileRefusal,
    sidecar::{self, Sidecar},
};

/// The text of a sidecar.
pub(crate) struct SidecarText {
    pub(crate) text: String,
    /// Whether a link led out of the root to it: then no error quotes it.
    is_outside: bool,
}

/// A module as it was read.
pub(crate) struct ReadModule {
    /// The file as messages name it.
    pub(super) label: String,
    pub(crate) module: Module,
    /// Whether a link led out of the root to it: then no error shows its digest.
    pub(super) is_outside: bool,
}

/// Reads a module; none is outside if there is no root.
pub(crate) fn read_module(root: Option<&Path>, path: &Path, bounds: &ReadLimits) -> Result<ReadModule, FileRefusal> {
    let (bytes, is_outside) = read_bounded(root, path, bounds.module_bytes, "module")?;
    Ok(ReadModule { label: path.display().to_string(), module: Module::new(bytes, sha256), is_outside })
}

/// Reads a sidecar; errors about one outside of the root do not quote it.
pub(crate) fn read_sidecar(root: Option<&Path>, path: &Path) -> Result<SidecarText, FileRefusal> {
    let (bytes, is_outside) = read_bounded(root, path, sidecar::MAX_BYTES, "sidecar")?;
    Ok(SidecarText { text: text_of(path, bytes, "YAML text")?, is_outside })
}

/// The text of a file.
fn text_of(path: &Path, bytes: Vec<u8>, expected: &str) -> Result<String, FileRefusal> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        FileRefusal::new(format!("{}: byte {at} is not UTF-8: expected {expected}", path.display()))
    })
}

/// Reads a file with facts, which must be in `directory`, and that in the root.
pub(super) fn read_facts(root: Option<&Path>, directory: &Path, path: &Path) -> Result<String, FileRefusal> {
    let within = || [Some(directory), root].into_iter().flatten();
    let refused = || {
        let text = "is a link that leads out of the directory: expected a file of the sidecar's directory";
        FileRefusal::new(format!("{} {text}", path.display()))
    };
    // Checked before opening, too: errors must not tell which files exist outside.
    if path.symlink_metadata().is_ok() && within().any(|directory| leads_out(directory, path)) {
        return Err(refused());
    }
    let named = |error| refusal_of(path, "file with facts", error);
    let file = OpenedFile::open(path).map_err(named)?;
    if !within().all(|directory| file.is_within(or_current(directory))) {
        return Err(refused());
    }
    let bytes = file.read(sidecar::MAX_BYTES).map_err(named)?;
    text_of(path, bytes, "lines with a key, a comma and a value")
}

/// Parses a sidecar's text.
pub(crate) fn parse_sidecar(
    path: Option<&Path>,
    text: Option<&SidecarText>,
    bounds: &ReadLimits,
) -> Result<Sidecar, FileRefusal> {
    let (Some(path), Some(SidecarText { text, is_outside })) = (path, text) else { return Ok(Sidecar::default()) };
    Sidecar::parse(text, bounds.memory).map_err(|error| {
        let error = if *is_outside { sidecar::unquoted(&error) } else { error };
        FileRefusal::new(format!("{}:{error}", path.display()))
    })
}

/// Whether a path leads to a file outside of the directory now, or nobody can tell.
fn leads_out(directory: &Path, path: &Path) -> bool {
    match (or_current(directory).canonicalize(), path.canonicalize()) {
        (Ok(directory), Ok(target)) => !target.starts_with(directory),
        _ => true,
    }
}

/// The directory, or the current one if it is "".
fn or_current(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

/// Reads a file, and says whether it is outside of the root. The open file is judged: its path may lead elsewhere by now.
fn read_bounded(root: Option<&Path>, path: &Path, most: u64, what: &str) -> Result<(Vec<u8>, bool), FileRefusal> {
    let read = || {
        let file = OpenedFile::open(path)?;
        let is_outside = root.is_some_and(|root| !file.is_within(or_current(root)));
        Ok((file.read(most)?, is_outside))
    };
    read().map_err(|error| refusal_of(path, what, error))
}

fn refusal_of(path: &Path, what: &str, error: ReadFileError) -> FileRefusal {
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
}

// === impl SidecarText ===

impl SidecarText {
    /// A text that was stored when its file was read.
    pub(crate) fn stored(text: String) -> Self {
        Self { text, is_outside: false }
    }
}

/// The stamp as a scan would find it, which takes no directory for a file.
pub(super) fn stamp_now(path: &Path) -> Option<FileStamp> {
    path.symlink_metadata().ok().filter(|_| !path.is_dir()).map(|_| FileStamp::of(path))
}
