//! Compiled modules on disk, so that a restart does not compile.
//!
//! These files are machine code that will run in this process, so the directory is a [`PrivateDir`].
//!
//! An entry is named by what it was made of (module, engine, lift) and begins with the hash of its content; one that
//! does not fit is made again. The entries are bounded in number and in bytes, and those unused for longest go
//! first. Whatever else lies in the directory is not touched.

mod name;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use plimsoll_system::{DirLimit, PrivateDir, digest::sha256};
use tracing::{debug, warn};
use wasmtime::{Engine, component::Component};

use self::name::{Generation, is_entry};
use crate::{code::CompiledCode, compile::MAX_CODE_BYTES, engine::EngineError};

/// Starts every entry; the hash of the rest follows.
const MAGIC: &[u8; 16] = b"plimsoll-cwasm-1";
const HASH_BYTES: usize = 32;
const HEADER_BYTES: usize = MAGIC.len() + HASH_BYTES;

/// The most entries that are kept.
const MAX_ENTRIES: usize = 256;

/// A directory of compiled modules.
pub(crate) struct ModuleCache {
    path: PathBuf,
    directory: PrivateDir,
    generation: Generation,
    /// The most bytes of all entries together.
    max_bytes: u64,
    /// Held while entries are written, so that they are counted one after another.
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

    /// The compiled form of a module; none if there is none that can be trusted.
    pub(crate) fn get(&self, module: &[u8; 32], engine: &Engine) -> Option<Component> {
        let name = self.generation.entry(module);
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

    /// Keeps the compiled form of a module. A failure costs time at the next start, no more.
    pub(crate) fn put(&self, module: &[u8; 32], code: &CompiledCode) {
        let name = self.generation.entry(module);
        let size = (HEADER_BYTES + code.bytes().len()) as u64;
        if size > self.max_bytes {
            debug!(path = %self.directory.shown(&name), size, "a compiled module is larger than the whole cache may be");
            return;
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.make_room_for(size, &name);
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
        let mut code = Vec::with_capacity((length as usize).saturating_sub(HEADER_BYTES));
        Read::by_ref(&mut file).take(MAX_CODE_BYTES as u64).read_to_end(&mut code)?;
        if header[..MAGIC.len()] != *MAGIC || header[MAGIC.len()..] != sha256(&code) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its content is not what was written"));
        }
        // Only for `make_room_for`; a file system that cannot do it forgets in another order.
        let _ = file.set_modified(SystemTime::now());
        Ok(CompiledCode::of_cache(code))
    }

    fn write(&self, name: &str, code: &CompiledCode) -> io::Result<()> {
        self.directory.write(name, &[MAGIC, &sha256(code.bytes()), code.bytes()])
    }

    /// Drops the entries that were not used for longest, and what interrupted writes have left.
    fn make_room_for(&self, size: u64, replaced: &str) {
        if let Err(error) = self.directory.make_room(self.limit(), size, replaced, |_| false) {
            self.warn_of_cleaning(&error);
        }
    }

    fn limit(&self) -> DirLimit {
        DirLimit { files: MAX_ENTRIES, bytes: self.max_bytes }
    }

    fn warn_of_cleaning(&self, error: &io::Error) {
        warn!(path = %self.path.display(), %error, "cannot clean up compiled modules");
    }
}
