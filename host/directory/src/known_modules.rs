//! Remembers the digests of modules, so that a file that many sidecars name is not read for each of them in vain.

use std::{collections::HashMap, path::Path, time::SystemTime};

use parking_lot::Mutex;
use plimsoll_system::FileStamp;

/// Maximum entries; a directory has at most 2,000 files. With more, all are forgotten.
const MAX_MODULES: usize = 4_000;

/// Digests of modules by the stamps of their files.
#[derive(Debug, Default)]
pub(crate) struct KnownModules(Mutex<HashMap<FileStamp, [u8; 32]>>);

// === impl KnownModules ===

impl KnownModules {
    /// The digest of the file with this stamp.
    pub(crate) fn of(&self, stamp: FileStamp) -> Option<[u8; 32]> {
        self.0.lock().get(&stamp).copied()
    }

    /// Records the digest of a file that was read after this stamp was taken.
    pub(crate) fn note(&self, module: &Path, before: FileStamp, digest: &[u8; 32]) {
        let is_certain = matches!(before, FileStamp::File { .. }) && !before.may_repeat(SystemTime::now());
        if !is_certain || before != FileStamp::of(module) {
            return;
        }
        let mut digests = self.0.lock();
        if digests.len() >= MAX_MODULES {
            digests.clear();
        }
        digests.insert(before, *digest);
    }
}
