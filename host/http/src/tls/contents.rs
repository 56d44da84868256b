//! The bytes of the files. Reading them is the only I/O; comparing them detects a change.

use std::{path::Path, time::SystemTime};

use plimsoll_system::bounded_file::{ReadFileError, read_file};
use rustls::pki_types::{CertificateDer, pem::PemObject};

use super::{error::TlsError, files::TlsFiles, validity::Validity};

/// Maximum bytes of one file; a bundle of a hundred authorities has a fifth of it.
const MAX_BYTES: u64 = 1 << 20;

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

    /// The next moment at which one of the certificates becomes valid or expires.
    pub(super) fn next_change(&self, now: SystemTime) -> Option<SystemTime> {
        let files = [Some(&self.cert), self.client_ca.as_ref()].into_iter().flatten();
        let certificates = files.flat_map(|pem| CertificateDer::pem_slice_iter(pem)).filter_map(Result::ok);
        let validities = certificates.filter_map(|certificate| Validity::of(&certificate));
        validities.flat_map(|validity| [validity.not_before, validity.not_after]).filter(|at| *at > now).min()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    read_file(path, MAX_BYTES).map_err(|error| {
        let path = path.to_owned();
        match error {
            ReadFileError::Unreadable(source) => TlsError::Read { path, source },
            ReadFileError::Irregular => TlsError::Irregular { path },
            ReadFileError::TooLarge { limit } => TlsError::TooLarge { path, limit },
        }
    })
}
