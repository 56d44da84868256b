//! Walks a directory for modules, sidecars and cases.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// Directories of build tools; a module in one of them is tested if that directory is named.
const LEFT_OUT: [&str; 2] = ["target", "node_modules"];

/// Maximum depth below the directory that is named.
const MAX_DEPTH: usize = 8;

/// Maximum number of entries of all directories together.
const MAX_ENTRIES: usize = 200_000;

/// The files of a directory and of those below it.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) modules: BTreeSet<PathBuf>,
    /// YAML files that are no cases: some may be sidecars.
    pub(super) yaml: BTreeSet<PathBuf>,
    /// Directories named `cases`, and those in them, that have YAML files.
    pub(super) cases: BTreeSet<PathBuf>,
    /// Directories of cases with files that end with `.YAML`.
    pub(super) look_like_cases: BTreeSet<PathBuf>,
    entries: usize,
}

// === impl Walk ===

impl Walk {
    /// Adds a directory; `is_cases`: all YAML files in it are cases.
    ///
    /// # Errors
    /// If it cannot be listed, or has too many entries.
    pub(super) fn add(&mut self, directory: &Path, is_cases: bool) -> Result<()> {
        let listed = directory.read_dir().with_context(|| format!("{} cannot be read", directory.display()))?;
        self.take(directory, listed, is_cases, 0)
    }

    fn take(&mut self, directory: &Path, listed: fs::ReadDir, is_cases: bool, depth: usize) -> Result<()> {
        for entry in listed {
            let Ok(entry) = entry else { continue };
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                bail!("more than {MAX_ENTRIES} files: name the directory of the modules, and --cases DIR");
            }
            let (path, name) = (entry.path(), entry.file_name());
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            // Of a link to a directory, the type is that of the link: it may lead back here.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let is_left_out = LEFT_OUT.iter().any(|left_out| name == *left_out);
                if !is_left_out && depth < MAX_DEPTH {
                    self.descend(&path, is_cases || name == "cases", depth)?;
                }
                continue;
            }
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("yaml" | "yml") if is_cases => drop(self.cases.insert(directory.to_owned())),
                Some("yaml" | "yml") => drop(self.yaml.insert(path)),
                Some(ending) if is_cases && is_wrong_case(ending) => {
                    self.look_like_cases.insert(directory.to_owned());
                }
                Some("wasm") if !is_cases => drop(self.modules.insert(path)),
                _ => {}
            }
        }
        Ok(())
    }

    /// A directory below that cannot be read is left out, as one of another user.
    fn descend(&mut self, directory: &Path, is_cases: bool, depth: usize) -> Result<()> {
        match directory.read_dir() {
            Ok(listed) => self.take(directory, listed, is_cases, depth + 1),
            Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", directory.display())),
        }
    }
}

fn is_wrong_case(ending: &str) -> bool {
    ["yaml", "yml"].iter().any(|expected| ending.eq_ignore_ascii_case(expected))
}
