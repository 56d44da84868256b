//! The content of the files: a version with its header line, and a rejection note.

use std::{collections::BTreeMap, io, path::Path};

use plimsoll_core::Module;
use plimsoll_system::digest::{digest, sha256, text_of};
use serde::{Deserialize, Serialize};

use crate::{
    config::ReadLimits,
    fact_pool::FactPool,
    refusal::FileRefusal,
    scan::PolicyId,
    source::{Content, ContentDigests, FactFiles, SidecarText, digest_of_texts, parse_sidecar},
};

/// A version as it was stored.
pub(crate) struct StoredVersion {
    pub(crate) module: Module,
    pub(crate) sidecar: Option<String>,
    pub(crate) digests: ContentDigests,
    /// The texts of the files with facts.
    pub(crate) facts: BTreeMap<String, String>,
}

/// The header line before a module's bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct VersionHeader {
    policy: String,
    module: String,
    sidecar: Option<String>,
    #[serde(default)]
    facts: BTreeMap<String, String>,
}

/// The content of a version that was rolled back.
#[derive(Serialize, Deserialize)]
pub(super) struct RejectionNote {
    policy: String,
    module: String,
    sidecar: Option<String>,
    #[serde(default)]
    facts: Option<String>,
    why: String,
}

// === impl StoredVersion ===

impl StoredVersion {
    /// The content that was stored.
    ///
    /// # Errors
    /// If its sidecar or facts are refused by now.
    pub(crate) fn restore(self, id: &PolicyId, bounds: &ReadLimits, pool: &FactPool) -> Result<Content, FileRefusal> {
        let label = format!("the last good version of {id}");
        let path = self.sidecar.as_ref().map(|_| Path::new(&label));
        let Self { module, sidecar, digests, facts } = self;
        let text = sidecar.map(SidecarText::stored);
        let sidecar = parse_sidecar(path, text.as_ref(), bounds)?;
        let sidecar_text = text.map(|text| text.text);
        let facts = FactFiles::restore(Path::new(&label), facts, pool)?;
        Ok(Content { sidecar, sidecar_label: label.clone(), module, module_label: label, digests, sidecar_text, facts })
    }

    /// The header line of a version; the bytes of its module follow.
    pub(super) fn head(id: &PolicyId, content: &Content) -> io::Result<Vec<u8>> {
        let header = VersionHeader {
            policy: id.to_string(),
            module: content.digests.module.clone(),
            sidecar: content.sidecar_text.clone(),
            facts: content.facts.texts.clone(),
        };
        let mut head = serde_json::to_vec(&header).map_err(io::Error::other)?;
        head.push(b'\n');
        Ok(head)
    }

    /// `None` if the file is damaged, or of another policy.
    pub(super) fn decode(id: &PolicyId, bytes: &[u8]) -> Option<Self> {
        let at = bytes.iter().position(|byte| *byte == b'\n')?;
        let header = VersionHeader::decode(id, &bytes[..at])?;
        let (module, digests) = (Module::new(bytes[at + 1..].to_vec(), sha256), header.digests());
        (text_of(module.digest()) == digests.module).then_some(Self {
            module,
            sidecar: header.sidecar,
            digests,
            facts: header.facts,
        })
    }
}

// === impl VersionHeader ===

impl VersionHeader {
    pub(super) fn decode(id: &PolicyId, line: &[u8]) -> Option<Self> {
        let header: Self = serde_json::from_slice(line).ok()?;
        (header.policy == id.to_string()).then_some(header)
    }

    pub(super) fn digests(&self) -> ContentDigests {
        let sidecar = self.sidecar.as_ref().map(|text| digest(text.as_bytes()));
        ContentDigests { module: self.module.clone(), sidecar, facts: digest_of_texts(&self.facts) }
    }
}

// === impl RejectionNote ===

impl RejectionNote {
    pub(super) fn encode(id: &PolicyId, digests: &ContentDigests, why: &str) -> io::Result<Vec<u8>> {
        let ContentDigests { module, sidecar, facts } = digests.clone();
        let note = Self { policy: id.to_string(), module, sidecar, facts, why: why.to_owned() };
        serde_json::to_vec(&note).map_err(io::Error::other)
    }

    /// The digests of the content, and why it was rolled back.
    pub(super) fn decode(id: &PolicyId, bytes: &[u8]) -> Option<(ContentDigests, String)> {
        let note: Self = serde_json::from_slice(bytes).ok()?;
        let digests = ContentDigests { module: note.module, sidecar: note.sidecar, facts: note.facts };
        (note.policy == id.to_string()).then_some((digests, note.why))
    }
}
