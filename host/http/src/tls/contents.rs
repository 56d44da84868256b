//! The bytes of the files. Reading them is the only I/O; comparing them detects a change.

use std::{fs::File, io::Read, path::Path};

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
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(source) => Err(TlsError::Read { path: path.to_owned(), source }),
        Ok(length) if length as u64 > MOST_BYTES => {
            Err(TlsError::TooLarge { path: path.to_owned(), limit: MOST_BYTES })
        }
        Ok(_) => Ok(bytes),
    }
}
