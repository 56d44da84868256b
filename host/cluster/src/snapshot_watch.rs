//! Reads a snapshot again when its file changes.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, SystemTime},
};

use plimsoll_core::Cluster;
use plimsoll_system::FileStamp;

use crate::{
    SnapshotError,
    snapshot::{FileFingerprint, read_if_changed},
};

/// Watches as long as it lives; dropping it waits for the thread to end.
pub struct SnapshotWatch {
    /// Dropped to stop the thread.
    stop: Option<Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Polls a file, and publishes its content when it has changed.
///
/// A file that is being written is not read until two polls find it unchanged. A file that cannot be read is
/// published once as an error; the snapshot before it should stay in force. `published` is the content that was
/// read already: a file that is touched or rewritten with the same content is not published again.
pub fn watch_snapshot(
    path: PathBuf,
    every: Duration,
    published: Option<FileFingerprint>,
    publish: impl FnMut(Result<Arc<Cluster>, SnapshotError>) + Send + 'static,
) -> SnapshotWatch {
    let (stop, stopped) = mpsc::channel();
    let thread = thread::Builder::new()
        .name("snapshot".to_owned())
        .spawn(move || run(&path, every, published, &stopped, publish));
    let thread = thread.inspect_err(|error| tracing::error!("cannot start a thread to watch the snapshot: {error}"));
    SnapshotWatch { stop: Some(stop), thread: thread.ok() }
}

// === impl SnapshotWatch ===

impl Drop for SnapshotWatch {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; there is nothing to add to it.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for SnapshotWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotWatch").finish_non_exhaustive()
    }
}

fn run(
    path: &Path,
    every: Duration,
    mut published: Option<FileFingerprint>,
    stopped: &Receiver<()>,
    mut publish: impl FnMut(Result<Arc<Cluster>, SnapshotError>),
) {
    let mut read = published.as_ref().map(FileFingerprint::stamp).filter(|stamp| !stamp.may_repeat(SystemTime::now()));
    let mut seen = FileStamp::of(path);
    while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        let now = FileStamp::of(path);
        let is_still = std::mem::replace(&mut seen, now) == now;
        if is_still && read != Some(now) {
            read = Some(now);
            if let Some(snapshot) = read_if_changed(path, &mut published) {
                publish(snapshot.map(Arc::new));
            }
        }
    }
}
