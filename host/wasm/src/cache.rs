//! A cache of compiled modules on disk, so that a restart does not compile.
//!
//! These files are machine code that will run in this process, so the directory must be ours alone. An entry is named by
//! the digest of its module and the version of this program. It begins with the hash of its content, and a corrupt one is
//! compiled again. The least recently used entries make room for new ones; files with other names are not touched.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use parking_lot::Mutex;
use plimsoll_system::digest::{hex, is_hex, sha256};
use rustix::process::geteuid;
use tracing::{debug, warn};
use wasmtime::{Engine, component::Component};

use crate::{
    code::{CompiledCode, MAX_CODE_BYTES},
    componentize::COMPONENTIZE_VERSION,
    engine::EngineError,
};

/// Starts every entry; the hash of the rest follows.
const MAGIC: &[u8; 16] = b"plimsoll-cwasm-1";
const HEADER_BYTES: usize = MAGIC.len() + 32;

const ENTRY: &str = ".cwasm";

/// Ends the name of an entry that is being written.
const TEMPORARY: &str = ".tmp";

/// Hex digits of a module's digest, which begins the name of its entry.
const DIGEST: usize = 64;

/// A directory of compiled modules.
pub(crate) struct ModuleCache {
    path: PathBuf,
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
    /// If it cannot be made, is not ours, or others can write to it.
    pub(crate) fn open(path: &Path, max_bytes: u64) -> Result<Self, EngineError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        let checked = made.map_err(|error| format!("it cannot be made: {error}")).and_then(|()| check_private(path));
        checked.map_err(|reason| EngineError::Cache { path: path.to_owned(), reason })?;
        let cache = Self { path: path.to_owned(), max_bytes, writing: Mutex::default() };
        // The bound may be lower than when it was written.
        cache.make_room_for(0);
        Ok(cache)
    }

    /// The compiled form of a module; `None` if there is no valid entry.
    pub(crate) fn get(&self, digest: &[u8; 32], engine: &Engine) -> Option<Component> {
        let path = self.entry(digest);
        let loaded = read(&path).and_then(|code| code.load(engine).map_err(io::Error::other));
        match loaded {
            Ok(component) => Some(component),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                warn!(path = %path.display(), %error, "a compiled module is not usable; it is compiled again");
                None
            }
        }
    }

    /// Stores the compiled form of a module. A failure only costs time at the next start.
    pub(crate) fn put(&self, digest: &[u8; 32], code: &CompiledCode) {
        let path = self.entry(digest);
        let size = (HEADER_BYTES + code.bytes().len()) as u64;
        if size > self.max_bytes {
            debug!(path = %path.display(), size, "a compiled module is larger than the whole cache may be");
            return;
        }
        let _writing = self.writing.lock();
        self.make_room_for(size);
        if let Err(error) = write(&path, code) {
            warn!(path = %path.display(), %error, "cannot keep a compiled module");
        }
    }

    fn entry(&self, digest: &[u8; 32]) -> PathBuf {
        let version = env!("CARGO_PKG_VERSION");
        self.path.join(format!("{}-{version}-{COMPONENTIZE_VERSION}{ENTRY}", hex(digest)))
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

/// Code that anybody else could have written would be run.
fn check_private(path: &Path) -> Result<(), String> {
    let metadata = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    let (us, owner, mode) = (geteuid().as_raw(), metadata.uid(), metadata.mode() & 0o777);
    if metadata.is_symlink() {
        return Err("it is a link; name the directory that it leads to".to_owned());
    }
    if owner != us {
        return Err(format!("it belongs to user {owner}, not to user {us}, who runs plimsoll"));
    }
    if mode & 0o022 != 0 {
        return Err(format!("others can write to it (mode {mode:04o}); `chmod 0700` it, or name another directory"));
    }
    Ok(())
}

/// The time of the last use, the size and the path of each entry, those that interrupted writes have left among them.
fn entries(directory: &Path) -> io::Result<Vec<(SystemTime, u64, PathBuf)>> {
    let is_entry = |name: &str| {
        let digest = name.strip_suffix(TEMPORARY).unwrap_or(name).split_once('-').map(|(digest, _)| digest);
        name.contains(ENTRY) && digest.is_some_and(|digest| is_hex(digest, DIGEST))
    };
    let files = fs::read_dir(directory)?.flatten();
    let ours = files.filter(|file| file.file_name().to_str().is_some_and(is_entry));
    let entry = |file: fs::DirEntry| {
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((metadata.modified().ok()?, metadata.len(), file.path()))
    };
    Ok(ours.filter_map(entry).collect())
}

fn read(path: &Path) -> io::Result<CompiledCode> {
    let mut file = File::open(path)?;
    let (mut header, mut code) = ([0; HEADER_BYTES], Vec::new());
    file.read_exact(&mut header)?;
    Read::by_ref(&mut file).take(MAX_CODE_BYTES as u64).read_to_end(&mut code)?;
    if header[..MAGIC.len()] != *MAGIC || header[MAGIC.len()..] != sha256(&code) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its content is not what was written"));
    }
    // Marks the entry as used. If the file system cannot, only the order of eviction suffers.
    let _ = file.set_modified(SystemTime::now());
    Ok(CompiledCode::of_cache(code))
}

/// Writes a new file and renames it, so that nobody reads an incomplete one.
fn write(path: &Path, code: &CompiledCode) -> io::Result<()> {
    // Several gateways may share the directory, and each container has a process 1: only a random name is one's own.
    let random = RandomState::new().build_hasher().finish();
    let temporary = path.with_added_extension(format!("{random:016x}{TEMPORARY}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let parts = [MAGIC, &sha256(code.bytes())[..], code.bytes()];
    let written = parts.iter().try_for_each(|part| file.write_all(part)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(temporary);
    }
    written
}
