//! The content of the files: a version with its header line, and a rejection note.

use std::{collections::BTreeMap, io};

use plimsoll_system::digest::digest;
use serde::{Deserialize, Serialize};

use crate::{
    scan::PolicyId,
    source::{Content, ContentDigests, digest_of_facts},
};

/// A version as it was stored.
pub(crate) struct StoredVersion {
    pub(crate) module: Vec<u8>,
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
        let (module, digests) = (bytes[at + 1..].to_vec(), header.digests());
        (digest(&module) == digests.module).then_some(Self {
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
        ContentDigests { module: self.module.clone(), sidecar, facts: digest_of_facts(&self.facts) }
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
