//! The last good version of each policy on disk, so that a restart does not fall back on a bad one.
//!
//! A version that is stored here is put in force when a policy's files are refused, so the directory is a
//! [`PrivateDir`], as the cache is. Several directories of policies may share it. Versions of policies that this
//! process has not loaded make room for those that it has, and a policy that is gone from its directory is removed.

mod records;

use std::{
    collections::BTreeSet,
    fmt::Display,
    io::{self, BufRead as _, Read as _},
    path::Path,
    sync::Arc,
};

use parking_lot::Mutex;
use plimsoll_system::{
    DirLimit, PrivateDir, buffer,
    digest::{hex, is_hex, sha256},
};

pub(crate) use self::records::StoredVersion;
use self::records::{RejectionNote, VersionHeader};
use crate::{
    scan::PolicyId,
    source::{Content, ContentDigests},
};

/// Maximum bytes of all files.
const MAX_BYTES: u64 = 48 << 20;

/// Maximum files: for each policy a good version, one on probation, and a rejection note.
const MAX_FILES: usize = 6_000;

/// The suffix of a version that has answered, or is the first.
const GOOD: &str = "good";

/// The suffix of a version on probation.
const NEW: &str = "new";

/// The suffix of a rejection note.
const BAD: &str = "bad";

/// Hex digits of a file name for the directory of policies, and for the policy.
const PART: usize = 16;

const KINDS: [&str; 3] = [GOOD, NEW, BAD];

/// A directory of versions.
#[derive(Debug)]
pub(crate) struct LastGood {
    directory: PrivateDir,
    /// The prefix of the file names of this process's directory of policies.
    root: String,
    /// The file names, without suffixes, of existing policies.
    live: Mutex<BTreeSet<String>>,
}

/// A version that was loaded and is written, but not yet kept; dropping it removes the file.
pub(crate) struct StagedVersion {
    last_good: Arc<LastGood>,
    /// None: it is the last good version already.
    file: Option<StagedFile>,
}

/// A file that waits for its name.
struct StagedFile {
    name: String,
    size: u64,
}

// === impl LastGood ===

impl LastGood {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// If it cannot be made or written to, is not ours, or others can write to it.
    pub(crate) fn open(directory: &Path, root: &Path) -> Result<Self, String> {
        let directory = PrivateDir::open(directory, is_ours)?;
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Ok(Self { directory, root: part(root.display()), live: Mutex::default() })
    }

