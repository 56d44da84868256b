//! The last good version of each policy on disk, so that a restart does not fall back on a bad one.
//!
//! What lies here is put in force when a policy's files are refused, so the directory must be ours alone, as the
//! cache is: mode 0700, and nothing is believed that another user owns or could have written.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use crate::{
    scan::Id,
    source::{Content, Marks, digest},
};

/// The most bytes of all that is kept.
const MOST_BYTES: u64 = 48 << 20;

/// The most files that are kept: a version, one that has still to answer, and a note for each policy.
const MOST_FILES: usize = 6_000;

/// Ends the name of a version that has answered, or is the first.
const GOOD: &str = "good";

/// Of one that has still to answer a call.
const NEW: &str = "new";

/// Of a note that a version was taken back.
const BAD: &str = "bad";

/// A directory of versions.
#[derive(Debug)]
pub(crate) struct LastGood {
    directory: PathBuf,
    /// The policies' directory, so that several may share a cache.
    root: String,
    us: u32,
}

/// A version as it was kept.
pub(crate) struct Kept {
    pub(crate) module: Vec<u8>,
    pub(crate) sidecar: Option<String>,
    pub(crate) marks: Marks,
}

/// What stands before a module's bytes, on a line of its own.
#[derive(Serialize, Deserialize)]
struct Header {
    policy: String,
    module: String,
    sidecar: Option<String>,
}

/// A content that was taken back.
#[derive(Serialize, Deserialize)]
struct Note {
    policy: String,
    module: String,
    sidecar: Option<String>,
    why: String,
}

// === impl LastGood ===

impl LastGood {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// If it cannot be made or written to, is not ours, or others can write to it.
    pub(crate) fn open(directory: &Path, root: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let probe = temporary_beside(&directory.join("probe"));
        let us = create(&probe).and_then(|file| Ok(file.metadata()?.uid()));
        let us = fs::remove_file(&probe).and(us)?;
        check_private(&directory.symlink_metadata()?, us)?;
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned()).to_string_lossy().into_owned();
        Ok(Self { directory: directory.to_owned(), root, us })
    }

    /// Keeps a version that was loaded: as the last good one if there is none yet, else until it has answered.
    pub(crate) fn keep(&self, id: &Id, content: &Content) {
        if self.good(id).is_some_and(|good| good.marks == content.marks) {
            // After a restart the same version is loaded again.
            self.remove(id, NEW);
            return;
        }
        let kind = if self.path(id, GOOD).exists() { NEW } else { GOOD };
        let header = Header {
            policy: id.to_string(),
            module: content.marks.module.clone(),
            sidecar: content.sidecar_text.clone(),
        };
        let written = serde_json::to_vec(&header).map_err(io::Error::other).and_then(|mut head| {
            head.push(b'\n');
            let size = (head.len() + content.module.len()) as u64;
            let (files, bytes) = self.size_without(&self.path(id, kind))?;
            if bytes + size > MOST_BYTES || files >= MOST_FILES {
                return Err(io::Error::other("there is no room for it"));
            }
            self.write(&self.path(id, kind), &[&head, &content.module])
        });
        if let Err(error) = written {
            // Half a pair would be worse than none: an older version must not come back.
            self.remove(id, kind);
            tracing::warn!(policy = %id, %error, "the version cannot be kept for a restart");
        }
    }

    /// The version that was loaded last has answered: it is the good one now.
    pub(crate) fn promote(&self, id: &Id, marks: &Marks) {
        // There may be none, for want of room; an older version must not come back in its place.
        let is_kept = fs::rename(self.path(id, NEW), self.path(id, GOOD)).is_ok();
        if !is_kept && self.good(id).is_some_and(|good| good.marks != *marks) {
            self.remove(id, GOOD);
        }
        self.remove(id, BAD);
    }

    /// The version that was loaded last was taken back.
    pub(crate) fn take_back(&self, id: &Id, marks: &Marks, why: &str) {
        self.remove(id, NEW);
        let Marks { module, sidecar } = marks.clone();
        let note = Note { policy: id.to_string(), module, sidecar, why: why.to_owned() };
        let written = serde_json::to_vec(&note).map_err(io::Error::other);
        if let Err(error) = written.and_then(|note| self.write(&self.path(id, BAD), &[&note])) {
            tracing::debug!(policy = %id, %error, "that the version was taken back will be forgotten at a restart");
        }
    }

    /// The policy is gone.
    pub(crate) fn forget(&self, id: &Id) {
        for kind in [GOOD, NEW, BAD] {
            self.remove(id, kind);
        }
    }

    /// The last good version of a policy.
    pub(crate) fn good(&self, id: &Id) -> Option<Kept> {
        let bytes = self.read(&self.path(id, GOOD)).ok()?;
        let at = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: Header = serde_json::from_slice(&bytes[..at]).ok()?;
        let module = bytes[at + 1..].to_vec();
        let is_whole = digest(&module) == header.module && header.policy == id.to_string();
        let sidecar = header.sidecar.as_ref().map(|text| digest(text.as_bytes()));
        let marks = Marks { module: header.module, sidecar };
        is_whole.then_some(Kept { module, sidecar: header.sidecar, marks })
    }

    /// The content that was taken back last, and why.
    pub(crate) fn taken_back(&self, id: &Id) -> Option<(Marks, String)> {
        let note: Note = serde_json::from_slice(&self.read(&self.path(id, BAD)).ok()?).ok()?;
        (note.policy == id.to_string()).then_some((Marks { module: note.module, sidecar: note.sidecar }, note.why))
    }

    fn path(&self, id: &Id, kind: &str) -> PathBuf {
        let name = digest(format!("{}\0{id}", self.root).as_bytes());
        let name = name.strip_prefix("sha256:").unwrap_or(&name);
        self.directory.join(format!("{}.{kind}", &name[..32]))
    }

    /// How many files there are beside the one that is about to be replaced, and how many bytes.
    fn size_without(&self, replaced: &Path) -> io::Result<(usize, u64)> {
        let mut sum = (0, 0);
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.path() == replaced {
                continue;
            }
            let metadata = entry.metadata()?;
            sum = (sum.0 + 1, sum.1 + metadata.len());
        }
        Ok(sum)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        check_private(&self.directory.symlink_metadata()?, self.us)?;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
        let metadata = file.metadata()?;
        check_private(&metadata, self.us)?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return Err(io::Error::other("it is no file that was written here"));
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes beside the file and renames, so that nobody ever reads a part.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        check_private(&self.directory.symlink_metadata()?, self.us)?;
        let temporary = temporary_beside(path);
        let written = create(&temporary).and_then(|mut file| {
            parts.iter().try_for_each(|part| file.write_all(part))?;
            fs::rename(&temporary, path)
        });
        if written.is_err() {
            // It may not exist; the error that counts is the first.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn remove(&self, id: &Id, kind: &str) {
        // Mostly there is none.
        let _ = fs::remove_file(self.path(id, kind));
    }
}

