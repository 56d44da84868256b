//! Decides when files have been unchanged for long enough (debouncing).

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::scan::{File, Scan};

/// Multiples of the settling time after which a file that does not load is no longer taken for a half-written one.
const FINAL_FACTOR: u32 = 10;

/// When each file changed last. Changes in quick succession form a burst and are handled together.
pub(crate) struct Settling {
    settle: Duration,
    final_after: Duration,
    scan: Arc<Scan>,
    /// Files that changed less than `final_after` ago.
    changed: BTreeMap<File, Instant>,
    /// When the burst began.
    burst: Option<Instant>,
}

// === impl Settling ===

impl Settling {
    /// Starts from a scan whose files were read already.
    pub(crate) fn new(settle: Duration, scan: Arc<Scan>) -> Self {
        let final_after = settle * FINAL_FACTOR;
        Self { settle, final_after, scan, changed: BTreeMap::new(), burst: None }
    }

    /// The last scan.
    pub(crate) fn scan(&self) -> &Arc<Scan> {
        &self.scan
    }

    /// Records which files have changed.
    pub(crate) fn observe(&mut self, scan: Arc<Scan>, now: Instant) {
        let final_after = self.final_after;
        self.changed.retain(|_, at| now.saturating_duration_since(*at) < final_after);
        if self.is_quiet(now) {
            self.burst = None;
        }
        let before = std::mem::replace(&mut self.scan, scan);
        let added = self.scan.files.iter().filter(|(file, stamp)| before.files.get(*file) != Some(*stamp));
        let gone = before.files.keys().filter(|file| !self.scan.files.contains_key(*file));
        let moved: Vec<File> = added.map(|(file, _)| file).chain(gone).cloned().collect();
        if !moved.is_empty() {
            self.burst.get_or_insert(now);
        }
        self.changed.extend(moved.into_iter().map(|file| (file, now)));
    }

    /// Whether these files may be read: the burst is over, or it drags on and these files are quiet.
    pub(crate) fn is_settled<'f>(&self, mut files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        let drags_on = self.burst.is_some_and(|start| now.saturating_duration_since(start) >= self.final_after);
        self.is_quiet(now) || (drags_on && files.all(|file| self.is_still(file, self.settle, now)))
    }

    /// Whether these files have been unchanged for so long that nobody can still be writing them.
    pub(crate) fn is_final<'f>(&self, mut files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        files.all(|file| self.is_still(file, self.final_after, now))
    }

    /// Whether nothing at all has changed for that long.
    pub(crate) fn is_calm(&self, now: Instant) -> bool {
        self.changed.values().all(|at| now.saturating_duration_since(*at) >= self.final_after)
    }

    /// When the next decision is due.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let moments = |at: &Instant| [*at + self.settle, *at + self.final_after];
        let of_burst = self.burst.map(|start| start + self.final_after);
        self.changed.values().flat_map(moments).chain(of_burst).filter(|moment| *moment > now).min()
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.changed.values().all(|at| now.saturating_duration_since(*at) >= self.settle)
    }

    fn is_still(&self, file: &File, time: Duration, now: Instant) -> bool {
        self.changed.get(file).is_none_or(|at| now.saturating_duration_since(*at) >= time)
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

    fn is_settled(settling: &Settling, name: &str, now: Instant) -> bool {
        settling.is_settled([file(name)].iter(), now)
    }

    #[test]
    fn files_are_settled_when_all_have_been_still() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1), ("b", 1)]));
        assert!(is_settled(&settling, "a", start));
        settling.observe(scan(&[("a", 2), ("b", 1)]), start);
        settling.observe(scan(&[("a", 2), ("b", 2)]), start + SETTLE / 2);
        assert!(!is_settled(&settling, "a", start + SETTLE), "b changed in the same burst");
        assert!(!is_settled(&settling, "other", start + SETTLE));
        assert_eq!(settling.next(start + SETTLE), Some(start + SETTLE + SETTLE / 2));
        assert!(is_settled(&settling, "a", start + SETTLE + SETTLE / 2));
    }

    #[test]
    fn a_burst_that_drags_on_holds_up_only_its_own_files() {
        let start = Instant::now();
        let mut settling = Settling::new(SETTLE, scan(&[("a", 1), ("busy", 0)]));
        let mut now = start;
        for length in 1..=41 {
            now = start + SETTLE / 4 * (length as u32 - 1);
            settling.observe(scan(&[("a", 2), ("busy", length)]), now);
        }
        assert!(now >= start + SETTLE * FINAL_FACTOR);
        assert!(is_settled(&settling, "a", now));
        assert!(!is_settled(&settling, "busy", now));
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
