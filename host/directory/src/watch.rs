//! The thread that keeps the roster as the directory says.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::Loader;

use crate::{
    DirectoryConfig, DirectoryError, Update,
    scan::{File, Scan},
    settling::Settling,
    table::{AtOnce, Table, Timing},
    watcher::Watcher,
};

/// How often to look although the file system reports changes: not all of them do, such as network file systems.
const NET: Duration = Duration::from_secs(5);

/// How often to look where watching failed, or while the directory is not there.
const FALLBACK: Duration = Duration::from_millis(500);

/// The least time between two looks, however often the file system reports: events come in storms.
const PAUSE: Duration = Duration::from_millis(5);

/// How often files that change while they are first read are read again.
const FIRST_TRIES: u32 = 50;

/// How long to wait between these.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// A directory of policies, loaded once.
pub struct Directory {
    config: DirectoryConfig,
    table: Table,
    scan: Scan,
}

/// Watches as long as it lives; dropping it waits for the thread to end.
pub struct Watching {
    stop: Arc<AtomicBool>,
    wake: SyncSender<()>,
    thread: Option<thread::JoinHandle<()>>,
}

/// What the thread has.
struct Worker<F> {
    config: DirectoryConfig,
    table: Table,
    settling: Settling,
    watcher: Option<Watcher>,
    wakes: Receiver<()>,
    stop: Arc<AtomicBool>,
    publish: F,
    /// Since when the directory cannot be listed.
    trouble: Option<Instant>,
}

/// The timing of one pass.
struct Pass<'a> {
    settling: &'a Settling,
    now: Instant,
    retries: bool,
    stop: &'a AtomicBool,
}

// === impl Directory ===

impl Directory {
    /// Loads every policy of a directory; what cannot be loaded is a failure in the roster.
    ///
    /// # Errors
    /// If the directory cannot be listed or holds too many policies.
    pub fn open(config: DirectoryConfig, loader: Arc<dyn Loader>) -> Result<(Self, Update), DirectoryError> {
        let mut table = Table::new(&config, loader);
        let mut scan = Scan::take(&config.path)?;
        let mut changes = Vec::new();
        for _ in 0..FIRST_TRIES {
            changes.extend(table.refresh(&scan, &AtOnce).map(|update| update.changes).unwrap_or_default());
            if !table.has_unread() {
                break;
            }
            thread::sleep(FIRST_PAUSE);
            scan = Scan::take(&config.path)?;
        }
        changes.extend(table.refuse_unread());
        let update = Update { roster: Arc::new(table.roster()), changes };
        Ok((Self { config, table, scan }, update))
    }

    /// Keeps the roster as the directory says, and publishes each new one.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(self, publish: impl FnMut(Update) + Send + 'static) -> Result<Watching, DirectoryError> {
        let (wake, wakes) = mpsc::sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let path = self.config.path.clone();
        let mut worker = Worker {
            settling: Settling::new(self.config.settle, self.scan),
            watcher: mk_watcher(&self.config, &wake),
            config: self.config,
            table: self.table,
            wakes,
            stop: Arc::clone(&stop),
            publish,
            trouble: None,
        };
        // Before the caller goes on: what it changes from now on is seen.
        worker.follow();
        let thread = thread::Builder::new().name("policies".to_owned()).spawn(move || worker.run());
        let thread = thread.map_err(|cause| DirectoryError::Thread { path, cause })?;
        Ok(Watching { stop, wake, thread: Some(thread) })
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("config", &self.config).finish_non_exhaustive()
    }
}

// === impl Watching ===

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.wake.try_send(());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; there is nothing to add to it.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

// === impl Worker ===

impl<F: FnMut(Update)> Worker<F> {
    fn run(mut self) {
        let mut next_look = Instant::now() + self.interval();
        let mut is_due = true;
        while !self.stop.load(Ordering::Acquire) {
            let now = Instant::now();
            self.pass(now, is_due);
            if is_due {
                next_look = now + self.interval();
            }
            let now = Instant::now();
            let until = self.settling.next(now).map_or(next_look, |moment| moment.min(next_look));
            match self.wakes.recv_timeout(until.saturating_duration_since(now)) {
                Ok(()) => thread::sleep(PAUSE.min(self.config.settle)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            is_due = Instant::now() >= next_look;
        }
    }

    /// Looks once. `retries`: also at what failed for reasons that may have passed.
    fn pass(&mut self, now: Instant, retries: bool) {
        let update = match Scan::take(&self.config.path) {
            Ok(scan) => {
                self.trouble = None;
                self.settling.observe(scan, now);
                self.follow();
                let pass = Pass { settling: &self.settling, now, retries, stop: &self.stop };
                self.table.refresh(self.settling.scan(), &pass)
            }
            Err(error) => {
                let since = *self.trouble.get_or_insert(now);
                let is_lasting = now.saturating_duration_since(since) >= self.config.settle;
                if is_lasting { self.table.refuse(&error) } else { None }
            }
        };
        if let Some(update) = update {
            (self.publish)(update);
        }
    }

    /// Watches the root and the groups that there are; looks often where that fails.
    fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let path = &self.config.path;
        let groups = self.settling.scan().groups.iter().filter(|group| !group.is_empty());
        let directories = std::iter::once(path.clone()).chain(groups.map(|group| path.join(&**group)));
        if let Err(error) = watcher.follow(directories) {
            warn_of_polling(path, &error);
            self.watcher = None;
        }
    }

    fn interval(&self) -> Duration {
        match (self.config.poll, &self.watcher) {
            _ if self.trouble.is_some() => FALLBACK.min(self.config.poll.unwrap_or(FALLBACK)),
            (Some(poll), _) => poll,
            (None, Some(_)) => NET,
            (None, None) => FALLBACK,
        }
    }
}

// === impl Pass ===

impl Timing for Pass<'_> {
    fn may_read(&self, files: &mut dyn Iterator<Item = &File>) -> bool {
        self.settling.is_settled(files, self.now)
    }

    fn may_report(&self, files: &mut dyn Iterator<Item = &File>) -> bool {
        self.settling.is_final(files, self.now)
    }

    fn retries(&self) -> bool {
        self.retries
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

fn mk_watcher(config: &DirectoryConfig, wake: &SyncSender<()>) -> Option<Watcher> {
    if config.poll.is_some() {
        return None;
    }
    Watcher::new(wake.clone()).inspect_err(|error| warn_of_polling(&config.path, error)).ok()
}

fn warn_of_polling(path: &Path, error: &notify::Error) {
    let every = FALLBACK.as_millis();
    tracing::warn!("{} cannot be watched ({error}): looking every {every} ms instead", path.display());
}