fn check_private(metadata: &fs::Metadata, us: u32) -> io::Result<()> {
    if metadata.uid() != us {
        return Err(io::Error::other(format!("it belongs to user {}, not to user {us}", metadata.uid())));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(io::Error::other(format!("others can write to it (mode {mode:04o})")));
    }
    Ok(())
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{count}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bounds;

    fn content(id: &Id, module: &[u8]) -> Content {
        let marks = Marks { module: digest(module), sidecar: None };
        Content::of_kept(id, Kept { module: module.to_vec(), sidecar: None, marks }, &Bounds::default()).unwrap()
    }

    #[test]
    fn an_older_version_does_not_come_back_where_there_was_no_room_for_the_one_that_answered() {
        let directory = tempfile::tempdir().unwrap();
        let last_good = LastGood::open(&directory.path().join("last-good"), directory.path()).unwrap();
        let id = Id { group: "".into(), name: "p".into() };
        let (old, new) = (content(&id, b"old"), content(&id, &vec![1; MOST_BYTES as usize]));
        last_good.keep(&id, &old);
        // As after a restart with unchanged files: it is kept once.
        last_good.keep(&id, &old);
        assert_eq!(last_good.size_without(Path::new("")).unwrap().0, 1);
        last_good.promote(&id, &old.marks);
        assert_eq!(last_good.good(&id).unwrap().marks, old.marks);
        last_good.keep(&id, &new);
        assert_eq!(last_good.good(&id).unwrap().marks, old.marks, "until the new one has answered");
        last_good.promote(&id, &new.marks);
        assert!(last_good.good(&id).is_none());
    }

    #[test]
    fn the_version_that_is_replaced_takes_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let last_good = LastGood::open(&directory.path().join("last-good"), directory.path()).unwrap();
        let id = Id { group: "".into(), name: "p".into() };
        let size = MOST_BYTES as usize / 2 - 1000;
        for number in 0..4 {
            let version = content(&id, &vec![number; size]);
            last_good.keep(&id, &version);
            last_good.promote(&id, &version.marks);
            assert_eq!(last_good.good(&id).unwrap().marks, version.marks);
        }
    }
}
