//! The thread that keeps the roster in step with the directory: scans, decides, publishes. Other threads load policies.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::Loader;

use crate::{
    DirectoryConfig, DirectoryError, RosterUpdate,
    last_good::LastGood,
    load::{LoadContext, LoadJob, LoadOutcome},
    policy::Pass,
    scan::{Scan, Settling},
    table::PolicyTable,
    watcher::Watcher,
};

/// The number of times that files which change while they are first read are read again, and the pause between.
const FIRST_TRIES: u32 = 50;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Maximum loads at once. The loader compiles fewer at once; the others wait there, or call a guest.
const MAX_LOADS: usize = 8;

/// The polling interval in addition to file-system events, which network file systems may not deliver.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The polling interval if watching failed, or while the directory does not exist.
const FALLBACK_INTERVAL: Duration = Duration::from_millis(500);

/// Minimum pause between two scans: events come in storms.
const MIN_PAUSE: Duration = Duration::from_millis(5);

/// The time that a scan which the outcome of a job calls for waits for other outcomes.
const RESCAN_PAUSE: Duration = Duration::from_millis(20);

/// The interval at which versions on trial are judged.
const TRIAL_INTERVAL: Duration = Duration::from_millis(250);

/// The longest time that a change waits for loads in progress, so that changes of the same moment come into force
/// together, and so that many outcomes are not published one by one.
const MAX_HOLD: Duration = Duration::from_millis(250);

/// The time that a watch which is dropped waits for its thread: one that waits for a volume must not keep the process.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A directory of policies.
pub struct Directory {
    config: Arc<DirectoryConfig>,
    table: PolicyTable,
    settling: Settling,
    context: Arc<LoadContext>,
    /// Loads that wait for a thread.
    queue: VecDeque<LoadJob>,
    /// Loads in progress.
    running: usize,
    sender: Sender<LoopEvent>,
    events: Receiver<LoopEvent>,
    watcher: Option<Watcher>,
    /// Since when the directory cannot be listed.
    unreadable_since: Option<Instant>,
    last_scan: Instant,
    /// When the next scan is due, whatever happens.
    next_scan: Instant,
    /// Since when a change waits to be published.
    held_since: Option<Instant>,
}

/// A running watch; dropping it stops its thread, and waits for it unless that takes too long.
pub struct DirectoryWatch {
    wake: Sender<LoopEvent>,
    /// Reports the end of the thread.
    end: Receiver<()>,
}

/// An event that wakes the thread.
enum LoopEvent {
    /// The directory may have changed.
    Changed,
    /// A load has ended.
    Loaded(Box<LoadOutcome>),
    /// The watch must stop.
    Stop,
}

// === impl Directory ===

