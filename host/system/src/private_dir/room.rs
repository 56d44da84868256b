//! Room for files: the oldest give way to new ones.

use std::{io, time::Duration};

use super::{DirEntry, PrivateDir};

/// After this time an incomplete file counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(1);

/// Limits for all files of a directory together.
#[derive(Debug, Clone, Copy)]
pub struct DirLimit {
    /// The most files.
    pub files: usize,
    /// The most bytes.
    pub bytes: u64,
}

impl PrivateDir {
    /// Removes files that interrupted writes have left, and then the oldest until there is room for one of this size
    /// that is about to take the name `replaced`; those that `stays` names are left.
    ///
    /// False: there is no room beside those that stay, and no other was removed for it.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn make_room(
        &self,
        limit: DirLimit,
        size: u64,
        replaced: &str,
        stays: impl Fn(&str) -> bool,
    ) -> io::Result<bool> {
        let Some(limit) = limit.without(size) else { return Ok(false) };
        self.shrink_to(limit, |entry| entry.name == replaced, stays)
    }

    /// The same for files whose names `counts` accepts: only they count, and only they are removed.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn make_room_among(
        &self,
        limit: DirLimit,
        size: u64,
        replaced: &str,
        counts: impl Fn(&str) -> bool,
    ) -> io::Result<bool> {
        let Some(limit) = limit.without(size) else { return Ok(false) };
        self.shrink_to(limit, |entry| entry.name == replaced || !counts(&entry.name), |_| false)
    }

    /// Removes files that interrupted writes have left, and then the oldest until the others keep the limit.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn trim(&self, limit: DirLimit) -> io::Result<()> {
        self.shrink_to(limit, |_| false, |_| false).map(drop)
    }

    fn shrink_to(
        &self,
        limit: DirLimit,
        is_ignored: impl Fn(&DirEntry) -> bool,
        stays: impl Fn(&str) -> bool,
    ) -> io::Result<bool> {
        let (temporary, written): (Vec<_>, Vec<_>) = self.entries()?.into_iter().partition(|entry| entry.is_temporary);
        for entry in temporary.iter().filter(|entry| entry.is_abandoned()) {
            // Another gateway may have removed it.
            let _ = self.remove(&entry.name);
        }
        let counted = written.into_iter().filter(|entry| !is_ignored(entry));
        let (staying, mut others): (Vec<_>, Vec<_>) = counted.partition(|entry| stays(&entry.name));
        if !DirLimit::of(&staying).is_within(limit) {
            return Ok(false);
        }
        others.sort_by_key(|entry| entry.modified);
        let mut sum = DirLimit::of(staying.iter().chain(&others));
        for entry in &others {
            if sum.is_within(limit) {
                break;
            }
            // A file that cannot be removed is left, and others are removed instead.
            if self.remove(&entry.name).is_ok() {
                sum = DirLimit { files: sum.files - 1, bytes: sum.bytes - entry.size };
            }
        }
        Ok(sum.is_within(limit))
    }
}

// === impl DirLimit ===

impl DirLimit {
    /// The total of these entries.
    fn of<'e>(entries: impl IntoIterator<Item = &'e DirEntry>) -> Self {
        let add = |sum: Self, entry: &DirEntry| Self { files: sum.files + 1, bytes: sum.bytes + entry.size };
        entries.into_iter().fold(Self { files: 0, bytes: 0 }, add)
    }

    /// The limit of the others beside one more file of this size; `None` if that alone is too much.
    fn without(self, size: u64) -> Option<Self> {
        Some(Self { files: self.files.checked_sub(1)?, bytes: self.bytes.checked_sub(size)? })
    }

    fn is_within(self, limit: Self) -> bool {
        self.files <= limit.files && self.bytes <= limit.bytes
    }
}

// === impl DirEntry ===

impl DirEntry {
    fn is_abandoned(&self) -> bool {
        self.modified.elapsed().is_ok_and(|age| age > ABANDONED)
    }
}
