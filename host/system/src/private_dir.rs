//! A directory whose files only we can have written: made with mode 0700, and refused if somebody else owns it or can
//! write to it. Files of other names than the owner's are not touched.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, process::geteuid};

/// A directory of our user.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    is_ours: fn(&str) -> bool,
}

// === impl PrivateDir ===

impl PrivateDir {
    /// Opens or creates the directory; `is_ours` recognises the names of our files.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub fn open(path: &Path, is_ours: fn(&str) -> bool) -> Result<Self, String> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| format!("it cannot be made: {error}"))?;
        let metadata = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
        if !metadata.is_dir() {
            return Err("it is a link; name the directory that it leads to".to_owned());
        }
        let (owner, us, mode) = (metadata.uid(), geteuid().as_raw(), metadata.mode() & 0o777);
        if owner != us {
            return Err(format!("it belongs to user {owner}, not to user {us}, who runs plimsoll"));
        }
        if mode & 0o022 != 0 {
            return Err(format!(
                "others can write to it (mode {mode:04o}); `chmod 0700` it, or name another directory"
            ));
        }
        Ok(Self { path: path.to_owned(), is_ours })
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If there is none.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        // A FIFO in the place of a file must not block.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path.join(name))?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
    }

    /// Writes a new file next to the old one and renames it, so that nobody reads an incomplete file.
    ///
    /// # Errors
    /// If it could not be written; the old file is then unchanged.
    pub fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        // Random: a process number would not do, since each container has a 1.
        let random = RandomState::new().build_hasher().finish();
        let temporary = self.path.join(format!("{name}.{random:016x}.tmp"));
        let write = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
            parts.iter().try_for_each(|part| file.write_all(part))?;
            fs::rename(&temporary, self.path.join(name))
        };
        // A file that is left over would never be read.
        write().inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    /// The names of our files.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string().ok().filter(|name| (self.is_ours)(name)));
        }
        Ok(names)
    }
}
