//! The names of the cache's files. A file of another form is somebody else's.

use std::{
    ffi::CStr,
    hash::{Hash, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

use sha2::{Digest, Sha256};
use wasmtime::Engine;

use crate::{contract::VERSION, digest::hex, lift::LIFT_VERSION};

const ENTRY: &str = ".cwasm";
const TEMPORARY: &str = ".tmp";

/// Hex digits of a module's digest, and of a generation.
const DIGEST: usize = 64;
const GENERATION: usize = 16;

/// Names the engine and everything else that code depends on beside the module.
pub(super) struct Generation(String);

/// The name of an entry, `<digest>-<generation>.cwasm`, or of one that is being written, `<…>.<pid>-<n>.tmp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(String);

/// Hands what an engine hashes to SHA-256, whose results are the same in every build.
struct StableHasher(Sha256);

// === impl Generation ===

impl Generation {
    pub(super) fn of(engine: &Engine) -> Self {
        let mut hasher = StableHasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.write(format!("{}/{VERSION}/{LIFT_VERSION}", env!("CARGO_PKG_VERSION")).as_bytes());
        Self(hex(&hasher.0.finalize()[..GENERATION / 2]))
    }

    pub(super) fn entry(&self, module: &[u8; 32]) -> Name {
        Name(format!("{}-{}{ENTRY}", hex(module), self.0))
    }
}

// === impl Name ===

impl Name {
    /// The name, if it is one of ours.
    pub(super) fn parse(name: &CStr) -> Option<Self> {
        let name = name.to_str().ok()?;
        let stem = name.strip_suffix(ENTRY).or_else(|| {
            let (stem, writer) = name.strip_suffix(TEMPORARY)?.split_once('.')?;
            let (process, number) = writer.split_once('-')?;
            (is_decimal(process) && is_decimal(number)).then_some(stem)
        })?;
        let (digest, generation) = stem.split_once('-')?;
        let is_ours = is_hex(digest, DIGEST) && is_hex(generation, GENERATION);
        is_ours.then(|| Self(name.to_owned()))
    }

    /// A name that no other write uses.
    pub(super) fn temporary(&self) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let stem = self.0.strip_suffix(ENTRY).unwrap_or(&self.0);
        Self(format!("{stem}.{}-{count}{TEMPORARY}", std::process::id()))
    }

    pub(super) fn is_temporary(&self) -> bool {
        self.0.ends_with(TEMPORARY)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

// === impl StableHasher ===

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let hash: [u8; 32] = self.0.clone().finalize().into();
        hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn only_names_of_ours_are_names() {
        let entry = Generation("0123456789abcdef".to_owned()).entry(&[7; 32]);
        let parse = |name: &str| Name::parse(&CString::new(name).unwrap());
        assert_eq!(parse(entry.as_str()), Some(entry.clone()));
        let temporary = entry.temporary();
        assert!(temporary.is_temporary() && !entry.is_temporary());
        assert_eq!(parse(temporary.as_str()), Some(temporary.clone()));
        let foreign = ["thesis-12.tex", "a.cwasm", "", ".", "x.1-2.tmp", "last-good"];
        let foreign = foreign.map(str::to_owned).into_iter().chain([
            entry.as_str().to_uppercase(),
            entry.as_str().replace(".cwasm", ".cwasm.bak"),
            entry.as_str().replace(".cwasm", ".7-x.tmp"),
            format!("0{}", entry.as_str()),
        ]);
        for name in foreign {
            assert_eq!(parse(&name), None, "{name}");
        }
    }
}
