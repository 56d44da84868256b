//! Lists one resource, watches it from there, and restarts whenever the watch ends.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request as HttpRequest;
use kube::{
    Client,
    api::{ListParams, WatchParams},
    client::Body,
    core::{Request, request},
};
use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::{
    SharedState,
    backoff::{Backoff, random},
    failure::WatchFailure,
    lines::{LineReader, collect},
    lost::UnreadableObjects,
    pages::PageSize,
    resource::{Resource, WatchedObject},
    status::WatchRecord,
    wire::{self, EventKind, ListPage, WatchEvent},
};
use crate::clock::{self, sleep, sleep_until, timeout};

/// A restarted watch has caught up once no event has arrived for this long.
const CAUGHT_UP: Duration = Duration::from_millis(100);

/// The same after this long, however much comes: in a busy cluster there is always an event.
const CAUGHT_UP_ANYHOW: Duration = Duration::from_secs(1);

/// How long the API server may take to begin an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A failure after a watch of at least this length counts as a new one.
const STEADY: Duration = Duration::from_secs(5);

/// Seconds after which the API server ends a watch, plus up to a quarter at random.
const WATCH_SECONDS: f64 = 240.0;

/// Follows one resource as long as it is polled.
pub(super) async fn follow(client: Client, resource: Resource, shared: Arc<SharedState>, silence: Duration) {
    let (wanted, resumed) = (shared.wanted.subscribe(), shared.resumed.subscribe());
    let (pages, lost) = (PageSize::default(), UnreadableObjects::default());
    let mut follower = Reflector { client, resource, shared, silence, wanted, resumed, version: None, pages, lost };
    let mut backoff = Backoff::default();
    loop {
        let began = clock::now();
        let was_watch = follower.version.is_some();
        let result = if was_watch { follower.watch().await } else { follower.list().await };
        let was_steady = was_watch && clock::now().saturating_duration_since(began) > STEADY;
        if was_steady {
            backoff.reset();
        }
        match result {
            Ok(()) if was_steady || !was_watch || follower.version.is_none() => {}
            Ok(()) => sleep(backoff.next()).await,
            Err(failure) => {
                let wait = backoff.next();
                follower.failed(&failure, wait, backoff.failures());
                sleep(wait).await;
            }
        }
    }
}

struct Reflector {
    client: Client,
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
    lost: UnreadableObjects,
}

// === impl Reflector ===

impl Reflector {
    /// Puts all that there is into the store, page by page.
    async fn list(&mut self) -> Result<(), WatchFailure> {
        let covers = *self.wanted.borrow_and_update();
        let began = clock::now();
        self.shared.begin(self.resource);
        self.lost.begin_list();
        let (mut next, mut count) = (None, 0);
        let version = loop {
            let text = match self.page(next.clone()).await {
                Err(WatchFailure::TooLarge { most, .. }) if self.pages.halve() => {
                    debug!(
                        resource = self.resource.name(),
                        most,
                        limit = self.pages.limit(),
                        "a page is too large: it is asked for in smaller ones"
                    );
                    continue;
                }
                Err(WatchFailure::TooLarge { most, beginning }) => {
                    let (metadata, first) =
                        wire::heads(&beginning).ok_or(WatchFailure::TooLarge { most, beginning: Bytes::new() })?;
                    let lost = first.and_then(|first| self.resource.lost_by(&first, ""));
                    let why = format!("it has more than {most} bytes");
                    let lost = self.lose(lost, &why, EventKind::Added);
                    self.shared.apply(lost.map(|lost| (lost, EventKind::Added)));
                    if metadata.next.is_empty() {
                        break metadata.resource_version.into_owned();
                    }
                    next = Some(metadata.next.into_owned());
                    continue;
                }
                page => page?,
            };
            self.pages.fits(text.len());
            let page: ListPage<'_> = serde_json::from_slice(&text).map_err(malformed)?;
            count += self.put_page(&page);
            if page.metadata.next.is_empty() {
                break page.metadata.resource_version.into_owned();
            }
            next = Some(page.metadata.next.into_owned());
        };
        self.lost.end_list();
        self.tell_lost();
        self.shared.listed(self.resource, began, covers);
        self.version = Some(version);
        info!(resource = self.resource.name(), count, took = ?clock::now().saturating_duration_since(began), "listed");
        Ok(())
    }

    async fn page(&self, next: Option<String>) -> Result<Bytes, WatchFailure> {
        let params = ListParams {
            field_selector: self.resource.selector(),
            limit: Some(self.pages.limit()),
            continue_token: next,
            ..ListParams::default()
        };
        let body = self.ask(Request::new(self.resource.path()).list(&params)).await?;
        collect(body, ANSWER_TIMEOUT).await
    }

