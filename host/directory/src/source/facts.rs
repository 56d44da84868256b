//! Files with facts, which a sidecar names.

use std::{collections::BTreeMap, path::Path};

use plimsoll_system::digest::{digest, sha256};

use super::files::read_facts;
use crate::{
    fact_pool::{FactPool, FileFacts, TextDigest},
    refusal::FileRefusal,
    sidecar::Sidecar,
};

/// Maximum bytes of all files that one sidecar names: each reload reads and hashes them.
const MAX_BYTES: usize = 8 << 20;

/// The files of one policy, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactFiles {
    /// As they were read.
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) sources: FileFacts,
}

// === impl FactFiles ===

impl FactFiles {
    /// Reads the files that a sidecar names, in its directory.
    ///
    /// # Errors
    /// If one leads out of the directory, cannot be read, or has something else than facts, if they are too large
    /// together, or all files of the directory have too many facts.
    pub(super) fn read(
        root: Option<&Path>,
        directory: &Path,
        sidecar: &Sidecar,
        pool: &FactPool,
    ) -> Result<Self, FileRefusal> {
        let (mut texts, mut bytes) = (BTreeMap::new(), 0);
        for file in sidecar.facts.iter().filter_map(|used| used.file.as_deref()) {
            if texts.contains_key(file) {
                continue;
            }
            let path = directory.join(file);
            let text = read_facts(root, directory, &path)?;
            bytes += text.len();
            if bytes > MAX_BYTES {
                return Err(too_large(&path));
            }
            texts.insert(file.to_owned(), text);
        }
        Ok(Self { sources: pool.read(directory, &texts)?, texts })
    }

    /// The files of a stored version.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(crate) fn restore(label: &Path, texts: BTreeMap<String, String>, pool: &FactPool) -> Result<Self, FileRefusal> {
        Ok(Self { sources: pool.restore(label, &texts)?, texts })
    }

    /// The digest of all texts; none if there are none.
    pub(crate) fn digest(&self) -> Option<String> {
        digest_of(self.sources.iter().map(|(file, content)| (&**file, content.digest)))
    }
}

/// The digest of texts by file; none if there are none.
pub(crate) fn digest_of_texts(texts: &BTreeMap<String, String>) -> Option<String> {
    digest_of(texts.iter().map(|(file, text)| (&**file, sha256(text.as_bytes()))))
}

/// The digest of files by the digests of their texts, so that each text is hashed once.
fn digest_of<'f>(files: impl Iterator<Item = (&'f str, TextDigest)>) -> Option<String> {
    let bytes = files.fold(Vec::new(), |mut bytes, (file, text)| {
        bytes.extend_from_slice(&(file.len() as u64).to_le_bytes());
        bytes.extend_from_slice(file.as_bytes());
        bytes.extend_from_slice(&text);
        bytes
    });
    (!bytes.is_empty()).then(|| digest(&bytes))
}

fn too_large(path: &Path) -> FileRefusal {
    let (path, most) = (path.display(), MAX_BYTES >> 20);
    FileRefusal::new(format!(
        "{path}: with it the files that the sidecar names have more than {most} MiB: expected at most that much for one policy"
    ))
}
