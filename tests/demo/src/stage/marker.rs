//! Which files of a directory are the demo's: it must not touch those of others.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// The folder of the policies in the demo's directory.
pub(super) const POLICIES: &str = "policies";

/// Lists the files that the demo has put into its directory, one on a line.
const NAME: &str = ".plimsoll-demo";

/// The list, open for more.
pub(crate) struct Marker(File);

// === impl Marker ===

impl Marker {
    /// Makes a directory the demo's, and removes what an earlier demo has put there.
    ///
    /// # Errors
    /// If there are files that no demo has made.
    pub(super) fn claim(directory: &Path) -> Result<Self> {
        let path = directory.join(NAME);
        let shown = || directory.display().to_string();
        fs::create_dir_all(directory).with_context(shown)?;
        match fs::read_to_string(&path) {
            Ok(list) => remove(directory, &list)?,
            Err(_) if is_empty(directory).with_context(shown)? => {}
            Err(_) => bail!(
                "{} is not empty, and no demo has made it: name another --directory, or empty it yourself",
                directory.display()
            ),
        }
        let opened = OpenOptions::new().create(true).write(true).truncate(true).open(&path);
        Ok(Self(opened.with_context(|| path.display().to_string())?))
    }

    /// Writes down that a file, by its path in the directory, is about to be made.
    ///
    /// # Errors
    /// If that cannot be written.
    pub(super) fn note(&mut self, file: &Path) -> Result<()> {
        Ok(writeln!(self.0, "{}", file.display())?)
    }
}

/// Removes the listed policies; a policy that is not on the list is somebody else's, and would take part in the demo.
fn remove(directory: &Path, list: &str) -> Result<()> {
    let policies = directory.join(POLICIES);
    // A name with a way up or a root in it was not written by the demo.
    let own: Vec<PathBuf> = list
        .lines()
        .filter_map(|line| Path::new(line).strip_prefix(POLICIES).ok())
        .filter(|name| name.components().count() == 1)
        .map(|name| policies.join(name))
        .collect();
    if policies.exists() {
        for entry in fs::read_dir(&policies)? {
            let path = entry?.path();
            // A file that was being put in place when an earlier demo was stopped has a dot before it.
            let is_unfinished = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !is_unfinished && !own.contains(&path) {
                bail!("{} is not the demo's: move it elsewhere, or name another --directory", path.display());
            }
        }
    }
    for path in own.iter().filter(|path| path.exists()) {
        fs::remove_file(path).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn is_empty(directory: &Path) -> std::io::Result<bool> {
    Ok(fs::read_dir(directory)?.next().is_none())
}
