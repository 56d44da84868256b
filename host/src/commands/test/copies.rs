//! Copies of a policy, such as the one that was deployed from the directory of a build.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use plimsoll_directory::PolicyFiles;
use plimsoll_system::bounded_file::read_file;

/// Bytes of a sidecar that are compared; a larger one is refused as a sidecar.
const MAX_SIDECAR_BYTES: u64 = 1 << 20;

/// Finds policies with the same name, the same files and the same cases: all would have one result.
pub(super) struct Copies {
    counts: BTreeMap<String, usize>,
    seen: BTreeSet<(String, Content, Vec<PathBuf>)>,
}

/// The digest of a module, and its sidecar; none where there is no sidecar.
type Content = ([u8; 32], Option<Vec<u8>>);

// === impl Copies ===

impl Copies {
    /// Only names that occur twice are worth reading the files.
    pub(super) fn among(names: impl Iterator<Item = String>) -> Self {
        let mut counts = BTreeMap::new();
        for name in names {
            *counts.entry(name).or_default() += 1;
        }
        Self { counts, seen: BTreeSet::new() }
    }

    /// Whether an earlier policy was the same.
    pub(super) fn is_copy(&mut self, name: String, files: &PolicyFiles, cases: &[PathBuf]) -> bool {
        let is_alone = self.counts.get(&name).is_none_or(|count| *count == 1);
        let content = if is_alone { None } else { content(files) };
        content.is_some_and(|content| !self.seen.insert((name, content, cases.to_vec())))
    }
}

/// None for files that cannot be read: the report says why.
fn content(files: &PolicyFiles) -> Option<Content> {
    let module = plimsoll_directory::module_at(&files.module).ok()?;
    let sidecar = files.sidecar.as_ref().map(|path| read_file(path, MAX_SIDECAR_BYTES).ok());
    // A sidecar that cannot be read is not the same as none.
    Some((*module.digest(), sidecar.map_or(Some(None), |bytes| bytes.map(Some))?))
}
