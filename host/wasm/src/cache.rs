//! Compiled modules on disk, so that a restart does not compile.
//!
//! These files are machine code that will run in this process, so the directory must be ours alone: mode 0700, and
//! refused if somebody else owns it or can write to it. It is opened once, and everything happens below that
//! descriptor: somebody who can rename the directory cannot put another one in its place.
//!
//! An entry is named by what it was made of (module, engine, lift) and begins with the hash of its content; one that
//! does not fit is made again. The entries are bounded in number and in bytes, and those unused for longest go
//! first. Whatever else lies in the directory is not touched.

mod folder;
mod name;

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use tracing::{debug, warn};
use wasmtime::{Engine, component::Component};

use self::{
    folder::{Entry, Folder},
    name::{Generation, Name},
};
use crate::{code::Code, compile::MAX_CODE_BYTES, digest::sha256, engine::EngineError};

/// Starts every entry; the hash of the rest follows.
const MAGIC: &[u8; 16] = b"plimsoll-cwasm-1";
const HASH_BYTES: usize = 32;
const HEADER_BYTES: usize = MAGIC.len() + HASH_BYTES;

/// The most entries that are kept.
const MAX_ENTRIES: usize = 256;

/// A directory of compiled modules.
pub(crate) struct Cache {
    path: PathBuf,
    folder: Folder,
    generation: Generation,
    /// The most bytes of all entries together.
    max_bytes: u64,
    /// Held while entries are written, so that they are counted one after another.
    writing: Mutex<()>,
}

// === impl Cache ===

impl Cache {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// If it cannot be made or written to, is not ours, or others can write to it.
    pub(crate) fn open(path: &Path, max_bytes: u64, engine: &Engine) -> Result<Self, EngineError> {
        let folder = Folder::open(path).map_err(|reason| EngineError::Cache { path: path.to_owned(), reason })?;
        let generation = Generation::of(engine);
        let cache = Self { path: path.to_owned(), folder, generation, max_bytes, writing: Mutex::default() };
        cache.make_room_for(0);
        Ok(cache)
    }

    /// The compiled form of a module; none if there is none that can be trusted.
    pub(crate) fn get(&self, module: &[u8; 32], engine: &Engine) -> Option<Component> {
        let name = self.generation.entry(module);
        let code = match self.read(&name) {
            Ok(code) => code,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                warn!(path = %self.shown(&name), %error, "a compiled module is damaged; it is compiled again");
                return None;
            }
        };
        match code.load(engine) {
            Ok(component) => Some(component),
            Err(error) => {
                warn!(path = %self.shown(&name), %error, "a compiled module is not usable; it is compiled again");
                None
            }
        }
    }

    /// Keeps the compiled form of a module. A failure costs time at the next start, no more.
    pub(crate) fn put(&self, module: &[u8; 32], code: &Code) {
        let name = self.generation.entry(module);
        let size = (HEADER_BYTES + code.bytes().len()) as u64;
        if size > self.max_bytes {
            debug!(path = %self.shown(&name), size, "a compiled module is larger than the whole cache may be");
            return;
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.make_room_for(size);
        match self.write(&name, code) {
            Ok(()) => debug!(path = %self.shown(&name), "kept a compiled module"),
            Err(error) => warn!(path = %self.shown(&name), %error, "cannot keep a compiled module"),
        }
    }

    fn read(&self, name: &Name) -> io::Result<Code> {
        let mut file = self.folder.open_private(name)?;
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
        Ok(Code::of_cache(code))
    }

    /// Writes beside the entry and renames, so that nobody ever reads a part.
    fn write(&self, name: &Name, code: &Code) -> io::Result<()> {
        let temporary = name.temporary();
        let written = self.folder.create_private(&temporary).and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(&sha256(code.bytes()))?;
            file.write_all(code.bytes())?;
            self.folder.rename(&temporary, name)
        });
        if written.is_err() {
            // It may not exist; the error that counts is the first.
            let _ = self.folder.remove(&temporary);
        }
        written
    }

    /// Drops the entries that were not used for longest, and what interrupted writes have left.
    fn make_room_for(&self, size: u64) {
        let mut entries = match self.folder.entries() {
            Ok(entries) => entries,
            Err(error) => {
                warn!(path = %self.path.display(), %error, "cannot clean up compiled modules");
                return;
            }
        };
        entries.sort_by_key(|entry| entry.modified);
        let kept = entries.iter().filter(|entry| !entry.name.is_temporary());
        let (mut count, mut bytes) = kept.fold((0, 0_u64), |(count, bytes), entry| (count + 1, bytes + entry.size));
        for entry in &entries {
            let is_surplus = count >= MAX_ENTRIES || bytes.saturating_add(size) > self.max_bytes;
            let goes = if entry.name.is_temporary() { entry.is_abandoned() } else { is_surplus };
            if goes && self.drop_entry(entry) && !entry.name.is_temporary() {
                count -= 1;
                bytes -= entry.size;
            }
        }
    }

    /// One that cannot be removed is left, and others go in its place.
    fn drop_entry(&self, entry: &Entry) -> bool {
        let result = self.folder.remove(&entry.name);
        if let Err(error) = &result {
            debug!(path = %self.shown(&entry.name), %error, "cannot remove a compiled module");
        }
        result.is_ok()
    }

    /// For logs; only the descriptor is ever opened.
    fn shown(&self, name: &Name) -> String {
        self.path.join(name.as_str()).display().to_string()
    }
}
