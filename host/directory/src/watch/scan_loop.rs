//! The loop of the thread: scan, queue jobs, apply outcomes, publish.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use super::{directory::Directory, event::LoopEvent, publish_window::PublishWindow};
use crate::{
    DirectoryConfig, DirectoryError, RosterUpdate,
    load::LoadOutcome,
    rollback_check::RollbackCheck,
    scan::{File, Scan},
    settling::Settling,
    table::{PolicyTable, Timing},
    watcher::Watcher,
    worker_pool::{Job, JobOutcome, WorkerPool},
};

/// The polling interval in addition to file-system events, which network file systems may not deliver.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The polling interval if watching failed, or while the directory does not exist.
const FALLBACK_INTERVAL: Duration = Duration::from_millis(500);

/// Minimum pause between two scans: events come in storms.
const MIN_PAUSE: Duration = Duration::from_millis(5);

/// The time that a scan, called for by the outcome of a job, waits for other outcomes: 2,000 sidecars may each name a
/// module.
const RESCAN_PAUSE: Duration = Duration::from_millis(20);

/// The interval at which versions on probation are judged.
const PROBATION_INTERVAL: Duration = Duration::from_millis(250);

/// The state of the thread.
pub(super) struct ScanLoop<F> {
    config: DirectoryConfig,
    table: PolicyTable,
    settling: Settling,
    watcher: Option<Watcher>,
    pool: WorkerPool,
    sender: Sender<LoopEvent>,
    events: Receiver<LoopEvent>,
    /// Whether a rescan for file-system events is queued.
    is_rescan_queued: Arc<AtomicBool>,
    /// Ends the loop before the events that are queued.
    stop: Arc<AtomicBool>,
    publish: F,
    /// Since when the directory cannot be listed.
    unreadable_since: Option<Instant>,
    /// When the next scan is due, with or without events.
    next_scan: Instant,
    /// Load jobs in progress.
    under_way: usize,
    /// The time that changes wait for those jobs.
    window: PublishWindow,
}

/// The timing of one pass.
struct Pass<'a> {
    settling: &'a Settling,
    now: Instant,
}

// === impl ScanLoop ===

impl<F: FnMut(RosterUpdate)> ScanLoop<F> {
    pub(super) fn new(directory: Directory, stop: Arc<AtomicBool>, publish: F) -> Self {
        let Directory { config, table, scan, worker_pool, sender, events } = directory;
        let is_rescan_queued = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        Self {
            settling: Settling::new(config.settle, scan),
            watcher: watcher_of(&config, &is_rescan_queued, &sender),
            config,
            table,
            pool: worker_pool,
            sender,
            events,
            is_rescan_queued,
            stop,
            publish,
            unreadable_since: None,
            next_scan: now,
            under_way: 0,
            window: PublishWindow::new(now),
        }
    }

