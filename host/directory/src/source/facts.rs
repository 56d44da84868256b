//! Files with facts, which a sidecar names.

use std::{collections::BTreeMap, path::Path};

use plimsoll_system::digest::digest;

use super::files::read_facts;
use crate::{
    fact_pool::{FactPool, FileFacts},
    refusal::FileRefusal,
    sidecar::Sidecar,
};

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
    /// If one leads out of the directory, cannot be read, or has something else than facts, or all files
    /// together have too many.
    pub(super) fn read(
        root: Option<&Path>,
        directory: &Path,
        sidecar: &Sidecar,
        pool: &FactPool,
    ) -> Result<Self, FileRefusal> {
        let mut texts = BTreeMap::new();
        for file in sidecar.facts.iter().filter_map(|own| own.file.as_deref()) {
            texts.insert(file.to_owned(), read_facts(root, directory, &directory.join(file))?);
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
        digest_of(&self.texts)
    }
}

/// The digest of texts by file; none if there are none.
pub(crate) fn digest_of(texts: &BTreeMap<String, String>) -> Option<String> {
    let length = |text: &str| (text.len() as u64).to_le_bytes();
    let bytes = texts.iter().flat_map(|(file, text)| [file, text]).flat_map(|text| {
        let head: Vec<u8> = length(text).into();
        head.into_iter().chain(text.bytes())
    });
    (!texts.is_empty()).then(|| digest(&bytes.collect::<Vec<u8>>()))
}