    /// Sets the existing policies: their versions are not evicted for others.
    pub(crate) fn expect<'i>(&self, policies: impl Iterator<Item = &'i PolicyId>) {
        self.live.lock().extend(policies.map(|id| self.stem(id)));
    }

    /// Removes versions of this directory of policies whose policies no longer exist.
    pub(crate) fn sweep(&self) {
        let names = self.directory.names().unwrap_or_default();
        let live = self.live.lock();
        let is_gone = |name: &&String| name.starts_with(&self.root) && !live.contains(stem_of(name));
        for name in names.iter().filter(is_gone) {
            // Another gateway may have removed it.
            let _ = self.directory.remove(name);
        }
    }

    /// Writes a version beside the others, to be kept if it comes into force; none if it cannot be written.
    pub(crate) fn stage(self: &Arc<Self>, id: &PolicyId, content: &Content) -> Option<StagedVersion> {
        let last_good = Arc::clone(self);
        if self.good(id).is_some_and(|good| good.digests == content.digests) {
            // After a restart the same version is loaded again.
            return Some(StagedVersion { last_good, file: None });
        }
        let written = StoredVersion::head(id, content).and_then(|head| {
            let size = (head.len() + content.module.bytes().len()) as u64;
            if size > MAX_BYTES {
                return Err(no_room());
            }
            let name = self.directory.write_temporary(&self.name(id, NEW), &[&head, content.module.bytes()])?;
            Ok(StagedFile { name, size })
        });
        // The version that it replaces is deleted when it comes into force.
        let file = written.inspect_err(|error| warn_not_kept(id, error)).ok()?;
        Some(StagedVersion { last_good, file: Some(file) })
    }

    /// Keeps a version that came into force: as the last good one if there is none yet, else until it has answered.
    ///
    /// Like [`Self::promote`] and [`Self::forget`] it is called by the thread that decides, so that the version that
    /// has still to answer is the one in force.
    pub(crate) fn keep(&self, id: &PolicyId, staged: Option<&StagedVersion>) {
        let file = match staged {
            Some(StagedVersion { file: Some(file), .. }) => file,
            Some(_) => return self.remove(id, NEW),
            None => return self.remove(id, self.kind_of_next(id)),
        };
        let kind = self.kind_of_next(id);
        self.live.lock().insert(self.stem(id));
        let name = self.name(id, kind);
        let kept = self.make_room(file.size, &name).and_then(|()| self.directory.rename(&file.name, &name));
        if let Err(error) = kept {
            // No version is better than an outdated one, which must not come back.
            self.remove(id, kind);
            warn_not_kept(id, &error);
        }
    }

    /// The version in force, which was made of this, has answered: it is the good one now.
    pub(crate) fn promote(&self, id: &PolicyId, digests: &ContentDigests) {
        let is = |kind| self.digests(id, kind).is_some_and(|kept| kept == *digests);
        // Another gateway that shares the directory may have kept another version.
        let is_kept = is(NEW) && self.directory.rename(&self.name(id, NEW), &self.name(id, GOOD)).is_ok();
        // It may be missing for lack of space; an older version must not come back in its place.
        if !is_kept && !is(GOOD) {
            self.remove(id, GOOD);
        }
        self.remove(id, BAD);
    }

    /// The newest version was rolled back.
    pub(crate) fn roll_back(&self, id: &PolicyId, digests: &ContentDigests, why: &str) {
        self.remove(id, NEW);
        let note = RejectionNote::encode(id, digests, why);
        if let Err(error) = note.and_then(|note| self.write(id, BAD, &[&note])) {
            tracing::debug!(policy = %id, %error, "that the version was rolled back will be forgotten at a restart");
        }
    }

    /// The policy is gone.
    pub(crate) fn forget(&self, id: &PolicyId) {
        for kind in KINDS {
            self.remove(id, kind);
        }
        self.live.lock().remove(&self.stem(id));
    }

    /// The last good version of a policy.
    pub(crate) fn good(&self, id: &PolicyId) -> Option<StoredVersion> {
        self.decode(id, GOOD, |bytes| StoredVersion::decode(id, bytes))
    }

    /// The digests of the content that was rolled back last, and why.
    pub(crate) fn rolled_back(&self, id: &PolicyId) -> Option<(ContentDigests, String)> {
        self.decode(id, BAD, |bytes| RejectionNote::decode(id, bytes))
    }

    /// Reads a file. A damaged one is removed: it would keep its room, and nothing could replace it.
    fn decode<T>(&self, id: &PolicyId, kind: &str, decode: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let decoded = match self.read(id, kind) {
            Ok(bytes) => decode(&bytes),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            // There is none, or it may be readable later.
            Err(_) => return None,
        };
        if decoded.is_none() {
            tracing::warn!(policy = %id, "{} is damaged: it is removed", self.directory.shown(&self.name(id, kind)));
            self.remove(id, kind);
        }
        decoded
    }

    fn read(&self, id: &PolicyId, kind: &str) -> io::Result<Vec<u8>> {
        let file = self.directory.open_file(&self.name(id, kind))?;
        let length = file.metadata()?.len();
        if length > MAX_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no file that was written here"));
        }
        let mut bytes = buffer(length as usize);
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The content of the file as its header describes it; the module is not read.
    fn digests(&self, id: &PolicyId, kind: &str) -> Option<ContentDigests> {
        let file = self.directory.open_file(&self.name(id, kind)).ok()?;
        let mut line = Vec::new();
        io::BufReader::new(file.take(MAX_BYTES)).read_until(b'\n', &mut line).ok()?;
        VersionHeader::decode(id, &line).map(|header| header.digests())
    }

    fn write(&self, id: &PolicyId, kind: &str, parts: &[&[u8]]) -> io::Result<()> {
        let name = self.name(id, kind);
        self.make_room(parts.iter().map(|part| part.len() as u64).sum(), &name)?;
        self.directory.write(&name, parts)
    }

    fn make_room(&self, size: u64, name: &str) -> io::Result<()> {
        let live = self.live.lock();
        let limit = DirLimit { files: MAX_FILES, bytes: MAX_BYTES };
        let has_room = self.directory.make_room(limit, size, name, |name| live.contains(stem_of(name)))?;
        if has_room { Ok(()) } else { Err(no_room()) }
    }

    /// The first version is the good one; a later one has to answer before.
    fn kind_of_next(&self, id: &PolicyId) -> &'static str {
        if self.directory.open_file(&self.name(id, GOOD)).is_ok() { NEW } else { GOOD }
    }

    fn remove(&self, id: &PolicyId, kind: &str) {
        // Usually there is none.
        let _ = self.directory.remove(&self.name(id, kind));
    }

    fn name(&self, id: &PolicyId, kind: &str) -> String {
        format!("{}.{kind}", self.stem(id))
    }

    fn stem(&self, id: &PolicyId) -> String {
        format!("{}{}", self.root, part(id))
    }
}

// === impl StagedVersion ===

impl Drop for StagedVersion {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // A version that was kept has another name by now.
            let _ = self.last_good.directory.remove(&file.name);
        }
    }
}

fn no_room() -> io::Error {
    io::Error::other("there is no room for it")
}

fn warn_not_kept(id: &PolicyId, error: &io::Error) {
    tracing::warn!(policy = %id, %error, "the version cannot be kept for a restart");
}

fn part(of: impl Display) -> String {
    hex(&sha256(of.to_string().as_bytes())[..PART / 2])
}

fn stem_of(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn is_ours(name: &str) -> bool {
    name.split_once('.').is_some_and(|(stem, kind)| is_hex(stem, 2 * PART) && KINDS.contains(&kind))
}

#[cfg(test)]
mod tests;
