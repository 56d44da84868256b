//! Lists one resource, watches it from there, and restarts whenever the watch ends.

mod listing;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use kube::{Client, client::Body};
use tokio::sync::watch;
use tracing::{debug, warn};

use super::{
    failure::WatchFailure,
    lines::LineReader,
    pages::PageSize,
    requests::ResourceClient,
    resource::{Resource, WatchedObject},
    shared::SharedState,
    status::WatchHealth,
    unreadable::UnreadableObjects,
    wire::{self, EventKind, WatchEvent},
};
use crate::{
    backoff::Backoff,
    clock::{self, sleep, sleep_until},
};

/// A restarted watch has caught up once no event has arrived for this long.
const CAUGHT_UP_QUIET: Duration = Duration::from_millis(100);

/// The same after this long, however much comes: in a busy cluster there is always an event.
const CAUGHT_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// The wait before the first retry, and the longest.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(10);

/// A failure after a watch of at least this length counts as a new one.
const STEADY: Duration = Duration::from_secs(5);

/// Follows one resource as long as it is polled.
pub(super) async fn follow(client: Client, resource: Resource, shared: Arc<SharedState>, silence: Duration) {
    let mut reflector = Reflector {
        requests: ResourceClient::new(client, resource),
        resource,
        silence,
        wanted: shared.wanted.subscribe(),
        resumed: shared.resumed.subscribe(),
        shared,
        version: None,
        pages: PageSize::default(),
        unreadable: UnreadableObjects::default(),
    };
    let mut backoff = Backoff::new(FIRST_RETRY, MAX_RETRY);
    loop {
        let began = clock::now();
        let was_watch = reflector.version.is_some();
        let result = if was_watch { reflector.watch().await } else { reflector.list().await };
        let was_steady = was_watch && clock::now().saturating_duration_since(began) > STEADY;
        if was_steady {
            backoff.reset();
        }
        match result {
            Ok(()) if was_steady || !was_watch || reflector.version.is_none() => {}
            Ok(()) => sleep(backoff.next()).await,
            Err(failure) => {
                let wait = backoff.next();
                reflector.failed(&failure, wait, backoff.failures());
                sleep(wait).await;
            }
        }
    }
}

struct Reflector {
    requests: ResourceClient,
    resource: Resource,
    shared: Arc<SharedState>,
    silence: Duration,
    /// Changes when somebody requests a new list.
    wanted: watch::Receiver<u64>,
    /// Changes after a pause of the process.
    resumed: watch::Receiver<u64>,
    /// The position of the watch; `None`: a list comes first.
    version: Option<String>,
    pages: PageSize,
    unreadable: UnreadableObjects,
}

// === impl Reflector ===

