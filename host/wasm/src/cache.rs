//! Compiled modules on disk, so that a restart does not compile.
//!
//! What lies there is machine code that will run in this process, so the directory must be ours alone: mode
//! 0700, and refused if somebody else owns it or can write to it. An entry is named by what it was made
//! of (module, engine, lift) and begins with the hash of its content; one that does not fit is made again.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{Hash, Hasher},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use tracing::{debug, warn};
use wasmtime::{Engine, component::Component};

use crate::{
    contract::VERSION,
    digest::{hex, sha256},
    engine::EngineError,
    lift::LIFT_VERSION,
};

/// Starts every entry; the hash of the rest follows.
const MAGIC: &[u8; 16] = b"plimsoll-cwasm-1";
const HASH_BYTES: usize = 32;

/// The most entries that are kept; those unused for longest go first.
const MAX_ENTRIES: usize = 256;

/// A directory of compiled modules.
pub(crate) struct Cache {
    directory: PathBuf,
    /// Names the engine and everything else that code depends on beside the module.
    generation: String,
}

/// Hands what an engine hashes to SHA-256, whose results are the same in every build.
struct StableHasher(Sha256);

// === impl Cache ===

impl Cache {
    /// Opens, or makes, the directory.
    ///
    /// # Errors
    /// If it cannot be made or written to, is not ours, or others can write to it.
    pub(crate) fn open(directory: &Path, engine: &Engine) -> Result<Self, EngineError> {
        let refused = |reason: String| EngineError::Cache { path: directory.to_owned(), reason };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| refused(format!("it cannot be made: {error}")))?;
        let metadata = fs::metadata(directory).map_err(|error| refused(error.to_string()))?;
        let us = our_uid(directory).map_err(|error| refused(format!("it cannot be written to: {error}")))?;
        check_private(&metadata, us).map_err(refused)?;
        Ok(Self { directory: directory.to_owned(), generation: generation(engine) })
    }

    /// The compiled form of a module; none if there is none that can be trusted.
    pub(crate) fn get(&self, module: &[u8; 32], engine: &Engine) -> Option<Component> {
        let path = self.path(module);
        let compiled = match read_entry(&path) {
            Ok(compiled) => compiled,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                warn!(path = %path.display(), %error, "a compiled module is damaged; it is compiled again");
                return None;
            }
        };
        match deserialize(engine, &compiled) {
            Ok(component) => Some(component),
            Err(error) => {
                warn!(path = %path.display(), error = %format!("{error:#}"), "a compiled module is not usable; it is compiled again");
                None
            }
        }
    }

    /// Keeps the compiled form of a module. A failure costs time at the next start, no more.
    pub(crate) fn put(&self, module: &[u8; 32], component: &Component) {
        let path = self.path(module);
        let result = component.serialize().map_err(|error| io::Error::other(format!("{error:#}")));
        match result.and_then(|compiled| write_entry(&path, &compiled)) {
            Ok(()) => debug!(path = %path.display(), "kept a compiled module"),
            Err(error) => warn!(path = %path.display(), %error, "cannot keep a compiled module"),
        }
        if let Err(error) = self.prune() {
            debug!(%error, "cannot clean up compiled modules");
        }
    }

    fn path(&self, module: &[u8; 32]) -> PathBuf {
        self.directory.join(format!("{}-{}.cwasm", hex(module), self.generation))
    }

    /// Drops the entries that were not used for longest.
    fn prune(&self) -> io::Result<()> {
        let mut entries: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            entries.push((entry.metadata()?.modified()?, entry.path()));
        }
        entries.sort();
        let surplus = entries.len().saturating_sub(MAX_ENTRIES);
        entries[..surplus].iter().try_for_each(|(_, path)| fs::remove_file(path))
    }
}

/// Loads code that an earlier run compiled.
#[expect(unsafe_code, reason = "wasmtime cannot tell whether machine code is its own")]
fn deserialize(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes must be what `Component::serialize` returned, unmodified. `write_entry` is the only
    // writer of entries and writes nothing else; `Cache::open` made sure that nobody but our own user can
    // put a file into the directory, `read_entry` that this file is our user's, that nobody else can write
    // to it, and that the bytes are the ones that were hashed when it was written. Whether they are of this
    // engine and version wasmtime itself checks.
    unsafe { Component::deserialize(engine, compiled) }
}

fn read_entry(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let directory = fs::metadata(path.parent().unwrap_or(path))?;
    check_private(&metadata, directory.uid()).map_err(io::Error::other)?;
    let mut header = [0; MAGIC.len() + HASH_BYTES];
    file.read_exact(&mut header)?;
    let mut compiled = Vec::with_capacity(metadata.len() as usize);
    file.read_to_end(&mut compiled)?;
    if header[..MAGIC.len()] != *MAGIC || header[MAGIC.len()..] != sha256(&compiled) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its content is not what was written"));
    }
    // Only for `prune`; a file system that cannot do it forgets in another order.
    let _ = file.set_modified(SystemTime::now());
    Ok(compiled)
}

/// Writes beside the entry and renames, so that nobody ever reads a part.
fn write_entry(path: &Path, compiled: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written = create_private(&temporary).and_then(|mut file| {
        file.write_all(MAGIC)?;
        file.write_all(&sha256(compiled))?;
        file.write_all(compiled)?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // It may not exist; the error that counts is the first.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Who we are to the file system: the owner of what we write.
fn our_uid(directory: &Path) -> io::Result<u32> {
    let probe = temporary_beside(&directory.join("probe"));
    let uid = create_private(&probe).and_then(|file| file.metadata()).map(|metadata| metadata.uid());
    fs::remove_file(&probe).and(uid)
}

fn check_private(metadata: &fs::Metadata, us: u32) -> Result<(), String> {
    if metadata.uid() != us {
        return Err(format!("it belongs to user {}, not to user {us}, who runs plimsoll", metadata.uid()));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(format!("others can write to it (mode {mode:04o}); `chmod 0700` it, or name another directory"));
    }
    Ok(())
}

fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{count}.tmp", std::process::id()))
}

fn generation(engine: &Engine) -> String {
    let mut hasher = StableHasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.write(format!("{}/{VERSION}/{LIFT_VERSION}", env!("CARGO_PKG_VERSION")).as_bytes());
    hex(&hasher.0.finalize()[..8])
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
