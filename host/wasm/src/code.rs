//! Compiled code that this process will run, its cache on disk, and the settings that it depends on.

use std::{
    fs,
    io::{self, Read},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::SystemTime,
};

use parking_lot::Mutex;
use plimsoll_system::{
    PrivateDir,
    digest::{hex, is_hex, sha256},
};
use tracing::{debug, warn};
use wasmtime::{Config, Engine, component::Component};

use crate::{componentize::COMPONENTIZE_VERSION, contract::RefusedError};

/// Maximum bytes of compiled code of one module; large language runtimes have about 30 MiB.
pub(crate) const MAX_CODE_BYTES: usize = 128 << 20;

/// Maximum frames of a backtrace: the innermost ones show where a guest failed.
const FRAMES: usize = 8;

/// Bytes of native stack that guest code may use; every thread that calls guests has more.
const STACK: usize = 512 << 10;

/// Starts every entry; the hash of the rest follows.
const MAGIC: &[u8; 16] = b"plimsoll-cwasm-1";
const HEADER_BYTES: usize = MAGIC.len() + 32;

const ENTRY: &str = ".cwasm";

/// Hex digits of a module's digest, which begins the name of its entry.
const DIGEST: usize = 64;

/// A component serialized by wasmtime.
///
/// It comes from [`CompiledCode::of`], or from one of two trusted sources of bytes: the compile process that this
/// process has started, and the [`ModuleCache`].
pub(crate) struct CompiledCode(Vec<u8>);

/// Compiled modules on disk, so that a restart does not compile.
///
/// These files are machine code that will run in this process, so the directory must be ours alone. An entry is named by
/// the digest of its module and the version of this program. It begins with the hash of its content, and a corrupt one is
/// compiled again. The least recently used entries make room for new ones; files with other names are not touched.
pub(crate) struct ModuleCache {
    path: PathBuf,
    directory: PrivateDir,
    /// Maximum bytes of all entries together.
    max_bytes: u64,
    /// Serializes writes, so that the size is checked by one at a time.
    writing: Mutex<()>,
}

// === impl CompiledCode ===

impl CompiledCode {
    /// The code of a component that was compiled in this process.
    ///
    /// # Errors
    /// If it exceeds the limit.
    pub(crate) fn of(component: &Component) -> Result<Self, RefusedError> {
        let code = component.serialize().map_err(|error| RefusedError::of_wasmtime(&error))?;
        if code.len() > MAX_CODE_BYTES {
            return Err(RefusedError::TooMuchCode { mebi: code.len() >> 20, at_most: MAX_CODE_BYTES >> 20 });
        }
        Ok(Self(code))
    }

    /// Code that our compile process wrote to its pipe.
    pub(crate) fn of_child(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Deserializes the code.
    ///
    /// # Errors
    /// If it was compiled for another engine, or needs more memories, tables or modules than the pool allows.
    #[expect(unsafe_code, reason = "wasmtime cannot tell whether machine code is its own")]
    pub(crate) fn load(&self, engine: &Engine) -> Result<Component, RefusedError> {
        // SAFETY: the bytes must be what `Component::serialize` returned, unmodified. There are three sources:
        // - `of`: they are.
        // - `of_child`: this program, started from its own executable, wrote them to a pipe that no other process has
        //   an end of. That process read an untrusted module: we trust that the compiler in it, if it did not crash,
        //   was not taken over by the module, just as we would if it ran here. The process bounds memory and time
        //   and takes crashes; it is no wall against a compiler that a module makes write what it likes.
        // - `ModuleCache::read`: `ModuleCache::put` is the only writer of entries and writes code of the other two sources
        //   alone; `PrivateDir::open` has checked that the directory is our user's and that nobody else can write to it,
        //   and `read` that the bytes are the ones that were hashed when they were written.
        // Whether they are of this engine and version wasmtime itself checks.
        unsafe { Component::deserialize(engine, &self.0) }.map_err(|error| RefusedError::of_wasmtime(&error))
    }
}

// === impl ModuleCache ===

impl ModuleCache {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// If it cannot be made, is not ours, or others can write to it.
    pub(crate) fn open(path: &Path, max_bytes: u64) -> Result<Self, String> {
        let directory = PrivateDir::open(path, is_entry)?;
        let cache = Self { path: path.to_owned(), directory, max_bytes, writing: Mutex::default() };
        // The bound may be lower than when it was written.
        cache.make_room_for(0);
        Ok(cache)
    }

