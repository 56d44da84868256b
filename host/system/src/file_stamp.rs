//! Detects changes of a file without reading it.

use std::{
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime},
};

/// File times come from the kernel's tick, so two writes within one tick leave the same stamp.
const TICK: Duration = Duration::from_millis(20);

/// The metadata of a file that identifies its content; symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileStamp {
    /// A regular file.
    File {
        /// Its length in bytes.
        length: u64,
        /// When its content was written last.
        modified: Option<SystemTime>,
        /// Its identity.
        identity: FileIdentity,
    },
    /// No file, or a link to none.
    Dangling,
    /// Anything else: a socket, a pipe.
    Other,
}

/// Tells a file from another one that replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds of the last change, which no tool can set back.
    changed: (i64, i64),
}

// === impl FileStamp ===

impl FileStamp {
    /// Stamps the file that a path leads to.
    pub fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => Self::File {
                length: metadata.len(),
                modified: metadata.modified().ok(),
                identity: FileIdentity::of_metadata(&metadata),
            },
            Ok(_) => Self::Other,
            // Reading the file will report the reason.
            Err(_) => Self::Dangling,
        }
    }

    /// Whether a write right after this stamp could have left the same stamp.
    ///
    /// A time in the future comes from another clock than ours, which tells nothing of when the write was.
    pub fn may_repeat(&self, now: SystemTime) -> bool {
        let Self::File { modified: Some(modified), .. } = self else { return false };
        now.duration_since(*modified).map_or(true, |age| age < TICK)
    }
}

// === impl FileIdentity ===

impl FileIdentity {
    /// The identity of the file or directory that a path leads to.
    ///
    /// # Errors
    /// If there is none, or it may not be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        path.metadata().map(|metadata| Self::of_metadata(&metadata))
    }

    /// Whether both are one file or directory, changed or not.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn of_metadata(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(modified: SystemTime) -> FileStamp {
        FileStamp::File { length: 1, modified: Some(modified), identity: FileIdentity::default() }
    }

    #[test]
    fn a_time_in_the_future_says_nothing_of_when_the_file_was_written() {
        let now = SystemTime::now();
        assert!(!stamp(now - TICK).may_repeat(now));
        for moment in [now - TICK / 2, now, now + TICK, now + Duration::from_hours(24)] {
            assert!(stamp(moment).may_repeat(now), "{moment:?}");
        }
    }
}
