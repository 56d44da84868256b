//! The last good version of each policy on disk, so that a restart does not fall back on a bad one.
//!
//! What lies here is put in force when a policy's files are refused, so the directory is a [`PrivateDir`], as the
//! cache is. Several directories of policies may share it. What is of none that this process has loaded makes room
//! for what is, and what is of a policy that is gone from this process's directory is removed.

use std::{
    collections::BTreeSet,
    fmt::Display,
    io::{self, Read as _},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use plimsoll_system::{
    DirLimit, PrivateDir,
    digest::{digest, hex, is_hex, sha256},
};
use serde::{Deserialize, Serialize};

use crate::{
    scan::PolicyId,
    source::{Content, ContentDigests},
};

/// The most bytes of all that is kept.
const MAX_BYTES: u64 = 48 << 20;

/// The most files: a version, one that has still to answer, and a note for each policy.
const MAX_FILES: usize = 6_000;

/// Ends the name of a version that has answered, or is the first.
const GOOD: &str = "good";

/// Of one that has still to answer a call.
const NEW: &str = "new";

/// Of a note that a version was taken back.
const BAD: &str = "bad";

/// Hex digits of a name that stand for the directory of policies, and for the policy.
const PART: usize = 16;

const KINDS: [&str; 3] = [GOOD, NEW, BAD];

/// A directory of versions.
#[derive(Debug)]
pub(crate) struct LastGood {
    directory: PrivateDir,
    /// Begins the names of the files of this process's directory of policies.
    root: String,
    /// The names, without their endings, of policies that there are.
    live: Mutex<BTreeSet<String>>,
}

/// A version as it was kept.
pub(crate) struct StoredVersion {
    pub(crate) module: Vec<u8>,
    pub(crate) sidecar: Option<String>,
    pub(crate) digests: ContentDigests,
}

/// What stands before a module's bytes, on a line of its own.
#[derive(Serialize, Deserialize)]
struct VersionHeader {
    policy: String,
    module: String,
    sidecar: Option<String>,
}

/// A content that was taken back.
#[derive(Serialize, Deserialize)]
struct RejectionNote {
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
    pub(crate) fn open(directory: &Path, root: &Path) -> Result<Self, String> {
        let directory = PrivateDir::open(directory, is_ours)?;
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Ok(Self { directory, root: part(root.display()), live: Mutex::default() })
    }

    /// Notes which policies there are: what is kept of them makes no room for others.
    pub(crate) fn expect<'i>(&self, policies: impl Iterator<Item = &'i PolicyId>) {
        self.live().extend(policies.map(|id| self.stem(id)));
    }

    /// Removes what is of this directory of policies and of none of the policies that there are.
    pub(crate) fn sweep(&self) {
        let names = self.directory.names().unwrap_or_default();
        let live = self.live();
        let is_gone = |name: &&String| name.starts_with(&self.root) && !live.contains(stem_of(name));
        for name in names.iter().filter(is_gone) {
            // Another gateway may have removed it.
            let _ = self.directory.remove(name);
        }
    }

    /// Keeps a version that was loaded: as the last good one if there is none yet, else until it has answered.
    pub(crate) fn keep(&self, id: &PolicyId, content: &Content) {
        if self.good(id).is_some_and(|good| good.digests == content.digests) {
            // After a restart the same version is loaded again.
            self.remove(id, NEW);
            return;
        }
        self.live().insert(self.stem(id));
        let kind = if self.directory.open_file(&self.name(id, GOOD)).is_ok() { NEW } else { GOOD };
        let header = VersionHeader {
            policy: id.to_string(),
            module: content.digests.module.clone(),
            sidecar: content.sidecar_text.clone(),
        };
        let written = serde_json::to_vec(&header).map_err(io::Error::other).and_then(|mut head| {
            head.push(b'\n');
            self.write(id, kind, &[&head, &content.module])
        });
        if let Err(error) = written {
            // Half a pair would be worse than none: an older version must not come back.
            self.remove(id, kind);
            tracing::warn!(policy = %id, %error, "the version cannot be kept for a restart");
        }
    }

    /// The version that was loaded last has answered: it is the good one now.
    pub(crate) fn promote(&self, id: &PolicyId, digests: &ContentDigests) {
        // There may be none, for want of room; an older version must not come back in its place.
        let is_kept = self.directory.rename(&self.name(id, NEW), &self.name(id, GOOD)).is_ok();
        if !is_kept && self.good(id).is_some_and(|good| good.digests != *digests) {
            self.remove(id, GOOD);
        }
        self.remove(id, BAD);
    }

    /// The version that was loaded last was taken back.
    pub(crate) fn take_back(&self, id: &PolicyId, digests: &ContentDigests, why: &str) {
        self.remove(id, NEW);
        let ContentDigests { module, sidecar } = digests.clone();
        let note = RejectionNote { policy: id.to_string(), module, sidecar, why: why.to_owned() };
        let written = serde_json::to_vec(&note).map_err(io::Error::other);
        if let Err(error) = written.and_then(|note| self.write(id, BAD, &[&note])) {
            tracing::debug!(policy = %id, %error, "that the version was taken back will be forgotten at a restart");
        }
    }

    /// The policy is gone.
    pub(crate) fn forget(&self, id: &PolicyId) {
        for kind in KINDS {
            self.remove(id, kind);
        }
        self.live().remove(&self.stem(id));
    }

    /// The last good version of a policy.
    pub(crate) fn good(&self, id: &PolicyId) -> Option<StoredVersion> {
        let bytes = self.read(id, GOOD).ok()?;
        let at = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: VersionHeader = serde_json::from_slice(&bytes[..at]).ok()?;
        let module = bytes[at + 1..].to_vec();
        let is_whole = digest(&module) == header.module && header.policy == id.to_string();
        let sidecar = header.sidecar.as_ref().map(|text| digest(text.as_bytes()));
        let digests = ContentDigests { module: header.module, sidecar };
        is_whole.then_some(StoredVersion { module, sidecar: header.sidecar, digests })
    }

    /// The content that was taken back last, and why.
    pub(crate) fn taken_back(&self, id: &PolicyId) -> Option<(ContentDigests, String)> {
        let note: RejectionNote = serde_json::from_slice(&self.read(id, BAD).ok()?).ok()?;
        (note.policy == id.to_string())
            .then_some((ContentDigests { module: note.module, sidecar: note.sidecar }, note.why))
    }

    fn read(&self, id: &PolicyId, kind: &str) -> io::Result<Vec<u8>> {
        let file = self.directory.open_file(&self.name(id, kind))?;
        let length = file.metadata()?.len();
        if length > MAX_BYTES {
            return Err(io::Error::other("it is no file that was written here"));
        }
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, id: &PolicyId, kind: &str, parts: &[&[u8]]) -> io::Result<()> {
        let name = self.name(id, kind);
        let size = parts.iter().map(|part| part.len() as u64).sum();
        // Held while it is written, so that files are counted one after another.
        let live = self.live();
        let limit = DirLimit { files: MAX_FILES, bytes: MAX_BYTES };
        if !self.directory.make_room(limit, size, &name, |name| live.contains(stem_of(name)))? {
            return Err(io::Error::other("there is no room for it"));
        }
        self.directory.write(&name, parts)
    }

    fn remove(&self, id: &PolicyId, kind: &str) {
        // Mostly there is none.
        let _ = self.directory.remove(&self.name(id, kind));
    }

    fn name(&self, id: &PolicyId, kind: &str) -> String {
        format!("{}.{kind}", self.stem(id))
    }

    fn stem(&self, id: &PolicyId) -> String {
        format!("{}{}", self.root, part(id))
    }

    fn live(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
mod tests {
    use super::*;
    use crate::config::ReadLimits;

    fn content(id: &PolicyId, module: &[u8]) -> Content {
        let digests = ContentDigests { module: digest(module), sidecar: None };
        Content::of_kept(id, StoredVersion { module: module.to_vec(), sidecar: None, digests }, &ReadLimits::default())
            .unwrap()
    }

    #[test]
    fn an_older_version_does_not_come_back_where_there_was_no_room_for_the_one_that_answered() {
        let directory = tempfile::tempdir().unwrap();
        let last_good = LastGood::open(&directory.path().join("last-good"), directory.path()).unwrap();
        let id = PolicyId { group: "".into(), name: "p".into() };
        let (old, new) = (content(&id, b"old"), content(&id, &vec![1; MAX_BYTES as usize]));
        last_good.keep(&id, &old);
        // As after a restart with unchanged files: it is kept once.
        last_good.keep(&id, &old);
        assert_eq!(last_good.directory.names().unwrap().len(), 1);
        last_good.promote(&id, &old.digests);
        assert_eq!(last_good.good(&id).unwrap().digests, old.digests);
        last_good.keep(&id, &new);
        assert_eq!(last_good.good(&id).unwrap().digests, old.digests, "until the new one has answered");
        last_good.promote(&id, &new.digests);
        assert!(last_good.good(&id).is_none());
    }

    #[test]
    fn the_version_that_is_replaced_takes_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let last_good = LastGood::open(&directory.path().join("last-good"), directory.path()).unwrap();
        let id = PolicyId { group: "".into(), name: "p".into() };
        let size = MAX_BYTES as usize / 2 - 1000;
        for number in 0..4 {
            let version = content(&id, &vec![number; size]);
            last_good.keep(&id, &version);
            last_good.promote(&id, &version.digests);
            assert_eq!(last_good.good(&id).unwrap().digests, version.digests);
        }
    }

    #[test]
    fn what_is_of_no_policy_makes_room_and_goes_with_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let open =
            |root: &str| LastGood::open(&directory.path().join("last-good"), &directory.path().join(root)).unwrap();
        let id = |name: &str| PolicyId { group: "".into(), name: name.into() };
        let size = MAX_BYTES as usize / 3;
        let keep =
            |last_good: &LastGood, name: &str| last_good.keep(&id(name), &content(&id(name), &vec![1; size - 1000]));
        let is_kept = |last_good: &LastGood, name: &str| last_good.good(&id(name)).is_some();
        let other = open("other");
        keep(&other, "theirs");
        let before = open("policies");
        keep(&before, "gone");
        keep(&before, "here");
        let now = open("policies");
        now.expect([id("here"), id("new")].iter());
        keep(&now, "new");
        assert!(is_kept(&now, "here") && is_kept(&now, "new"));
        assert!(!is_kept(&other, "theirs"), "the oldest that nobody here needs made room");
        assert!(is_kept(&now, "gone"));
        keep(&other, "theirs");
        now.sweep();
        assert!(is_kept(&now, "here") && is_kept(&now, "new") && !is_kept(&now, "gone"));
        assert_eq!(now.directory.names().unwrap().len(), 2 + usize::from(is_kept(&other, "theirs")));
    }
}
