//! The thread that keeps the roster in step with the directory.

mod directory;
mod event;
mod publish_window;
mod scan_loop;

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

pub use self::directory::Directory;
use self::{event::LoopEvent, scan_loop::ScanLoop};
use crate::{DirectoryError, RosterUpdate};

/// The time that a watch which is dropped waits for its thread.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A running watch; dropping it stops its thread, and waits for it unless that takes too long.
pub struct DirectoryWatch {
    stop: Arc<AtomicBool>,
    wake: Sender<LoopEvent>,
    /// Reports the end of the thread.
    end: Receiver<()>,
}

// === impl Directory ===

impl Directory {
    /// Keeps the roster in step with the directory, and publishes each new one.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(self, publish: impl FnMut(RosterUpdate) + Send + 'static) -> Result<DirectoryWatch, DirectoryError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, wake): (PathBuf, _) = (self.config.path.clone(), self.sender.clone());
        let mut scan_loop = ScanLoop::new(self, Arc::clone(&stop), publish);
        // Done before returning, so that later changes are noticed.
        scan_loop.watch_groups();
        let (ended, end) = mpsc::channel();
        let run = move || {
            scan_loop.run();
            // The receiver may be gone.
            let _ = ended.send(());
        };
        let thread = thread::Builder::new().name("policies".to_owned()).spawn(run);
        thread.map_err(|cause| DirectoryError::Thread { path, cause })?;
        Ok(DirectoryWatch { stop, wake, end })
    }
}

// === impl DirectoryWatch ===

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // The thread may have ended already.
        let _ = self.wake.send(LoopEvent::Stop);
        // A panic of the thread was printed already, and closes the channel. A thread that waits for a volume must not keep
        // the process.
        let _ = self.end.recv_timeout(STOP_TIMEOUT);
    }
}

impl fmt::Debug for DirectoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryWatch").finish_non_exhaustive()
    }
}
