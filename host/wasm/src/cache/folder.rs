//! A directory that is ours alone, held by its descriptor.

use std::{
    fs::{DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, renameat, statat, unlinkat},
    io::Errno,
};

use super::name::Name;

/// After this time a file that is still being written was given up.
const ABANDONED: Duration = Duration::from_hours(1);

/// A directory and who we are to its file system.
pub(super) struct Folder {
    descriptor: OwnedFd,
    us: u32,
}

/// One of our files.
pub(super) struct Entry {
    pub(super) name: Name,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
}

// === impl Folder ===

impl Folder {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
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
        let folder = Self { descriptor, us };
        folder.check_own()?;
        Ok(folder)
    }

    /// Opens a file that nobody but us can have written.
    pub(super) fn open_private(&self, name: &Name) -> io::Result<File> {
        self.check_own().map_err(io::Error::other)?;
        // A fifo in the place of a file must not hold us up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.descriptor, name.as_str(), flags, Mode::empty())?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        check_private(&stat, self.us).map_err(io::Error::other)?;
        Ok(file.into())
    }

    pub(super) fn create_private(&self, name: &Name) -> io::Result<File> {
        create(&self.descriptor, name.as_str())
    }

    pub(super) fn rename(&self, from: &Name, to: &Name) -> io::Result<()> {
        Ok(renameat(&self.descriptor, from.as_str(), &self.descriptor, to.as_str())?)
    }

    pub(super) fn remove(&self, name: &Name) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name.as_str(), AtFlags::empty())?)
    }

    /// Our own files; those that vanish meanwhile are left out.
    pub(super) fn entries(&self) -> io::Result<Vec<Entry>> {
        let names = Dir::read_from(&self.descriptor)?.filter_map(|entry| match entry {
            Ok(entry) => Name::parse(entry.file_name()).map(Ok),
            Err(error) => Some(Err(error)),
        });
        let names: Vec<Name> = names.collect::<Result<_, _>>()?;
        Ok(names.into_iter().filter_map(|name| self.entry(name)).collect())
    }

    fn entry(&self, name: Name) -> Option<Entry> {
        let stat = statat(&self.descriptor, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let since = Duration::new(u64::try_from(stat.st_mtime).ok()?, u32::try_from(stat.st_mtime_nsec).ok()?);
        let modified = SystemTime::UNIX_EPOCH.checked_add(since)?;
        is_file.then_some(Entry { name, size: u64::try_from(stat.st_size).ok()?, modified })
    }

    /// Checked at each read: a mode can change while we run.
    fn check_own(&self) -> Result<(), String> {
        let stat = fstat(&self.descriptor).map_err(|error| error.to_string())?;
        check_private(&stat, self.us)
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn is_abandoned(&self) -> bool {
        self.modified.elapsed().is_ok_and(|age| age > ABANDONED)
    }
}

/// Who we are to the file system: the owner of what we write.
fn our_uid(folder: &OwnedFd) -> io::Result<u32> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("probe.{}-{count}.tmp", std::process::id());
    // In a container every start has the same process number: an earlier one may have ended right here.
    let _ = unlinkat(folder, &name, AtFlags::empty());
    let stat = create(folder, &name).and_then(|file| Ok(fstat(&file)?));
    let removed = unlinkat(folder, &name, AtFlags::empty());
    let stat = stat?;
    removed?;
    Ok(stat.st_uid)
}

fn create(folder: &OwnedFd, name: impl rustix::path::Arg) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
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
