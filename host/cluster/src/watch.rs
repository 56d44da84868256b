//! Reads a snapshot again when its file changes.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, SystemTime},
};

use plimsoll_core::Cluster;

use crate::{
    SnapshotError,
    snapshot::{FileFingerprint, read_if_changed},
};

/// A file that changed this recently when the watch started may have been read before the change.
const RECENT: Duration = Duration::from_secs(10);

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
    let read = FileStamp::of(&path).filter(|stamp| !stamp.is_recent());
    let thread = thread::Builder::new()
        .name("snapshot".to_owned())
        .spawn(move || run(&path, every, (read, published), &stopped, publish));
    let thread = thread.inspect_err(|error| tracing::error!("cannot start a thread to watch the snapshot: {error}"));
    SnapshotWatch { stop: Some(stop), thread: thread.ok() }
}

/// A stamp to find out whether a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    modified: Option<SystemTime>,
    inode: u64,
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

// === impl FileStamp ===

impl FileStamp {
    /// The stamp of a file, if it is there.
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok();
        Some(Self { length: metadata.len(), modified, inode: inode(&metadata) })
    }

    fn is_recent(&self) -> bool {
        let age = self.modified.and_then(|modified| modified.elapsed().ok());
        age.is_none_or(|age| age < RECENT)
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> u64 {
    0
}

fn run(
    path: &Path,
    every: Duration,
    (mut read, mut published): (Option<FileStamp>, Option<FileFingerprint>),
    stopped: &Receiver<()>,
    mut publish: impl FnMut(Result<Arc<Cluster>, SnapshotError>),
) {
    let mut seen = FileStamp::of(path);
    // A missing file is reported once, too.
    let mut told_missing = false;
    while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        let now = FileStamp::of(path);
        let is_still = std::mem::replace(&mut seen, now) == now;
        let is_news = if now.is_none() { !told_missing } else { now != read };
        if is_still && is_news {
            (read, told_missing) = (now, now.is_none());
            // The stamp is taken before the content is read, so a write in between changes it.
            if let Some(snapshot) = read_if_changed(path, &mut published) {
                publish(snapshot.map(Arc::new));
            }
        }
    }
}
