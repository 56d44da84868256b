//! Reads whole files that may be anything: a pipe that nobody writes to, a device without end, gigabytes.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

/// Buffers from this size on are large.
const LARGE: usize = 1 << 20;

/// More than the size from which glibc gives a block a mapping of its own in any case: its threshold follows the largest
/// block freed so far, up to 32 MiB.
const ALWAYS_MAPPED: usize = (32 << 20) + 1;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why a file is not read. The text follows the file's name.
#[derive(Debug, thiserror::Error)]
pub enum ReadFileError {
    /// The system's error.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is a pipe, a device, a socket or a directory.
    #[error("is not a regular file")]
    Irregular,
    /// It has more bytes than it may have.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The maximum.
        limit: u64,
    },
}

/// Reads a regular file of at most `limit` bytes. It never waits for a writer.
///
/// # Errors
/// If it is something else, larger, or cannot be read.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, ReadFileError> {
    // Checked before opening, too: opening some devices has side effects.
    if !path.metadata()?.is_file() {
        return Err(ReadFileError::Irregular);
    }
    // Some files of `/proc` look regular and block.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadFileError::Irregular);
    }
    read_to_limit(file, metadata.len(), limit)
}

/// As [`read_file`], but a file that the shell has opened for this process is read whatever it is: `/dev/stdin`, and
/// `/dev/fd/63` for `<(command)`.
///
/// # Errors
/// As for [`read_file`].
pub fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>, ReadFileError> {
    if is_inherited(path) { read_to_limit(File::open(path)?, 0, limit) } else { read_file(path, limit) }
}

/// Whether a path names an open file of this process.
fn is_inherited(path: &Path) -> bool {
    let is_descriptor =
        |parent: &Path| ["/dev/fd", "/proc/self/fd"].iter().any(|directory| parent == Path::new(directory));
    path == Path::new("/dev/stdin") || path.parent().is_some_and(is_descriptor)
}

fn read_to_limit(file: File, length: u64, limit: u64) -> Result<Vec<u8>, ReadFileError> {
    let mut bytes = buffer(usize::try_from(length.min(limit)).unwrap_or(0));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(ReadFileError::TooLarge { limit });
    }
    // Editors of Windows write a byte order mark, which is no part of the text.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// An empty buffer that can take this many bytes without growing.
///
/// Large ones give their memory back to the system when they are dropped. Otherwise each thread that once held a module
/// of 14 MiB would keep up to 28 MiB in its part of the heap. Memory that is not written to costs nothing.
fn buffer(bytes: usize) -> Vec<u8> {
    Vec::with_capacity(if bytes < LARGE { bytes } else { bytes.max(ALWAYS_MAPPED) })
}

// === impl ReadFileError ===

impl From<io::Error> for ReadFileError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_regular_file_is_read_up_to_the_limit_and_through_links() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("a"), directory.path().join("link"));
        fs::write(&path, "12345").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for path in [&path, &link] {
            assert_eq!(read_file(path, 5).unwrap(), b"12345");
            assert_eq!(read_input(path, 5).unwrap(), b"12345");
            fs::write(path, "\u{feff}a,1").unwrap();
            assert_eq!(read_file(path, 6).unwrap(), b"a,1", "without the byte order mark");
            fs::write(path, "12345").unwrap();
            assert_eq!(read_file(path, 4).unwrap_err().to_string(), "is larger than 4 bytes");
        }
    }

    #[test]
    fn a_small_buffer_takes_what_it_needs_and_a_large_one_is_beyond_the_threshold() {
        let capacities = [100, LARGE, 64 << 20].map(|bytes| buffer(bytes).capacity());
        assert_eq!(capacities, [100, ALWAYS_MAPPED, 64 << 20]);
    }

    #[test]
    fn pipes_devices_and_directories_are_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/dev/null"), directory.path()] {
            for read in [read_file, read_input] {
                assert!(matches!(read(path, 9), Err(ReadFileError::Irregular)), "{}", path.display());
            }
        }
        let absent = read_file(&directory.path().join("absent"), 9).unwrap_err();
        assert!(absent.to_string().starts_with("cannot be read: No such file"), "{absent}");
    }

    #[test]
    fn only_open_files_of_this_process_may_be_pipes() {
        for path in ["/dev/stdin", "/dev/fd/63", "/proc/self/fd/0"] {
            assert!(is_inherited(Path::new(path)), "{path}");
        }
        for path in ["/dev/zero", "/tmp/dev/fd/3", "/dev/fd", "stdin", "-"] {
            assert!(!is_inherited(Path::new(path)), "{path}");
        }
    }
}