    /// The compiled form of a module; `None` if there is no valid entry.
    pub(crate) fn get(&self, digest: &[u8; 32], engine: &Engine) -> Option<Component> {
        let name = entry(digest);
        let loaded = self.read(&name).and_then(|code| code.load(engine).map_err(io::Error::other));
        match loaded {
            Ok(component) => Some(component),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                warn!(name, %error, "a compiled module is not usable; it is compiled again");
                None
            }
        }
    }

    fn read(&self, name: &str) -> io::Result<CompiledCode> {
        let mut file = self.directory.open_file(name)?;
        let (mut header, mut code) = ([0; HEADER_BYTES], Vec::new());
        file.read_exact(&mut header)?;
        Read::by_ref(&mut file).take(MAX_CODE_BYTES as u64).read_to_end(&mut code)?;
        if header[..MAGIC.len()] != *MAGIC || header[MAGIC.len()..] != sha256(&code) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its content is not what was written"));
        }
        // Marks the entry as used. If the file system cannot, only the order of eviction suffers.
        let _ = file.set_modified(SystemTime::now());
        Ok(CompiledCode(code))
    }

    /// Stores the compiled form of a module. A failure only costs time at the next start.
    pub(crate) fn put(&self, digest: &[u8; 32], code: &CompiledCode) {
        let name = entry(digest);
        let size = (HEADER_BYTES + code.bytes().len()) as u64;
        if size > self.max_bytes {
            debug!(name, size, "a compiled module is larger than the whole cache may be");
            return;
        }
        let _writing = self.writing.lock();
        self.make_room_for(size);
        if let Err(error) = self.directory.write(&name, &[MAGIC, &sha256(code.bytes()), code.bytes()]) {
            warn!(name, %error, "cannot keep a compiled module");
        }
    }

    /// Removes the least recently used entries until there is room for one of this size.
    fn make_room_for(&self, size: u64) {
        let mut entries = match entries(&self.path) {
            Ok(entries) => entries,
            Err(error) => {
                warn!(path = %self.path.display(), %error, "cannot clean up compiled modules");
                return;
            }
        };
        entries.sort_unstable();
        let mut bytes = size + entries.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, path) in entries {
            if bytes <= self.max_bytes {
                break;
            }
            // One that cannot be removed is left, and others are removed instead.
            if fs::remove_file(path).is_ok() {
                bytes -= size;
            }
        }
    }
}

fn entry(digest: &[u8; 32]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{}-{version}-{COMPONENTIZE_VERSION}{ENTRY}", hex(digest))
}

/// Whether a file is an entry, or one that an interrupted write has left.
fn is_entry(name: &str) -> bool {
    let digest = name.split_once('-').map(|(digest, _)| digest);
    name.contains(ENTRY) && digest.is_some_and(|digest| is_hex(digest, DIGEST))
}

/// The time of the last use, the size and the path of each entry.
fn entries(directory: &Path) -> io::Result<Vec<(SystemTime, u64, PathBuf)>> {
    let files = fs::read_dir(directory)?.flatten();
    let ours = files.filter(|file| file.file_name().to_str().is_some_and(is_entry));
    let entry = |file: fs::DirEntry| {
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((metadata.modified().ok()?, metadata.len(), file.path()))
    };
    Ok(ours.filter_map(entry).collect())
}

/// The settings that compiled code depends on: any engine with these settings can run the code of another.
///
/// It uses the on-demand allocator: a process that only compiles needs no pool, and the pool does not affect the code.
pub(crate) fn compile_config() -> Config {
    let mut wasmtime = Config::new();
    wasmtime
        .wasm_component_model(true)
        // Answers must be deterministic on every processor.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .wasm_memory64(false)
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES))
        // Only wasmtime unwinds guest frames, and function names are enough to find a fault.
        .native_unwind_info(false)
        .generate_address_map(false);
    wasmtime
}
