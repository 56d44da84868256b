//! The last good version of each policy on disk, so that a restart does not fall back on a bad one.
//!
//! One file for each policy: a line of JSON, then the bytes of the module, unless the rule is in the sidecar. The version comes into force when the files
//! of the policy are refused at a start, so the directory is a [`PrivateDir`]. Several directories of policies may
//! share it.

use std::{
    collections::BTreeMap,
    fmt::Display,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use plimsoll_core::Module;
use plimsoll_system::{
    PrivateDir,
    digest::{hex, is_hex, sha256, text_of},
};
use serde::{Deserialize, Serialize};

use crate::{
    DirectoryConfig,
    content::{Content, ContentDigests, FileRefusal, SidecarFile},
    scan::PolicyId,
    source::cel_interpreter,
};

/// The suffix of the files.
const SUFFIX: &str = ".good";

/// Hex digits of a file name for the directory of policies, and for the policy.
const PART: usize = 16;

/// A directory of versions.
#[derive(Debug)]
pub(crate) struct LastGood {
    directory: PrivateDir,
    /// The prefix of the file names of this process's directory of policies.
    root: String,
}

/// The line before a module's bytes.
#[derive(Serialize, Deserialize)]
struct Header {
    policy: String,
    /// `sha256:…` of the module.
    module: String,
    sidecar: Option<String>,
    /// The texts of the files with facts.
    facts: BTreeMap<String, String>,
    /// The content that was rolled back to this version last, and why: it must not come back at a restart.
    rejected: Option<(ContentDigests, String)>,
}

// === impl LastGood ===

impl LastGood {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// If it cannot be made or written to, is not ours, or others can write to it.
    pub(crate) fn open(directory: &Path, root: &Path) -> Result<Self, String> {
        let is_ours = |name: &str| name.strip_suffix(SUFFIX).is_some_and(|stem| is_hex(stem, 2 * PART));
        let directory = PrivateDir::open(directory, is_ours)?;
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Ok(Self { directory, root: part(root.display()) })
    }

    /// Keeps the version of these files in the place of the one before.
    pub(crate) fn keep(&self, id: &PolicyId, content: &Content) {
        let header = Header {
            policy: id.to_string(),
            module: content.digests.module.clone(),
            sidecar: content.sidecar.text.clone(),
            facts: content.fact_texts.clone(),
            rejected: None,
        };
        let has_module = content.sidecar.sidecar.cel.is_none();
        self.write(id, &header, if has_module { content.module.bytes() } else { &[] });
    }

    /// A newer version was rolled back to the one that is kept.
    pub(crate) fn reject(&self, id: &PolicyId, digests: &ContentDigests, why: &str) {
        if let Some((header, module)) = self.read_parts(id) {
            let header = Header { rejected: Some((digests.clone(), why.to_owned())), ..header };
            self.write(id, &header, &module);
        }
    }

    /// The policy is gone.
    pub(crate) fn forget(&self, id: &PolicyId) {
        // Usually there is none.
        let _ = self.directory.remove(&self.name(id));
    }

    /// The last good version of a policy, and the content that was rolled back to it. Nothing if the file is damaged or
    /// somebody else may have written it.
    pub(crate) fn read(
        &self,
        id: &PolicyId,
        config: &DirectoryConfig,
    ) -> Option<(Content, Option<(ContentDigests, FileRefusal)>)> {
        let (header, module) = self.read_parts(id)?;
        let label = format!("the last good version of {id}");
        let sidecar = header
            .sidecar
            .map_or_else(|| Ok(SidecarFile::default()), |text| SidecarFile::of_text(label.clone(), text, config));
        let sidecar = Arc::new(sidecar.ok()?);
        let is_rule = sidecar.sidecar.cel.is_some();
        let module = if is_rule { cel_interpreter() } else { Module::new(module, sha256) };
        // A rule goes on with the interpreter of this plimsoll, which may be another.
        if header.policy != id.to_string() || !is_rule && text_of(module.digest()) != header.module {
            return None;
        }
        let content = Content::of_texts(config, &id.group, sidecar, module, label, header.facts).ok()?;
        let refusal = |why| FileRefusal { is_rollback: true, ..FileRefusal::new(why) };
        Some((content, header.rejected.map(|(digests, why)| (digests, refusal(why)))))
    }

    fn read_parts(&self, id: &PolicyId) -> Option<(Header, Vec<u8>)> {
        let mut bytes = Vec::new();
        self.directory.open_file(&self.name(id)).ok()?.read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let module = bytes.split_off(end + 1);
        Some((serde_json::from_slice(&bytes).ok()?, module))
    }

    fn write(&self, id: &PolicyId, header: &Header, module: &[u8]) {
        let head = serde_json::to_vec(header).map_err(io::Error::other);
        let written = head.and_then(|head| self.directory.write(&self.name(id), &[&head, b"\n", module]));
        if let Err(error) = written {
            // No version is better than an outdated one, which must not come back.
            self.forget(id);
            tracing::warn!(policy = %id, %error, "the version cannot be kept for a restart");
        }
    }

    fn name(&self, id: &PolicyId) -> String {
        format!("{}{}{SUFFIX}", self.root, part(id))
    }
}

fn part(of: impl Display) -> String {
    hex(&sha256(of.to_string().as_bytes())[..PART / 2])
}

#[cfg(test)]
mod tests;
