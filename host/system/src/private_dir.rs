//! A directory whose files only we can have written.
//!
//! It must be ours alone: made with mode 0700, and refused if somebody else owns it or can write to it. It is opened
//! once, and everything happens below that descriptor: somebody who can rename the directory cannot put another one in
//! its place. Files of other names than the owner's are not touched.

mod room;
#[cfg(test)]
mod tests;

use std::{
    fs::{DirBuilder, File},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, renameat, statat, unlinkat},
    io::Errno,
};

pub use self::room::DirLimit;
use crate::digest::is_hex;

/// Ends the name of a file that is being written: `<name>.<16 random hex digits>.tmp`.
const TEMPORARY: &str = ".tmp";

/// The name of a file that is written to find out our user.
const PROBE: &str = "probe";

/// A directory, and our user in its file system.
#[derive(Debug)]
pub struct PrivateDir {
    /// For messages; only the descriptor is ever opened.
    path: PathBuf,
    descriptor: OwnedFd,
    us: u32,
    is_ours: fn(&str) -> bool,
}

/// One of our files.
struct DirEntry {
    name: String,
    size: u64,
    modified: SystemTime,
    is_temporary: bool,
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
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let descriptor = openat(CWD, path, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => "it is a link; name the directory that it leads to".to_owned(),
            error => error.to_string(),
        })?;
        let us = our_uid(&descriptor).map_err(|error| format!("it cannot be written to: {error}"))?;
        let directory = Self { path: path.to_owned(), descriptor, us, is_ours };
        directory.check_own()?;
        Ok(directory)
    }

    /// The path of a file, for messages.
    pub fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Opens a file for reading that only we can have written.
    ///
    /// # Errors
    /// If there is none, or another user may have written it.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        self.check_own().map_err(io::Error::other)?;
        // A FIFO in the place of a file must not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.descriptor, name, flags, Mode::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        check_private(&stat, self.us).map_err(io::Error::other)?;
        Ok(file.into())
    }

    /// Writes a new file next to the old one and renames it, so that nobody reads an incomplete file.
    ///
    /// # Errors
    /// If it could not be written; the old file is then unchanged.
    pub fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let temporary = self.write_temporary(name, parts)?;
        let renamed = self.rename(&temporary, name);
        if renamed.is_err() {
            // The first error is the one to report.
            let _ = self.remove(&temporary);
        }
        renamed
    }

    /// Writes a file that gets its final name later, and returns its temporary name.
    ///
    /// It counts for no limit, and one that is left is removed an hour later.
    ///
    /// # Errors
    /// If it could not be written; nothing is left of it.
    pub fn write_temporary(&self, name: &str, parts: &[&[u8]]) -> io::Result<String> {
        let temporary = temporary(name);
        let written = create(&self.descriptor, &temporary)
            .and_then(|mut file| parts.iter().try_for_each(|part| file.write_all(part)));
        match written {
            Ok(()) => Ok(temporary),
            Err(error) => {
                // It may not exist; the first error is the one to report.
                let _ = self.remove(&temporary);
                Err(error)
            }
        }
    }

    /// Gives a file another name; a file that has that name is replaced.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// The names of our files that are written.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = self.entries()?.into_iter().filter(|entry| !entry.is_temporary);
        Ok(entries.map(|entry| entry.name).collect())
    }

    /// Our files; those that vanish meanwhile are left out.
    fn entries(&self) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.descriptor)? {
            let entry = entry?;
            entries.extend(entry.file_name().to_str().ok().and_then(|name| self.entry(name)));
        }
        Ok(entries)
    }

    fn entry(&self, name: &str) -> Option<DirEntry> {
        let written_for = name_of_temporary(name);
        let is_temporary = written_for.is_some_and(|name| name == PROBE || (self.is_ours)(name));
        if !is_temporary && !(self.is_ours)(name) {
            return None;
        }
        let stat = statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let since = Duration::new(u64::try_from(stat.st_mtime).ok()?, u32::try_from(stat.st_mtime_nsec).ok()?);
        let modified = SystemTime::UNIX_EPOCH.checked_add(since)?;
        let size = u64::try_from(stat.st_size).ok()?;
        is_file.then(|| DirEntry { name: name.to_owned(), size, modified, is_temporary })
    }

    /// Checked at each read: a mode can change while we run.
    fn check_own(&self) -> Result<(), String> {
        let stat = fstat(&self.descriptor).map_err(|error| error.to_string())?;
        check_private(&stat, self.us)
    }
}

/// A name that no other write uses. Process numbers would not do: each container has a 1.
fn temporary(name: &str) -> String {
    // Each has keys, which the system drew at random for this thread, and counts them on.
    let random = RandomState::new().build_hasher().finish();
    format!("{name}.{random:016x}{TEMPORARY}")
}

/// The name that a file under this name would have once it is written.
fn name_of_temporary(name: &str) -> Option<&str> {
    let (name, random) = name.strip_suffix(TEMPORARY)?.rsplit_once('.')?;
    is_hex(random, 16).then_some(name)
}

/// Our user as the file system sees it: the owner of files that we create.
fn our_uid(directory: &OwnedFd) -> io::Result<u32> {
    let name = temporary(PROBE);
    let stat = create(directory, &name).and_then(|file| Ok(fstat(&file)?));
    let removed = unlinkat(directory, &name, AtFlags::empty());
    let stat = stat?;
    removed?;
    Ok(stat.st_uid)
}

fn create(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

fn check_private(stat: &Stat, us: u32) -> Result<(), String> {
    if stat.st_uid != us {
        return Err(format!("it belongs to user {}, not to user {us}, who runs plimsoll", stat.st_uid));
    }
    let mode = stat.st_mode & 0o777;
    if mode & 0o022 != 0 {
        return Err(format!("others can write to it (mode {mode:04o}); `chmod 0700` it, or name another directory"));
    }
    Ok(())
}
