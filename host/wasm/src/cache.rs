//! A cache of compiled modules on disk, so that a restart does not compile.
//!
//! These files are machine code that will run in this process, so the directory is a [`PrivateDir`].
//!
//! An entry is keyed by module, engine and version of the componentizer, that of a pre-initialised module by its
//! settings, too. It begins with the hash of its content; a corrupt one is replaced. The cache is bounded in entries and
//! bytes; the least recently used entries are evicted. Pre-initialised modules have at most half of it, and give way to
//! modules as they are: a start waits for those only. Other files in the directory are not touched.

mod name;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use parking_lot::Mutex;
use plimsoll_system::{DirLimit, PrivateDir, buffer, digest::sha256};
use tracing::{debug, warn};
use wasmtime::{Engine, component::Component};

pub(crate) use self::name::CacheKey;
use self::name::{Generation, is_entry, is_preinitialized};
use crate::{
    code::{CompiledCode, MAX_CODE_BYTES},
    engine::EngineError,
};

/// Starts every entry; the hash of the rest follows.
const MAGIC: &[u8; 16] = b"plimsoll-cwasm-1";
const HASH_BYTES: usize = 32;
const HEADER_BYTES: usize = MAGIC.len() + HASH_BYTES;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 256;

/// A directory of compiled modules.
pub(crate) struct ModuleCache {
    path: PathBuf,
    directory: PrivateDir,
    generation: Generation,
    /// Maximum bytes of all entries together.
    max_bytes: u64,
    /// Serializes writes, so that the size is checked by one at a time.
    writing: Mutex<()>,
}

// === impl ModuleCache ===

impl ModuleCache {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// If it cannot be made or written to, is not ours, or others can write to it.
    pub(crate) fn open(path: &Path, max_bytes: u64, engine: &Engine) -> Result<Self, EngineError> {
        let directory =
            PrivateDir::open(path, is_entry).map_err(|reason| EngineError::Cache { path: path.to_owned(), reason })?;
        let generation = Generation::of(engine);
        let cache = Self { path: path.to_owned(), directory, generation, max_bytes, writing: Mutex::default() };
        // Bounds may be lower than when it was written.
        if let Err(error) = cache.directory.trim(cache.limit()) {
            cache.warn_of_cleaning(&error);
        }
        Ok(cache)
    }