    pub(super) fn run(mut self) {
        self.scan(Instant::now());
        while !self.stop.load(Ordering::Acquire) {
            self.judge();
            self.publish_if_ready(Instant::now());
            let now = Instant::now();
            let until = self.next_wakeup(now);
            match self.events.recv_timeout(until.saturating_duration_since(now)) {
                Ok(LoopEvent::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(LoopEvent::Done(JobOutcome::Load(outcome))) => self.apply_load(*outcome),
                Ok(LoopEvent::Done(JobOutcome::Check(check, error))) => self.apply_check(&check, error),
                Ok(LoopEvent::Rescan) => {
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "the events of one change come together, and are answered by one scan"
                    )]
                    thread::sleep(MIN_PAUSE.min(self.config.settle));
                    self.is_rescan_queued.store(false, Ordering::Release);
                    self.scan(Instant::now());
                }
                Err(RecvTimeoutError::Timeout) => self.scan_if_due(now),
            }
        }
    }

    /// The time of the next action, unless an event comes first.
    fn next_wakeup(&self, now: Instant) -> Instant {
        let publish = (self.table.has_update() && self.under_way > 0).then_some(self.window.end());
        let judged = self.table.is_on_probation().then(|| now + PROBATION_INTERVAL);
        let moments = [self.settling.next(now), self.table.next_retry(), publish.filter(|until| *until > now), judged];
        moments.into_iter().flatten().fold(self.next_scan, Instant::min)
    }

    /// Scans unless the loop woke up for another reason: to publish changes that were held back, or to judge versions.
    fn scan_if_due(&mut self, before: Instant) {
        let now = Instant::now();
        let settles = self.settling.next(before).is_some_and(|moment| moment <= now);
        let retries = self.table.next_retry().is_some_and(|moment| moment <= now);
        if settles || retries || self.next_scan <= now {
            self.scan(now);
        }
    }

    /// Scans once, and queues jobs.
    fn scan(&mut self, now: Instant) {
        match Scan::take(&self.config.path) {
            Ok(scan) => self.apply_scan(scan, now),
            Err(error @ DirectoryError::TooMany { .. }) => {
                let known = self.settling.scan().again(&self.config.path, &error);
                self.apply_scan(known, now);
            }
            Err(error) => {
                let since = *self.unreadable_since.get_or_insert(now);
                if now.saturating_duration_since(since) >= self.config.settle {
                    self.table.refuse(&error);
                }
                self.next_scan = self.next_scan.min(now + self.interval());
            }
        }
        if self.next_scan <= now {
            self.next_scan = now + self.interval();
        }
    }

    fn apply_scan(&mut self, scan: Scan, now: Instant) {
        self.unreadable_since = None;
        self.settling.observe(Arc::new(scan), now);
        self.watch_groups();
        let jobs = self.table.refresh(self.settling.scan(), &Pass { settling: &self.settling, now });
        if !jobs.is_empty() {
            self.under_way += jobs.len();
            self.window.begin_jobs(now);
        }
        for job in jobs {
            self.pool.submit(Job::Load(Box::new(job)), &self.sender);
        }
    }

    /// Confirms versions that have answered, and has those checked that fail from their first calls on.
    fn judge(&mut self) {
        for check in self.table.judge() {
            self.pool.submit(Job::Check(check), &self.sender);
        }
    }

    fn apply_load(&mut self, outcome: LoadOutcome) {
        let now = Instant::now();
        self.under_way = self.under_way.saturating_sub(1);
        if outcome.is_changing() {
            self.next_scan = self.next_scan.min(now + self.config.settle);
        }
        if self.table.finish(outcome, &Pass { settling: &self.settling, now }) {
            self.scan_soon(now);
        }
    }

    fn apply_check(&mut self, check: &RollbackCheck, error: Option<String>) {
        if self.table.apply_check(check, error) {
            self.scan_soon(Instant::now());
        }
    }

    /// Of many outcomes that come together each would cost a scan, so there is a short pause before it.
    fn scan_soon(&mut self, now: Instant) {
        self.next_scan = self.next_scan.min(now + RESCAN_PAUSE);
    }

    /// Publishes changes, unless more of the same batch are still being loaded.
    fn publish_if_ready(&mut self, now: Instant) {
        if !self.table.has_update() || !self.window.is_over(now, self.under_way) {
            return;
        }
        if let Some(update) = self.table.take_update() {
            (self.publish)(update);
            self.window.published(now, Instant::now());
        }
    }

    /// Watches the root and its groups; falls back to polling.
    pub(super) fn watch_groups(&mut self) {
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
            _ if self.unreadable_since.is_some() => {
                FALLBACK_INTERVAL.min(self.config.poll.unwrap_or(FALLBACK_INTERVAL))
            }
            (Some(poll), _) => poll,
            (None, Some(_)) => POLL_INTERVAL,
            (None, None) => FALLBACK_INTERVAL,
        }
    }
}

// === impl Pass ===

impl Timing for Pass<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn may_read(&self, files: &mut dyn Iterator<Item = &File>) -> bool {
        self.settling.is_settled(files, self.now)
    }

    fn may_report(&self, files: &mut dyn Iterator<Item = &File>) -> bool {
        self.settling.is_final(files, self.now)
    }

    fn is_calm(&self) -> bool {
        self.settling.is_calm(self.now)
    }
}

fn watcher_of(
    config: &DirectoryConfig,
    is_rescan_queued: &Arc<AtomicBool>,
    events: &Sender<LoopEvent>,
) -> Option<Watcher> {
    if config.poll.is_some() {
        return None;
    }
    let (is_rescan_queued, events) = (Arc::clone(is_rescan_queued), events.clone());
    let report = move || {
        // One queued event stands for all: the scan comes after it.
        if !is_rescan_queued.swap(true, Ordering::AcqRel) {
            // The thread may have ended.
            let _ = events.send(LoopEvent::Rescan);
        }
    };
    Watcher::new(report).inspect_err(|error| warn_of_polling(&config.path, error)).ok()
}

fn warn_of_polling(path: &Path, error: &notify::Error) {
    let every = FALLBACK_INTERVAL.as_millis();
    tracing::warn!("{} cannot be watched ({error}): looking every {every} ms instead", path.display());
}
