//! Reads a snapshot, and reads it again when its file changes.

use std::{
    fmt,
    hash::{DefaultHasher, Hasher},
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use plimsoll_core::Cluster;
use plimsoll_system::FileStamp;

use crate::{
    SnapshotError,
    snapshot::{parse_snapshot, read_snapshot_text},
};

/// Watches as long as it lives; dropping it waits for the thread to end.
pub struct SnapshotWatch {
    /// Dropped to stop the thread.
    stop: Option<Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A snapshot file, and what was read of it last.
struct SnapshotFile {
    path: PathBuf,
    /// The hash of its content. It is not cryptographic: at worst, a change is missed.
    hash: Option<u64>,
}

/// Publishes the snapshot in a file, and polls the file to publish it again when its content has changed.
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
    let mut file = SnapshotFile { path, hash: None };
    if let Some(cluster) = file.read_if_changed() {
        publish(Ok(cluster?));
    }
    let (stop, stopped) = mpsc::channel();
    let thread = thread::Builder::new().name("snapshot".to_owned()).spawn(move || file.poll(every, &stopped, publish));
    let thread = thread.inspect_err(|error| tracing::error!("cannot start a thread to watch the snapshot: {error}"));
    Ok(SnapshotWatch { stop: Some(stop), thread: thread.ok() })
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

// === impl SnapshotFile ===

impl SnapshotFile {
    /// Reads the file; `None` if it has the same content as the last time.
    fn read_if_changed(&mut self) -> Option<Result<Arc<Cluster>, SnapshotError>> {
        let text = read_snapshot_text(&self.path);
        let hash = text.as_ref().ok().map(|text| {
            let mut hasher = DefaultHasher::new();
            hasher.write(text.as_bytes());
            hasher.finish()
        });
        let before = std::mem::replace(&mut self.hash, hash);
        if hash.is_some() && hash == before {
            return None;
        }
        Some(text.and_then(|text| parse_snapshot(&self.path, &text)).map(Arc::new))
    }

    fn poll(
        mut self,
        every: Duration,
        stopped: &Receiver<()>,
        mut publish: impl FnMut(Result<Arc<Cluster>, SnapshotError>),
    ) {
        // The first poll reads the file once more: it may have changed since it was read.
        let (mut seen, mut read) = (FileStamp::of(&self.path), None);
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let now = FileStamp::of(&self.path);
            let is_still = std::mem::replace(&mut seen, now) == now;
            if is_still && read != Some(now) {
                read = Some(now);
                if let Some(snapshot) = self.read_if_changed() {
                    publish(snapshot);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NODE: &str = r#"{"kind": "Node", "metadata": {"name": "n"}}"#;

    #[test]
    fn only_another_content_is_news() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.json");
        let put = |text: &str| fs::write(&path, text).unwrap();
        put(NODE);
        let mut file = SnapshotFile { path: path.clone(), hash: None };
        assert!(file.read_if_changed().unwrap().is_ok());
        assert!(file.read_if_changed().is_none(), "the content is the same");
        put("{");
        assert!(file.read_if_changed().unwrap().is_err());
        assert!(file.read_if_changed().is_none(), "a bad content is told once");
        put(NODE);
        assert!(file.read_if_changed().unwrap().is_ok(), "what was in force before is news again");
        fs::remove_file(&path).unwrap();
        assert!(file.read_if_changed().unwrap().is_err());
    }
}
