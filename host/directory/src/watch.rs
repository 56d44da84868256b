//! The thread that keeps the roster in step with the directory.

mod scan_loop;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use plimsoll_core::Loader;

use self::scan_loop::ScanLoop;
use crate::{
    DirectoryConfig, DirectoryError, RosterUpdate,
    fact_pool::FactPool,
    initial_sidecars::read_sidecars,
    known_modules::KnownModules,
    last_good::LastGood,
    load::LoadContext,
    scan::Scan,
    table::{Immediately, PolicyTable},
    worker_pool::{Job, JobOutcome, WorkerPool},
};

/// The number of times that files which change while they are first read are read again.
const FIRST_TRIES: u32 = 50;

/// The pause between these attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// A directory of policies.
pub struct Directory {
    config: DirectoryConfig,
    table: PolicyTable,
    scan: Arc<Scan>,
    worker_pool: WorkerPool,
    sender: Sender<LoopEvent>,
    events: Receiver<LoopEvent>,
}

/// The time that a watch which is dropped waits for its thread.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A running watch; dropping it stops its thread, and waits for it unless that takes too long.
pub struct DirectoryWatch {
    stop: Arc<AtomicBool>,
    wake: Sender<LoopEvent>,
    /// Reports the end of the thread.
    end: Receiver<()>,
}

/// An event that wakes the thread.
enum LoopEvent {
    /// The directory may have changed.
    Rescan,
    /// A job has ended.
    Done(JobOutcome),
    /// The watch must stop.
    Stop,
}

// === impl Directory ===

impl Directory {
    /// Loads every policy of a directory; failures are part of the roster.
    ///
    /// # Errors
    /// If the directory cannot be listed or holds too many policies.
    pub fn open(config: DirectoryConfig, loader: Arc<dyn Loader>) -> Result<(Self, RosterUpdate), DirectoryError> {
        let mut directory = Self::of(config, loader)?;
        let sidecars = read_sidecars(&directory.config, &directory.scan);
        directory.table.expect(&directory.scan, sidecars, false);
        for _ in 0..FIRST_TRIES {
            directory.load_all();
            if !directory.table.has_unread() {
                break;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a file that is being written is done a moment later, or the next try says so"
            )]
            thread::sleep(FIRST_PAUSE);
            directory.scan = Arc::new(Scan::take(&directory.config.path)?);
        }
        directory.table.refuse_unread();
        let update = directory.update();
        Ok((directory, update))
    }

    /// Lists a directory; [`Directory::watch`] loads its policies.
    ///
    /// Until a version of a policy is loaded, each of its verbs is a fault, whose meaning is its `onError`.
    ///
    /// # Errors
    /// As for [`Directory::open`].
    pub fn start(config: DirectoryConfig, loader: Arc<dyn Loader>) -> Result<(Self, RosterUpdate), DirectoryError> {
        let mut directory = Self::of(config, loader)?;
        let sidecars = read_sidecars(&directory.config, &directory.scan);
        directory.table.expect(&directory.scan, sidecars, !directory.config.allow_degraded);
        let update = directory.update();
        Ok((directory, update))
    }

    fn of(config: DirectoryConfig, loader: Arc<dyn Loader>) -> Result<Self, DirectoryError> {
        let scan = Arc::new(Scan::take(&config.path)?);
        let last_good = config.last_good.as_deref().and_then(|directory| last_good(directory, &config.path));
        let table = PolicyTable::new(&config, last_good.clone());
        let context = LoadContext {
            root: config.path.clone(),
            bounds: config.bounds(),
            loader,
            known_modules: KnownModules::default(),
            fact_pool: FactPool::default(),
            last_good,
        };
        let (sender, events) = mpsc::channel();
        Ok(Self { table, config, scan, worker_pool: WorkerPool::new(context), sender, events })
    }

    /// Loads the policies that the last scan found, and waits for them.
    fn load_all(&mut self) {
        let jobs = self.table.refresh(&self.scan, &Immediately);
        let mut under_way = jobs.len();
        for job in jobs {
            self.worker_pool.submit(Job::Load(job), &self.sender);
        }
        while under_way > 0 {
            // The channel stays open: this has a sender of its own.
            let Ok(event) = self.events.recv() else { return };
            if let LoopEvent::Done(JobOutcome::Load(outcome)) = event {
                let _ = self.table.finish(*outcome, &Immediately);
                under_way -= 1;
            }
        }
    }

    fn update(&mut self) -> RosterUpdate {
        let update = self.table.take_update();
        update.unwrap_or_else(|| RosterUpdate { roster: Arc::new(self.table.roster()), changes: Vec::new() })
    }

    /// Keeps the roster in step with the directory, and publishes each new one.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(self, publish: impl FnMut(RosterUpdate) + Send + 'static) -> Result<DirectoryWatch, DirectoryError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, wake): (PathBuf, _) = (self.config.path.clone(), self.sender.clone());
        let mut scan_loop = ScanLoop::new(self, Arc::clone(&stop), publish);
        // Done before returning, so that later changes are noticed.
        scan_loop.follow();
        let (ended, end) = mpsc::channel();
        let run = move || {
            scan_loop.run();
            // Nobody may wait for it any more.
            let _ = ended.send(());
        };
        let thread = thread::Builder::new().name("policies".to_owned()).spawn(run);
        thread.map_err(|cause| DirectoryError::Thread { path, cause })?;
        Ok(DirectoryWatch { stop, wake, end })
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("config", &self.config).finish_non_exhaustive()
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

fn last_good(directory: &Path, root: &Path) -> Option<Arc<LastGood>> {
    let opened = LastGood::open(directory, root).inspect_err(|error| {
        let path = directory.display();
        tracing::warn!(%error, "{path} cannot be used: the last good version of a policy does not outlast a restart");
    });
    opened.ok().map(Arc::new)
}

// === impl LoopEvent ===

impl From<JobOutcome> for LoopEvent {
    fn from(outcome: JobOutcome) -> Self {
        Self::Done(outcome)
    }
}
