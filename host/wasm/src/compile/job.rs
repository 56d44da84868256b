//! The job of a compile process, on its standard input: two lengths, the module, and the settings.

use std::io::{self, Read, Write};

/// Maximum bytes of a module that are read; the directory has a lower limit.
const MAX_MODULE_BYTES: u64 = 1 << 30;

/// Maximum bytes of settings that are read; a sidecar has a lower limit.
const MAX_SETTINGS_BYTES: u64 = 16 << 20;

/// The length that stands for no settings.
const NO_SETTINGS: u64 = u64::MAX;

/// A module, to be compiled as it is, or pre-initialised with these settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompileJob<'a> {
    pub(crate) module: &'a [u8],
    pub(crate) settings: Option<&'a str>,
}

/// The same, as the process has read it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReceivedJob {
    module: Vec<u8>,
    settings: Option<String>,
}

// === impl CompileJob ===

impl CompileJob<'_> {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let settings = self.settings.map_or(NO_SETTINGS, |settings| settings.len() as u64);
        to.write_all(&(self.module.len() as u64).to_le_bytes())?;
        to.write_all(&settings.to_le_bytes())?;
        to.write_all(self.module)?;
        to.write_all(self.settings.unwrap_or_default().as_bytes())
    }
}

// === impl ReceivedJob ===

impl ReceivedJob {
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let (mut module, mut settings) = ([0; 8], [0; 8]);
        from.read_exact(&mut module)?;
        from.read_exact(&mut settings)?;
        let settings = u64::from_le_bytes(settings);
        let module = bytes(from, u64::from_le_bytes(module), MAX_MODULE_BYTES)?;
        if settings == NO_SETTINGS {
            return Ok(Self { module, settings: None });
        }
        let settings = String::from_utf8(bytes(from, settings, MAX_SETTINGS_BYTES)?)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self { module, settings: Some(settings) })
    }

    pub(super) fn as_job(&self) -> CompileJob<'_> {
        CompileJob { module: &self.module, settings: self.settings.as_deref() }
    }
}

fn bytes(from: &mut impl Read, length: u64, at_most: u64) -> io::Result<Vec<u8>> {
    if length > at_most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the module or its settings are too large"));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_as_it_was_written() {
        for settings in [None, Some(""), Some("{\"a\":1}")] {
            let job = CompileJob { module: &[1, 2, 3], settings };
            let mut bytes = Vec::new();
            job.write(&mut bytes).unwrap();
            assert_eq!(ReceivedJob::read(&mut bytes.as_slice()).unwrap().as_job(), job);
            bytes.pop();
            assert!(ReceivedJob::read(&mut bytes.as_slice()).is_err());
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_no_job() {
        for lengths in [[MAX_MODULE_BYTES + 1, NO_SETTINGS], [0, MAX_SETTINGS_BYTES + 1]] {
            let bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
            assert!(ReceivedJob::read(&mut Read::chain(bytes.as_slice(), io::repeat(0))).is_err());
        }
    }
}
