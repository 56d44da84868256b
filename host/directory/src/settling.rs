//! Decides when files have been left alone for long enough.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::scan::{File, Scan};

/// How long what does not load may still be a file that is being written.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// When each file changed last. Changes that come together are one burst, and are acted on together.
pub(crate) struct Settling {
    settle: Duration,
    patience: Duration,
    scan: Scan,
    /// Files that changed less than `patience` ago.
    changed: BTreeMap<File, Instant>,
    /// When the burst began.
    burst: Option<Instant>,
}

// === impl Settling ===

impl Settling {
    /// Starts from what was read already.
    pub(crate) fn new(settle: Duration, scan: Scan) -> Self {
        let patience = PATIENCE.max(settle * 2);
        Self { settle, patience, scan, changed: BTreeMap::new(), burst: None }
    }

    /// What was seen last.
    pub(crate) fn scan(&self) -> &Scan {
        &self.scan
    }

    /// Notes which files are different now.
    pub(crate) fn observe(&mut self, scan: Scan, now: Instant) {
        let patience = self.patience;
        self.changed.retain(|_, at| now.saturating_duration_since(*at) < patience);
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

    /// Whether these files may be read: nothing changes any more, or the burst drags on and they at least are quiet.
    pub(crate) fn is_settled<'f>(&self, mut files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        let drags_on = self.burst.is_some_and(|start| now.saturating_duration_since(start) >= self.patience);
        self.is_quiet(now) || (drags_on && files.all(|file| self.is_still(file, self.settle, now)))
    }

    /// Whether these files have been still for so long that nobody is writing them.
    pub(crate) fn is_final<'f>(&self, mut files: impl Iterator<Item = &'f File>, now: Instant) -> bool {
        files.all(|file| self.is_still(file, self.patience, now))
    }

    /// When there is something to decide next.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let moments = |at: &Instant| [*at + self.settle, *at + self.patience];
        let of_burst = self.burst.map(|start| start + self.patience);
        self.changed.values().flat_map(moments).chain(of_burst).filter(|moment| *moment > now).min()
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.changed.values().all(|at| now.saturating_duration_since(*at) >= self.settle)
    }

    fn is_still(&self, file: &File, time: Duration, now: Instant) -> bool {
        self.changed.get(file).is_none_or(|at| now.saturating_duration_since(*at) >= time)
    }
}
