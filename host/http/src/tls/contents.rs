//! The bytes of the files. Reading them is the only I/O; comparing them detects a change.

use std::path::Path;

use plimsoll_system::bounded_file::{ReadFileError, read_file};

use super::{TlsError, TlsFiles};

/// Maximum bytes of one file; a bundle of a hundred authorities has a fifth of it.
const MOST_BYTES: u64 = 1 << 20;

/// The bytes of all files at one time.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) cert: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) client_ca: Option<Vec<u8>>,
}

// === impl Contents ===

impl Contents {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        Ok(Self {
            cert: read(&files.cert)?,
            key: read(&files.key)?,
            client_ca: files.client_ca.as_deref().map(read).transpose()?,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    read_file(path, MOST_BYTES).map_err(|error| {
        let path = path.to_owned();
        match error {
            ReadFileError::Unreadable(source) => TlsError::Read { path, source },
            ReadFileError::Irregular => TlsError::Irregular { path },
            ReadFileError::TooLarge { limit } => TlsError::TooLarge { path, limit },
        }
    })
}
