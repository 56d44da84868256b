//! Reads a snapshot, and reads it again when its file changes.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, SystemTime},
};

use plimsoll_core::Cluster;
use plimsoll_system::{Debouncer, FileStamp};

use crate::{SnapshotError, read_snapshot};

/// Watches as long as it lives.
#[derive(Debug)]
pub struct SnapshotWatch {
    /// Dropped to stop the thread.
    _stop: Sender<()>,
}

/// Publishes the snapshot in a file, and polls the file to publish it again when it has changed.
///
/// A file that is being written is not read until two polls find it unchanged. A file that cannot be read is
/// published once as an error; the snapshot before it should stay in force.
///
/// # Errors
/// As for [`read_snapshot`](crate::read_snapshot), if the first snapshot cannot be read.
pub fn watch_snapshot(
    path: PathBuf,
    every: Duration,
    mut publish: impl FnMut(Result<Arc<Cluster>, SnapshotError>) + Send + 'static,
) -> Result<SnapshotWatch, SnapshotError> {
    let stamp = FileStamp::of(&path);
    // A file that was written just now may be written again without a change of its stamp: it is read once more.
    let is_young = stamp.may_repeat(SystemTime::now());
    let mut stamps = Debouncer::new(if is_young { FileStamp::default() } else { stamp });
    publish(Ok(Arc::new(read_snapshot(&path)?)));
    let (stop, stopped) = mpsc::channel();
    let poll = move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            if stamps.add(FileStamp::of(&path), false).is_some() {
                publish(read_snapshot(&path).map(Arc::new));
            }
        }
    };
    if let Err(error) = thread::Builder::new().name("snapshot".to_owned()).spawn(poll) {
        tracing::error!("cannot start a thread to watch the snapshot: {error}");
    }
    Ok(SnapshotWatch { _stop: stop })
}
