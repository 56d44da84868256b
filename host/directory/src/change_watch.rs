//! A hint for commands that files of some directories may have changed.

use std::{
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::Duration,
};

use crate::watcher::Watcher;

/// Waits for changes in directories.
pub struct ChangeWatch {
    /// None where the system reports no changes.
    watcher: Option<Watcher>,
    changed: Receiver<()>,
    /// Keeps the channel open where there is no watcher.
    _sender: Sender<()>,
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