    /// The compiled form of a module; `None` if there is no valid entry.
    pub(crate) fn get(&self, key: &CacheKey, engine: &Engine) -> Option<Component> {
        let name = self.generation.entry(key);
        let code = match self.read(&name) {
            Ok(code) => code,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                warn!(path = %self.directory.shown(&name), %error, "a compiled module is damaged; it is compiled again");
                return None;
            }
        };
        match code.load(engine) {
            Ok(component) => Some(component),
            Err(error) => {
                warn!(path = %self.directory.shown(&name), %error, "a compiled module is not usable; it is compiled again");
                None
            }
        }
    }

    /// Stores the compiled form of a module. A failure only costs time at the next start.
    pub(crate) fn put(&self, key: &CacheKey, code: &CompiledCode) {
        let name = self.generation.entry(key);
        let size = (HEADER_BYTES + code.bytes().len()) as u64;
        if size > self.max_bytes {
            debug!(path = %self.directory.shown(&name), size, "a compiled module is larger than the whole cache may be");
            return;
        }
        let _writing = self.writing.lock();
        match self.make_room_for(size, &name, key.is_preinitialized) {
            Ok(true) => {}
            Ok(false) => {
                debug!(path = %self.directory.shown(&name), size, "the cache has no room for a compiled module");
                return;
            }
            Err(error) => self.warn_of_cleaning(&error),
        }
        match self.write(&name, code) {
            Ok(()) => debug!(path = %self.directory.shown(&name), "kept a compiled module"),
            Err(error) => warn!(path = %self.directory.shown(&name), %error, "cannot keep a compiled module"),
        }
    }

    fn read(&self, name: &str) -> io::Result<CompiledCode> {
        let mut file = self.directory.open_file(name)?;
        let length = file.metadata()?.len();
        if length > (HEADER_BYTES + MAX_CODE_BYTES) as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than any compiled module"));
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header)?;
        let mut code = buffer((length as usize).saturating_sub(HEADER_BYTES));
        Read::by_ref(&mut file).take(MAX_CODE_BYTES as u64).read_to_end(&mut code)?;
        if header[..MAGIC.len()] != *MAGIC || header[MAGIC.len()..] != sha256(&code) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its content is not what was written"));
        }
        // Marks the entry as used, for `make_room_for`. If the file system cannot, only the order of eviction suffers.
        let _ = file.set_modified(SystemTime::now());
        Ok(CompiledCode::of_cache(code))
    }

    fn write(&self, name: &str, code: &CompiledCode) -> io::Result<()> {
        self.directory.write(name, &[MAGIC, &sha256(code.bytes()), code.bytes()])
    }

    /// Evicts entries, the least recently used ones of a kind first, and removes files of interrupted writes; false if a
    /// pre-initialised module is too large for its half.
    fn make_room_for(&self, size: u64, replaced: &str, preinitialized: bool) -> io::Result<bool> {
        let (all, directory) = (self.limit(), &self.directory);
        if preinitialized {
            let half = DirLimit { files: all.files / 2, bytes: all.bytes / 2 };
            if !directory.make_room_among(half, size, replaced, is_preinitialized)? {
                return Ok(false);
            }
        } else if directory.make_room(all, size, replaced, |name| !is_preinitialized(name))? {
            return Ok(true);
        }
        // A file that cannot be removed does not keep others from being written.
        directory.make_room(all, size, replaced, |_| false).map(|_| true)
    }

    fn limit(&self) -> DirLimit {
        DirLimit { files: MAX_ENTRIES, bytes: self.max_bytes }
    }

    fn warn_of_cleaning(&self, error: &io::Error) {
        warn!(path = %self.path.display(), %error, "cannot clean up compiled modules");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    /// A cache of 64 KiB. The engine does not matter: nothing is loaded.
    fn mk_cache() -> (tempfile::TempDir, ModuleCache) {
        let parent = tempfile::tempdir().unwrap();
        let cache = ModuleCache::open(&parent.path().join("cache"), 64 << 10, &Engine::default()).unwrap();
        (parent, cache)
    }

    fn put(cache: &ModuleCache, key: &CacheKey, bytes: usize) {
        cache.put(key, &CompiledCode::of_cache(vec![0; bytes - HEADER_BYTES]));
    }

    fn has(cache: &ModuleCache, key: &CacheKey) -> bool {
        cache.directory.names().unwrap().contains(&cache.generation.entry(key))
    }

    fn preinitialized(cache: &ModuleCache) -> usize {
        cache.directory.names().unwrap().iter().filter(|name| is_preinitialized(name)).count()
    }

    #[test]
    fn pre_initialised_modules_take_at_most_half_and_no_room_of_others() {
        let (_parent, cache) = mk_cache();
        let plain = [1, 2].map(|first| CacheKey::of(&[first; 32], None));
        for key in &plain {
            put(&cache, key, 16 * KIB);
        }
        let all: Vec<_> = (0..20).map(|at| CacheKey::of(&[1; 32], Some(&at.to_string()))).collect();
        for key in &all {
            put(&cache, key, 8 * KIB);
            assert!(has(&cache, key));
        }
        assert!(plain.iter().all(|key| has(&cache, key)));
        assert_eq!(preinitialized(&cache), 4);
        put(&cache, &all[0], 33 * KIB);
        assert_eq!(preinitialized(&cache), 4, "none is removed for one that is larger than their half");
    }

    #[test]
    fn pre_initialised_modules_give_way_to_a_module_as_it_is() {
        let (_parent, cache) = mk_cache();
        let plain: Vec<_> = (0..5).map(|first| CacheKey::of(&[first; 32], None)).collect();
        for key in &plain[..2] {
            put(&cache, key, 16 * KIB);
        }
        for at in 0..2 {
            put(&cache, &CacheKey::of(&[0; 32], Some(&at.to_string())), 16 * KIB);
        }
        for (key, left) in plain[2..4].iter().zip([1, 0]) {
            put(&cache, key, 16 * KIB);
            assert_eq!(preinitialized(&cache), left);
        }
        put(&cache, &plain[4], 16 * KIB);
        assert_eq!(plain.iter().filter(|key| has(&cache, key)).count(), 4);
    }
}
