//! Decides when files have been unchanged for long enough to be read.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::scan::{File, Scan};

/// Multiples of the settling time after which a file is taken as complete: a refusal of it is reported, and files that
/// others change all the time no longer hold it up.
const FINAL_FACTOR: u32 = 10;

/// The last scan, and when its files changed.
pub(crate) struct Settling {
    settle: Duration,
    scan: Arc<Scan>,
    /// Files that changed less than `settle * FINAL_FACTOR` ago.
    changed: BTreeMap<File, Instant>,
}

// === impl Settling ===

impl Settling {
    /// Starts from a scan whose files may be read at once.
    pub(crate) fn new(settle: Duration, scan: Arc<Scan>) -> Self {
        Self { settle, scan, changed: BTreeMap::new() }
    }

    /// The last scan.
    pub(crate) fn scan(&self) -> &Arc<Scan> {
        &self.scan
    }

    /// Records which files have changed.
    pub(crate) fn observe(&mut self, scan: Arc<Scan>, now: Instant) {
        let forgotten_after = self.settle * FINAL_FACTOR;
        self.changed.retain(|_, at| now.saturating_duration_since(*at) < forgotten_after);
        let before = std::mem::replace(&mut self.scan, scan);
        let added = self.scan.files.iter().filter(|(file, stamp)| before.files.get(*file) != Some(*stamp));
        let gone = before.files.keys().filter(|file| !self.scan.files.contains_key(*file));
        self.changed.extend(added.map(|(file, _)| file).chain(gone).map(|file| (file.clone(), now)));
    }

    /// Whether these files may be read: nothing at all has changed for the settling time, or these files have been
    /// unchanged for ten times as long.
    pub(crate) fn may_read<'f>(&self, files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        self.changed.values().all(|at| now.saturating_duration_since(*at) >= self.settle) || self.is_final(files, now)
    }

    /// Whether these files have been unchanged for so long that nobody can still be writing them.
    pub(crate) fn is_final<'f>(&self, mut files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        let is_final = |at: &Instant| now.saturating_duration_since(*at) >= self.settle * FINAL_FACTOR;
        files.all(|file| self.changed.get(file).is_none_or(is_final))
    }

    /// Whether nothing at all has changed for that long.
    pub(crate) fn is_calm(&self, now: Instant) -> bool {
        self.is_final(self.changed.keys(), now)
    }

    /// The first moment after this one at which an answer may change.
    pub(crate) fn next(&self, after: Instant) -> Option<Instant> {
        let moments = |at: &Instant| [*at + self.settle, *at + self.settle * FINAL_FACTOR];
        self.changed.values().flat_map(moments).filter(|moment| *moment > after).min()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_system::{FileIdentity, FileStamp};

    use super::*;

    const SETTLE: Duration = Duration::from_millis(100);

    fn file(name: &str) -> File {
        File { group: Arc::from(""), name: Arc::from(name) }
    }

    /// A scan of files by name and length.
    fn scan(files: &[(&str, u64)]) -> Arc<Scan> {
        let stamp = |length| FileStamp::File { length, modified: None, identity: FileIdentity::default() };
        let files = files.iter().map(|(name, length)| (file(name), stamp(*length))).collect();
        Arc::new(Scan { files, ..Scan::default() })
    }

    fn may_read(settling: &Settling, name: &str, now: Instant) -> bool {
        settling.may_read([file(name)].iter(), now)
    }

    #[test]
    fn files_are_settled_when_all_have_been_still() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1), ("b", 1)]));
        assert!(may_read(&settling, "a", start));
        settling.observe(scan(&[("a", 2), ("b", 1)]), start);
        settling.observe(scan(&[("a", 2), ("b", 2)]), start + SETTLE / 2);
        assert!(!may_read(&settling, "a", start + SETTLE), "b changed in the same burst");
        assert_eq!(settling.next(start + SETTLE), Some(start + SETTLE + SETTLE / 2));
        assert!(may_read(&settling, "a", start + SETTLE + SETTLE / 2));
    }

    #[test]
    fn a_file_that_is_always_written_holds_up_others_for_a_bounded_time() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1), ("busy", 0)]));
        let mut now = start;
        for length in 1..=41 {
            now = start + SETTLE / 4 * (length as u32 - 1);
            settling.observe(scan(&[("a", 2), ("busy", length)]), now);
        }
        assert!(now >= start + SETTLE * FINAL_FACTOR);
        assert!(may_read(&settling, "a", now));
        assert!(!may_read(&settling, "busy", now));
    }

    #[test]
    fn a_failure_is_final_when_its_files_have_been_still_for_long() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1)]));
        settling.observe(scan(&[]), start);
        let is_final = |settling: &Settling, now| settling.is_final([file("a")].iter(), now);
        assert!(!is_final(&settling, start + SETTLE));
        assert!(is_final(&settling, start + SETTLE * FINAL_FACTOR));
        assert_eq!(settling.next(start + SETTLE), Some(start + SETTLE * FINAL_FACTOR));
        assert_eq!(settling.next(start + SETTLE * FINAL_FACTOR), None);
    }
}