    fn put_page(&mut self, page: &ListPage<'_>) -> usize {
        let items = page.items.as_deref().unwrap_or_default();
        let read: Vec<WatchedObject> =
            items.iter().filter_map(|item| self.read(item.get(), EventKind::Added)).collect();
        self.record().alive();
        self.shared.apply(read.into_iter().map(|object| (object, EventKind::Added)));
        items.len()
    }

    /// Takes events from where the last list or watch ended, until this one ends.
    async fn watch(&mut self) -> Result<(), WatchFailure> {
        let Some(version) = self.version.clone() else { return Ok(()) };
        let params = WatchParams {
            field_selector: self.resource.selector(),
            timeout: Some(WATCH_SECONDS.mul_add(0.25 * random(), WATCH_SECONDS) as u32),
            ..WatchParams::default()
        };
        let resumed = *self.resumed.borrow_and_update();
        let mut wanted = self.wanted.clone();
        let request = Request::new(self.resource.path()).watch(&params, &version);
        let body = tokio::select! {
            biased;
            // A new leader may wait for the list, and must not wait for a watch that does not start.
            _ = wanted.changed() => {
                self.version = None;
                return Ok(());
            }
            body = self.ask(request) => body?,
        };
        self.record().well(&self.record().watches);
        let mut lines = LineReader::new(body, self.silence);
        let mut is_behind = self.shared.is_behind(self.resource, resumed);
        let caught_up = clock::now() + CAUGHT_UP_ANYHOW;
        loop {
            let quiet = clock::now() + CAUGHT_UP;
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
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
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
                if self.lost.find(&object) {
                    self.tell_lost();
                }
                Some(object)
            }
            Err(error) => self.lose(self.resource.lost(json), &error.to_string(), kind),
        }
    }

    /// An object cannot be read: its last known state is no longer valid.
    fn lose(&mut self, lost: Option<WatchedObject>, why: &str, kind: EventKind) -> Option<WatchedObject> {
        let name = lost.as_ref().map_or_else(|| "one without a name".to_owned(), |lost| lost.name().into_owned());
        self.record().unreadable.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if kind == EventKind::Deleted {
            if let Some(lost) = &lost {
                self.lost.find(lost);
            }
        } else {
            let resource = self.resource.name();
            if lost.is_none() {
                warn!(
                    resource,
                    error = why,
                    "an object without a name cannot be read: it is not in view, and no node is out of sight for it"
                );
                self.lost.lose(name, &format!("{why}; without a name, it puts no node out of sight"));
            } else if lost.as_ref().is_some_and(|lost| self.shared.knows_node_of(lost)) {
                warn!(
                    resource,
                    name,
                    error = why,
                    "an object cannot be read: it is not in view, and nothing is placed on its node"
                );
                self.lost.lose(name, why);
            } else {
                warn!(
                    resource,
                    name,
                    error = why,
                    "a pod cannot be read, nor on which node it is: that node is in view as if the pod were not there"
                );
                self.lost.lose(name, &format!("{why}; on which node it is cannot be read either"));
            }
        }
        self.tell_lost();
        lost
    }

    fn tell_lost(&self) {
        self.record().set_lost(self.lost.len(), self.lost.first());
    }

    /// Sends a request; the body of an answer with status 200.
    async fn ask(&self, request: Result<HttpRequest<Vec<u8>>, request::Error>) -> Result<Body, WatchFailure> {
        let request = request.map_err(|error| WatchFailure::Malformed(error.to_string()))?;
        let answer = timeout(ANSWER_TIMEOUT, self.client.send(request.map(Body::from))).await;
        let answer = answer.map_err(|_| WatchFailure::Silent(ANSWER_TIMEOUT))?;
        let answer = answer.map_err(|error| match error {
            kube::Error::Service(error) => WatchFailure::broken(error.as_ref()),
            error => WatchFailure::broken(&error),
        })?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer.into_body());
        }
        let text: Bytes = collect(answer.into_body(), ANSWER_TIMEOUT).await?;
        Err(WatchFailure::refused(status.as_u16(), &text))
    }

    fn failed(&mut self, failure: &WatchFailure, wait: Duration, failures: u32) {
        if !failure.may_pass() {
            self.version = None;
        }
        self.record().failed(failure.to_string());
        // A long outage must not fill the log.
        if failures.is_power_of_two() {
            warn!(resource = self.resource.name(), error = %failure, ?wait, failures, "the watch failed and is retried: the last cluster stays in force, if there is one");
        }
    }

    fn record(&self) -> &WatchRecord {
        self.shared.record(self.resource)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err wants it")]
fn malformed(error: serde_json::Error) -> WatchFailure {
    WatchFailure::Malformed(error.to_string())
}
