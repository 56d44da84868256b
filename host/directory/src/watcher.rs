//! File-system events, used only as a hint that directories may have changed.

use std::{collections::BTreeMap, os::unix::fs::MetadataExt as _, path::PathBuf};

use notify::{
    ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::AccessKind, event::AccessMode,
};

/// Watches the root and its groups.
pub(crate) struct Watcher {
    inner: RecommendedWatcher,
    /// Each watched directory with its device and inode: another one may replace it.
    watched: BTreeMap<PathBuf, (u64, u64)>,
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

/// Ignores read events: this process reads the files itself.
fn may_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}
