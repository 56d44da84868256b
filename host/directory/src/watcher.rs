//! File-system events, used only as a hint that directories may have changed.

use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::Duration,
};

use notify::{
    ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::AccessKind, event::AccessMode,
};

/// Watches the root and its groups.
pub(crate) struct Watcher {
    inner: RecommendedWatcher,
    /// Each watched directory with its device and inode: another one may replace it.
    watched: BTreeMap<PathBuf, (u64, u64)>,
}

/// Waits for changes in directories.
pub struct ChangeWatch {
    /// None where the system reports no changes.
    watcher: Option<Watcher>,
    changed: Receiver<()>,
    /// Keeps the channel open where there is no watcher.
    _sender: Sender<()>,
}

// === impl Watcher ===

impl Watcher {
    /// A watcher that calls `report` whenever something may have changed.
    pub(crate) fn new(report: impl Fn() + Send + 'static) -> notify::Result<Self> {
        let inner = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.as_ref().map_or(true, |event| may_change(event.kind)) {
                report();
            }
        })?;
        Ok(Self { inner, watched: BTreeMap::new() })
    }

    /// Watches exactly these directories.
    pub(crate) fn follow(&mut self, directories: impl Iterator<Item = PathBuf>) -> notify::Result<()> {
        // It fails if the directory is gone; the next scan shows that.
        let identity = |path: &PathBuf| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        let wanted: BTreeMap<_, _> = directories.filter_map(|path| identity(&path).map(|is| (path, is))).collect();
        for (path, _) in self.watched.iter().filter(|(path, is)| wanted.get(*path) != Some(is)) {
            // It fails if the directory is gone, and its watch with it.
            let _ = self.inner.unwatch(path);
        }
        for (path, _) in wanted.iter().filter(|(path, is)| self.watched.get(*path) != Some(is)) {
            match self.inner.watch(path, RecursiveMode::NonRecursive) {
                Err(error) if !matches!(error.kind, ErrorKind::PathNotFound) => return Err(error),
                _ => {}
            }
        }
        self.watched = wanted;
        Ok(())
    }
}

// === impl ChangeWatch ===

impl ChangeWatch {
    /// A watch of no directory yet.
    pub fn new() -> Self {
        let (sender, changed) = channel();
        let report = sender.clone();
        let watcher = Watcher::new(move || {
            // The receiver is gone once the watch is dropped.
            let _ = report.send(());
        })
        .ok();
        Self { watcher, changed, _sender: sender }
    }

    /// Watches exactly these directories.
    pub fn follow(&mut self, directories: impl Iterator<Item = PathBuf>) {
        // A change below a directory that cannot be watched is found when the wait is over.
        let _ = self.watcher.as_mut().map(|watcher| watcher.follow(directories));
    }

    /// Waits until something may have changed, or for this long.
    pub fn wait(&self, longest: Duration) {
        match self.changed.recv_timeout(longest) {
            Ok(()) => self.changed.try_iter().for_each(drop),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

impl Default for ChangeWatch {
    fn default() -> Self {
        Self::new()
    }
}

/// Ignores read events: this process reads the files itself.
fn may_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}
