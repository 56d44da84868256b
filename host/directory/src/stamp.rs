//! Detects changes of a file without reading it.

use std::{
    fs::Metadata,
    io,
    path::Path,
    time::{Duration, SystemTime},
};

/// File times come from the kernel's tick, so two writes within one tick leave the same stamp.
const TICK: Duration = Duration::from_millis(20);

/// The metadata of a file that identifies its content; symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stamp {
    /// A regular file.
    File { length: u64, modified: Option<SystemTime>, identity: FileIdentity },
    /// A link to nothing.
    Dangling,
    /// Anything else: a socket, a pipe.
    Other,
}

/// Tells a file from another one that replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds of the last change, which no tool can set back.
    changed: (i64, i64),
}

// === impl Stamp ===

impl Stamp {
    /// Stamps the file that a path leads to.
    pub(crate) fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(metadata) => Self::of_metadata(&metadata),
            // Reading the file will report the reason.
            Err(_) => Self::Dangling,
        }
    }

    pub(crate) fn of_metadata(metadata: &Metadata) -> Self {
        if !metadata.is_file() {
            return Self::Other;
        }
        Self::File {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            identity: FileIdentity::of_metadata(metadata),
        }
    }

    /// Whether a write right after this stamp could have left the same stamp.
    ///
    /// A time in the future comes from another clock than ours, which tells nothing of when the write was.
    pub(crate) fn may_repeat(&self, now: SystemTime) -> bool {
        let Self::File { modified: Some(modified), .. } = self else { return false };
        now.duration_since(*modified).map_or(true, |age| age < TICK)
    }
}

// === impl FileIdentity ===

impl FileIdentity {
    /// The identity of what a path leads to.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        path.metadata().map(|metadata| Self::of_metadata(&metadata))
    }

    /// Whether both are one file or directory, changed or not.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    #[cfg(unix)]
    fn of_metadata(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), inode: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }

    #[cfg(not(unix))]
    fn of_metadata(_: &Metadata) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(modified: SystemTime) -> Stamp {
        Stamp::File { length: 1, modified: Some(modified), identity: FileIdentity::default() }
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