impl Reflector {
    /// Takes events from where the last list or watch ended, until this one ends.
    async fn watch(&mut self) -> Result<(), WatchFailure> {
        let resumed = *self.resumed.borrow_and_update();
        let Some(body) = self.start_watch().await? else { return Ok(()) };
        self.record().well(&self.record().watches);
        let mut lines = LineReader::new(body, self.silence);
        let mut is_behind = self.shared.is_behind(self.resource, resumed);
        let caught_up = clock::now() + CAUGHT_UP_TIMEOUT;
        loop {
            let quiet = clock::now() + CAUGHT_UP_QUIET;
            let line = tokio::select! {
                biased;
                _ = self.wanted.changed() => {
                    self.version = None;
                    return Ok(());
                }
                // The connection may be dead, or full of old events: a new one shows the changes since then.
                _ = self.resumed.changed() => return Ok(()),
                () = sleep_until(quiet.min(caught_up)), if is_behind => {
                    is_behind = false;
                    self.shared.caught_up(self.resource, resumed);
                    continue;
                }
                line = lines.next() => line,
            };
            match line {
                Ok(Some(line)) => self.take(&line).inspect_err(|_| self.version = None)?,
                Ok(None) => return Ok(()),
                Err(WatchFailure::Silent(silence)) => {
                    // No bookmark either: the connection may be dead, or nothing has happened.
                    debug!(resource = self.resource.name(), ?silence, "the watch was silent: it is restarted");
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Starts a watch at the current position; `None` if a new list was requested, or has to come first.
    async fn start_watch(&mut self) -> Result<Option<Body>, WatchFailure> {
        let Some(version) = &self.version else { return Ok(None) };
        tokio::select! {
            biased;
            // A new leader may wait for the list, and must not wait for a watch that does not start.
            _ = self.wanted.changed() => {}
            body = self.requests.watch(version) => return body.map(Some),
        }
        self.version = None;
        Ok(None)
    }

    /// Takes one line of a watch.
    fn take(&mut self, line: &[u8]) -> Result<(), WatchFailure> {
        let event: WatchEvent<'_> = serde_json::from_slice(line).map_err(malformed)?;
        let text = event.object.get();
        if event.kind == EventKind::Error {
            return Err(WatchFailure::refused(500, text.as_bytes()));
        }
        let object: wire::AnyObject<'_> = serde_json::from_str(text).map_err(malformed)?;
        let version = object.metadata.resource_version;
        self.check_order(&version)?;
        self.record().alive();
        let counter = if event.kind == EventKind::Bookmark { &self.record().bookmarks } else { &self.record().events };
        counter.fetch_add(1, Ordering::Relaxed);
        if event.kind != EventKind::Bookmark
            && let Some(object) = self.read(text, event.kind)
        {
            self.shared.apply([(object, event.kind)]);
        }
        self.version = Some(version.into_owned());
        Ok(())
    }

    /// Versions grow; a smaller one comes from an API server whose store was restored.
    fn check_order(&self, version: &str) -> Result<(), WatchFailure> {
        let number = |version: &str| version.parse::<u128>().ok();
        let before = self.version.as_deref().and_then(number);
        match (before, number(version)) {
            (Some(before), Some(now)) if now < before => {
                Err(WatchFailure::Expired(format!("version {now} came after version {before}")))
            }
            _ => Ok(()),
        }
    }

    /// An object as far as it can be read; `None` if there is nothing to do about it.
    fn read(&mut self, json: &str, kind: EventKind) -> Option<WatchedObject> {
        match self.resource.read(json) {
            Ok(object) => {
                if self.unreadable.remove(&object) {
                    self.report_unreadable();
                }
                Some(object)
            }
            Err(error) => self.add_unreadable(self.resource.unreadable(json), &error.to_string(), kind),
        }
    }

    /// An object cannot be read: its last known state is no longer valid.
    fn add_unreadable(&mut self, object: Option<WatchedObject>, why: &str, kind: EventKind) -> Option<WatchedObject> {
        self.record().unreadable.fetch_add(1, Ordering::Relaxed);
        match (&object, kind) {
            (Some(object), EventKind::Deleted) => {
                self.unreadable.remove(object);
            }
            (None, EventKind::Deleted) => {}
            (object, _) => {
                let is_on_known_node = object.as_ref().is_some_and(|object| self.shared.knows_node_of(object));
                self.unreadable.insert(self.resource, object.as_ref(), why, is_on_known_node);
            }
        }
        self.report_unreadable();
        object
    }

    fn report_unreadable(&self) {
        self.record().set_unreadable(self.unreadable.len(), self.unreadable.first());
    }

    fn failed(&mut self, failure: &WatchFailure, wait: Duration, failures: u32) {
        if !failure.is_transient() {
            self.version = None;
        }
        self.record().failed(failure.to_string());
        self.shared.failed(self.resource);
        // A long outage must not fill the log.
        if failures.is_power_of_two() {
            warn!(resource = self.resource.name(), error = %failure, ?wait, failures, "the watch failed and is retried: the last cluster stays in force, if there is one");
        }
    }

    fn record(&self) -> &WatchHealth {
        self.shared.record(self.resource)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err wants it")]
fn malformed(error: serde_json::Error) -> WatchFailure {
    WatchFailure::Malformed(error.to_string())
}
