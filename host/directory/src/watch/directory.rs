//! A directory whose policies were listed, and loaded where the caller waits for them.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use plimsoll_core::Loader;

use super::event::LoopEvent;
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
    pub(super) config: DirectoryConfig,
    pub(super) table: PolicyTable,
    pub(super) scan: Arc<Scan>,
    pub(super) worker_pool: WorkerPool,
    pub(super) sender: Sender<LoopEvent>,
    pub(super) events: Receiver<LoopEvent>,
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
        directory.table.begin(&directory.scan, sidecars, false);
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
        directory.table.begin(&directory.scan, sidecars, !directory.config.allow_degraded);
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
            self.worker_pool.submit(Job::Load(Box::new(job)), &self.sender);
        }
        while under_way > 0 {
            // The channel stays open: `self` has a sender.
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
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("config", &self.config).finish_non_exhaustive()
    }
}

fn last_good(directory: &Path, root: &Path) -> Option<Arc<LastGood>> {
    let opened = LastGood::open(directory, root).inspect_err(|error| {
        let path = directory.display();
        tracing::warn!(%error, "{path} cannot be used: the last good version of a policy does not outlast a restart");
    });
    opened.ok().map(Arc::new)
}