impl Directory {
    /// Loads every policy of a directory; failures are part of the roster.
    ///
    /// # Errors
    /// If the directory cannot be listed, holds too many policies, or changes all the time.
    pub fn open(config: DirectoryConfig, loader: Arc<dyn Loader>) -> Result<(Self, RosterUpdate), DirectoryError> {
        let settle = config.settle;
        let mut directory = Self::new(config, loader, Duration::ZERO, false)?;
        for _ in 0..FIRST_TRIES {
            directory.load_all();
            let scan = Scan::take(&directory.config.path)?;
            if scan == **directory.settling.scan() {
                directory.settling = Settling::new(settle, Arc::new(scan));
                return Ok(directory.with_update());
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a file that is being written is done a moment later, or the next try says so"
            )]
            thread::sleep(FIRST_PAUSE);
            directory.settling.observe(Arc::new(scan), Instant::now());
        }
        let path = directory.config.path.display();
        Err(DirectoryError::Refused(format!("the files of {path} change while they are read")))
    }

    /// Lists a directory; [`Directory::watch`] loads its policies.
    ///
    /// Until a version of a policy is loaded, each of its verbs is a fault, whose meaning is its `onError`.
    ///
    /// # Errors
    /// As for [`Directory::open`].
    pub fn start(config: DirectoryConfig, loader: Arc<dyn Loader>) -> Result<(Self, RosterUpdate), DirectoryError> {
        let (settle, stands_in) = (config.settle, !config.allow_degraded);
        Ok(Self::new(config, loader, settle, stands_in)?.with_update())
    }

    fn new(
        config: DirectoryConfig,
        loader: Arc<dyn Loader>,
        settle: Duration,
        stands_in: bool,
    ) -> Result<Self, DirectoryError> {
        let (config, now) = (Arc::new(config), Instant::now());
        let settling = Settling::new(settle, Arc::new(Scan::take(&config.path)?));
        let last_good = config.last_good.as_deref().and_then(|directory| open_last_good(directory, &config.path));
        let context = Arc::new(LoadContext { config: Arc::clone(&config), loader, last_good: last_good.clone() });
        let table = PolicyTable::new(&Pass { config: &config, settling: &settling, now }, last_good, stands_in);
        let (sender, events) = mpsc::channel();
        Ok(Self {
            config,
            table,
            settling,
            context,
            queue: VecDeque::new(),
            running: 0,
            sender,
            events,
            watcher: None,
            unreadable_since: None,
            last_scan: now,
            next_scan: now,
            held_since: None,
        })
    }

    fn with_update(mut self) -> (Self, RosterUpdate) {
        let update = self.table.take_update();
        (self, update)
    }

    /// Loads the policies that the last scan found, and waits for them.
    fn load_all(&mut self) {
        self.refresh(Instant::now());
        while self.running > 0 {
            // The channel stays open: `self` has a sender.
            let Ok(event) = self.events.recv() else { return };
            if let LoopEvent::Loaded(outcome) = event {
                self.finish(*outcome);
            }
        }
    }

    /// Compares the policies with the last scan, and starts the loads that are due.
    fn refresh(&mut self, now: Instant) {
        let jobs = self.table.refresh(&Pass { config: &self.config, settling: &self.settling, now });
        self.begin(jobs);
    }

    /// Starts loads, each on a thread of its own, as many as may run at once; the others wait.
    fn begin(&mut self, jobs: Vec<LoadJob>) {
        self.queue.extend(jobs);
        while self.running < MAX_LOADS
            && let Some(job) = self.queue.pop_front()
        {
            self.running += 1;
            let failed = LoadOutcome::failed(&job);
            let (context, sender) = (Arc::clone(&self.context), self.sender.clone());
            let work = move || {
                let failed = LoadOutcome::failed(&job);
                let outcome = catch_unwind(AssertUnwindSafe(|| context.carry_out(&job))).unwrap_or(failed);
                // The directory may have been dropped.
                let _ = sender.send(LoopEvent::Loaded(Box::new(outcome)));
            };
            if thread::Builder::new().name("policy-loader".to_owned()).spawn(work).is_err() {
                let _ = self.sender.send(LoopEvent::Loaded(Box::new(failed)));
            }
        }
    }

    /// Applies the outcome of a load.
    fn finish(&mut self, outcome: LoadOutcome) {
        self.running -= 1;
        self.begin(Vec::new());
        let now = Instant::now();
        if self.table.finish(outcome, &Pass { config: &self.config, settling: &self.settling, now }) {
            self.scan_by(now + RESCAN_PAUSE);
        }
    }

    /// Keeps the roster in step with the directory, and publishes each new one.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(
        mut self,
        publish: impl FnMut(RosterUpdate) + Send + 'static,
    ) -> Result<DirectoryWatch, DirectoryError> {
        let (path, wake) = (self.config.path.clone(), self.sender.clone());
        self.watcher = watcher_of(&self.config, &self.sender);
        // Done before returning, so that later changes are noticed.
        self.watch_groups();
        let (ended, end) = mpsc::channel();
        let run = move || {
            self.run(publish);
            // The receiver may be gone.
            let _ = ended.send(());
        };
        let thread = thread::Builder::new().name("policies".to_owned()).spawn(run);
        thread.map_err(|cause| DirectoryError::Thread { path, cause })?;
        Ok(DirectoryWatch { wake, end })
    }

    fn run(mut self, mut publish: impl FnMut(RosterUpdate)) {
        loop {
            let now = Instant::now();
            if self.scan_at() <= now {
                self.scan(now);
            }
            if self.table.judge() {
                self.next_scan = now;
            }
            self.publish_if_ready(now, &mut publish);
            match self.events.recv_timeout(self.wake_at(now).saturating_duration_since(now)) {
                Ok(LoopEvent::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(LoopEvent::Changed) => self.scan_by(Instant::now() + MIN_PAUSE.min(self.config.settle)),
                Ok(LoopEvent::Loaded(outcome)) => self.finish(*outcome),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn scan_by(&mut self, moment: Instant) {
        self.next_scan = self.next_scan.min(moment);
    }

    /// When the next scan is due, unless an event comes first: files may have settled, or be due for another try.
    fn scan_at(&self) -> Instant {
        let retry = self.table.next_retry().map(|retry| retry.max(self.last_scan + MIN_PAUSE));
        [self.settling.next(self.last_scan), retry].into_iter().flatten().fold(self.next_scan, Instant::min)
    }

    fn wake_at(&self, now: Instant) -> Instant {
        let publish = self.held_since.map(|since| since + MAX_HOLD);
        let judge = self.table.on_trial().next().map(|_| now + TRIAL_INTERVAL);
        [publish, judge].into_iter().flatten().fold(self.scan_at(), Instant::min)
    }

    /// Scans once, and starts loads.
    fn scan(&mut self, now: Instant) {
        self.last_scan = now;
        match Scan::take(&self.config.path) {
            Ok(scan) => {
                self.unreadable_since = None;
                self.settling.observe(Arc::new(scan), now);
                self.watch_groups();
                self.refresh(now);
            }
            Err(error) => {
                let since = *self.unreadable_since.get_or_insert(now);
                if now.saturating_duration_since(since) >= self.config.settle {
                    self.table.refuse(&error);
                }
            }
        }
        let default = if self.watcher.is_some() { POLL_INTERVAL } else { FALLBACK_INTERVAL };
        let interval = self.config.poll.unwrap_or(default);
        let is_readable = self.unreadable_since.is_none();
        self.next_scan = now + if is_readable { interval } else { interval.min(FALLBACK_INTERVAL) };
    }

    /// Publishes changes, unless loads are in progress that may change more.
    fn publish_if_ready(&mut self, now: Instant, publish: &mut impl FnMut(RosterUpdate)) {
        if !self.table.has_update() {
            return;
        }
        let since = *self.held_since.get_or_insert(now);
        if self.running == 0 || now.saturating_duration_since(since) >= MAX_HOLD {
            self.held_since = None;
            publish(self.table.take_update());
        }
    }

    /// Watches the root and its groups; falls back to polling.
    fn watch_groups(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let path = &self.config.path;
        if let Err(error) = watcher.follow(self.settling.scan().groups.iter().map(|group| path.join(&**group))) {
            warn_of_polling(path, &error);
            self.watcher = None;
        }
    }
}

// === impl DirectoryWatch ===

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        // The thread may have ended already.
        let _ = self.wake.send(LoopEvent::Stop);
        // A panic of the thread was printed already, and closes the channel.
        let _ = self.end.recv_timeout(STOP_TIMEOUT);
    }
}

impl fmt::Debug for DirectoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryWatch").finish_non_exhaustive()
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("config", &self.config).finish_non_exhaustive()
    }
}

fn open_last_good(directory: &Path, root: &Path) -> Option<Arc<LastGood>> {
    let opened = LastGood::open(directory, root).inspect_err(|error| {
        let path = directory.display();
        tracing::warn!(%error, "{path} cannot be used: the last good version of a policy does not outlast a restart");
    });
    opened.ok().map(Arc::new)
}

fn watcher_of(config: &DirectoryConfig, events: &Sender<LoopEvent>) -> Option<Watcher> {
    let events = events.clone();
    let report = move || {
        // The thread may have ended.
        let _ = events.send(LoopEvent::Changed);
    };
    let watcher = config.poll.is_none().then(|| Watcher::new(report))?;
    watcher.inspect_err(|error| warn_of_polling(&config.path, error)).ok()
}

fn warn_of_polling(path: &Path, error: &notify::Error) {
    let every = FALLBACK_INTERVAL.as_millis();
    tracing::warn!("{} cannot be watched ({error}): looking every {every} ms instead", path.display());
}
