//! The names of the cache's files. Files with other names are not ours.

use std::hash::{Hash, Hasher};

use plimsoll_system::digest::{hex, is_hex};
use sha2::{Digest, Sha256};
use wasmtime::Engine;

use crate::{contract::VERSION, lift::LIFT_VERSION};

const ENTRY: &str = ".cwasm";

/// Hex digits of a module's digest, and of a generation.
const DIGEST: usize = 64;
const GENERATION: usize = 16;

/// A fingerprint of everything except the module that compiled code depends on, such as the engine.
pub(super) struct Generation(String);

/// An adapter from `Hasher` to SHA-256, whose results are the same in every build.
struct StableHasher(Sha256);

// === impl Generation ===

impl Generation {
    pub(super) fn of(engine: &Engine) -> Self {
        let mut hasher = StableHasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.write(format!("{}/{VERSION}/{LIFT_VERSION}", env!("CARGO_PKG_VERSION")).as_bytes());
        Self(hex(&hasher.0.finalize()[..GENERATION / 2]))
    }

    /// The name of an entry: `<digest>-<generation>.cwasm`.
    pub(super) fn entry(&self, module: &[u8; 32]) -> String {
        format!("{}-{}{ENTRY}", hex(module), self.0)
    }
}

/// Whether a name is that of an entry of any generation.
pub(super) fn is_entry(name: &str) -> bool {
    let parts = name.strip_suffix(ENTRY).and_then(|stem| stem.split_once('-'));
    parts.is_some_and(|(digest, generation)| is_hex(digest, DIGEST) && is_hex(generation, GENERATION))
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
    use super::*;

    #[test]
    fn only_names_of_ours_are_names() {
        let entry = Generation("0123456789abcdef".to_owned()).entry(&[7; 32]);
        assert!(is_entry(&entry));
        let foreign = ["thesis-12.tex", "a.cwasm", "", ".", "x.1-2.tmp", "last-good"];
        let foreign = foreign.map(str::to_owned).into_iter().chain([
            entry.to_uppercase(),
            entry.replace(".cwasm", ".cwasm.bak"),
            entry.replace(".cwasm", ".7-x.tmp"),
            format!("0{entry}"),
        ]);
        for name in foreign {
            assert!(!is_entry(&name), "{name}");
        }
    }
}
