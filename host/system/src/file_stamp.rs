//! Detects changes of a file without reading it.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime},
};

/// File times come from the kernel's tick, so two writes within one tick leave the same stamp.
const TICK: Duration = Duration::from_millis(20);

/// The metadata of a file that identifies its content; symbolic links are followed. The default one is that of no file, and
/// of what is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileStamp {
    /// Its length in bytes.
    pub length: u64,
    /// When its content was written last.
    pub modified: Option<SystemTime>,
    /// Its device and inode, and the seconds and nanoseconds of its last change, which no tool can set back.
    pub identity: (u64, u64, i64, i64),
}

// === impl FileStamp ===

impl FileStamp {
    /// Stamps the file that a path leads to.
    pub fn of(path: &Path) -> Self {
        // Where there is none, reading the file will report the reason.
        path.metadata().ok().filter(Metadata::is_file).map_or_else(Self::default, |file| Self {
            length: file.len(),
            modified: file.modified().ok(),
            identity: (file.dev(), file.ino(), file.ctime(), file.ctime_nsec()),
        })
    }

    /// Whether a write right after this stamp could have left the same stamp.
    ///
    /// A time in the future comes from another clock than ours, which tells nothing of when the write was.
    pub fn may_repeat(&self, now: SystemTime) -> bool {
        self.modified.is_some_and(|modified| now.duration_since(modified).map_or(true, |age| age < TICK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_future_says_nothing_of_when_the_file_was_written() {
        let stamp = |modified| FileStamp { modified: Some(modified), ..FileStamp::default() };
        let now = SystemTime::now();
        assert!(!stamp(now - TICK).may_repeat(now));
        for moment in [now - TICK / 2, now, now + TICK, now + Duration::from_hours(24)] {
            assert!(stamp(moment).may_repeat(now), "{moment:?}");
        }
    }
}
