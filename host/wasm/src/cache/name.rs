//! The names of the cache's files. Files with other names are not ours.

use std::hash::{Hash, Hasher};

use plimsoll_system::digest::{hex, is_hex, sha256};
use sha2::{Digest, Sha256};
use wasmtime::Engine;

use crate::{componentize::COMPONENTIZE_VERSION, contract::VERSION};

const ENTRY: &str = ".cwasm";

/// Ends the name of the entry of a pre-initialised module.
const PREINITIALIZED: &str = "-settings.cwasm";

/// Hex digits of a module's digest, and of a generation.
const DIGEST: usize = 64;
const GENERATION: usize = 16;

/// Tells the modules of the cache apart.
pub(crate) struct CacheKey {
    digest: [u8; 32],
    pub(super) is_preinitialized: bool,
}

/// A fingerprint of everything except the module that compiled code depends on, such as the engine.
pub(super) struct Generation(String);

/// An adapter from `Hasher` to SHA-256, whose results are the same in every build.
struct StableHasher(Sha256);

// === impl CacheKey ===

impl CacheKey {
    /// The key of a module as it is, or pre-initialised with these settings.
    pub(crate) fn of(digest: &[u8; 32], settings: Option<&str>) -> Self {
        let with = |settings: &str| sha256(&[&digest[..], &sha256(settings.as_bytes())].concat());
        Self { digest: settings.map_or(*digest, with), is_preinitialized: settings.is_some() }
    }
}

// === impl Generation ===

impl Generation {
    pub(super) fn of(engine: &Engine) -> Self {
        let mut hasher = StableHasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.write(format!("{}/{VERSION}/{COMPONENTIZE_VERSION}", env!("CARGO_PKG_VERSION")).as_bytes());
        Self(hex(&hasher.0.finalize()[..GENERATION / 2]))
    }

    /// The name of an entry: `<digest>-<generation>.cwasm`, or `<digest>-<generation>-settings.cwasm` if the module is
    /// pre-initialised.
    pub(super) fn entry(&self, key: &CacheKey) -> String {
        let ending = if key.is_preinitialized { PREINITIALIZED } else { ENTRY };
        format!("{}-{}{ending}", hex(&key.digest), self.0)
    }
}

/// Whether a name is that of an entry of any generation.
pub(super) fn is_entry(name: &str) -> bool {
    let stem = name.strip_suffix(PREINITIALIZED).or_else(|| name.strip_suffix(ENTRY));
    let parts = stem.and_then(|stem| stem.split_once('-'));
    parts.is_some_and(|(digest, generation)| is_hex(digest, DIGEST) && is_hex(generation, GENERATION))
}

/// Whether the name of an entry is that of a pre-initialised module.
pub(super) fn is_preinitialized(name: &str) -> bool {
    name.ends_with(PREINITIALIZED)
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
        let generation = Generation("0123456789abcdef".to_owned());
        let entry = generation.entry(&CacheKey::of(&[7; 32], None));
        let preinitialized = generation.entry(&CacheKey::of(&[7; 32], Some("{}")));
        assert!(is_entry(&entry) && !is_preinitialized(&entry));
        assert!(is_entry(&preinitialized) && is_preinitialized(&preinitialized));
        let foreign = ["thesis-12.tex", "a.cwasm", "", ".", "x.1-2.tmp", "last-good"];
        let foreign = foreign.map(str::to_owned).into_iter().chain([
            entry.to_uppercase(),
            entry.replace(".cwasm", ".cwasm.bak"),
            entry.replace(".cwasm", ".7-x.tmp"),
            format!("0{entry}"),
            preinitialized.replace("-settings", "-settings-settings"),
        ]);
        for name in foreign {
            assert!(!is_entry(&name), "{name}");
        }
    }
}
