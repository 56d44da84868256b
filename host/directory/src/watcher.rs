//! File-system events, used only as a hint that the directory may have changed.

use std::{collections::BTreeMap, path::PathBuf};

use notify::{
    ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::AccessKind, event::AccessMode,
};
use plimsoll_system::FileIdentity;

/// Watches the root and its groups.
pub(crate) struct Watcher {
    inner: RecommendedWatcher,
    /// Each watched directory with its identity: another one may replace it.
    watched: BTreeMap<PathBuf, FileIdentity>,
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
        let mut wanted = BTreeMap::new();
        for path in directories {
            if let Ok(identity) = FileIdentity::of(&path) {
                wanted.insert(path, identity);
            }
        }
        let is_wanted = |(path, old): &(&PathBuf, &FileIdentity)| wanted.get(*path).is_some_and(|new| new.is_same(old));
        let stale: Vec<PathBuf> =
            self.watched.iter().filter(|entry| !is_wanted(entry)).map(|(path, _)| path.clone()).collect();
        for path in stale {
            // It fails if the directory is gone, and its watch with it.
            let _ = self.inner.unwatch(&path);
            self.watched.remove(&path);
        }
        for (path, identity) in wanted {
            if !self.watched.contains_key(&path) {
                match self.inner.watch(&path, RecursiveMode::NonRecursive) {
                    Ok(()) => drop(self.watched.insert(path, identity)),
                    // It is gone since it was scanned; the next scan shows that.
                    Err(error) if matches!(error.kind, ErrorKind::PathNotFound) => {}
                    Err(error) => return Err(error),
                }
            }
        }
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
