//! The state machine of the watch of one resource, and the loop that runs it.
//!
//! ```text
//!   Listing ───────────── listed ─────────────> Watching
//!    │   ^ ^                                      │  │ ^
//!    │   │ └────────── a list is wanted ──────────┘  │ │
//!    │   │                                           │ │
//!  failed└── without position ── BackingOff ── from position
//!    │                              ^   ^            │
//!    └──────────────────────────────┘   └─ failed, ended at once
//! ```

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use kube::Client;
use tracing::{debug, info, warn};

use super::{
    resource::{Resource, WatchedObject},
    shared::Shared,
    wire::{self, EventKind, ListPage, Position, WatchEvent, WatchFailure},
};
use crate::clock;

/// The wait before the first retry, and the longest.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(10);

/// A failure after a watch of at least this length counts as a new one.
const STEADY: Duration = Duration::from_secs(5);

/// The wait before an API server is asked again for a resource that it does not have.
const ABSENT_RETRY: Duration = Duration::from_mins(5);

/// What the watch of a resource does at present.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Reads all objects, page by page.
    Listing,
    /// Receives the changes after a position, which it moves.
    Watching(Position),
    /// Waits; then it watches from a position, or lists if there is none.
    BackingOff(Duration, Option<Position>),
}

/// How a state came to its end.
#[derive(Debug)]
enum Outcome {
    /// A list of this version is complete.
    Listed(String),
    /// Somebody waits for a list that begins from now on.
    ListWanted,
    /// The watch ended without a failure.
    Ended,
    Failed(WatchFailure),
    /// The wait is over.
    Waited,
}

// === impl State ===

impl State {
    /// The state that follows, and the `failures` in a row. A watch `was_steady` if it lasted a while.
    fn next(self, outcome: &Outcome, was_steady: bool, failures: &mut u32) -> Self {
        if was_steady {
            *failures = 0;
        }
        let mut back_off = |position| {
            *failures += 1;
            Self::BackingOff(wait_after(*failures), position)
        };
        match (outcome, self) {
            (Outcome::Listed(version), _) => Self::Watching(Position::Version(version.clone())),
            (Outcome::Waited, Self::BackingOff(_, Some(position))) => Self::Watching(position),
            // The API server ends each watch after some minutes; one that it ends at once must not become a busy loop.
            (Outcome::Ended, Self::Watching(position)) if was_steady => Self::Watching(position),
            (Outcome::Ended, Self::Watching(position)) => back_off(Some(position)),
            (Outcome::Failed(failure), Self::Watching(position)) if !failure.needs_list => back_off(Some(position)),
            (Outcome::Failed(_), _) => back_off(None),
            (Outcome::ListWanted | Outcome::Waited | Outcome::Ended, _) => Self::Listing,
        }
    }
}

/// The wait after so many failures in a row: it doubles up to a bound, and is cut by a random part, so that replicas do
/// not come back all at once.
fn wait_after(failures: u32) -> Duration {
    let whole = FIRST_RETRY.saturating_mul(1 << (failures - 1).min(16)).min(MAX_RETRY);
    whole / 2 + (whole / 2).mul_f64(clock::random_part())
}

/// Follows one resource as long as it is polled. A watch that is silent for longer than `max_silence` is restarted.
pub(super) async fn follow(client: Client, resource: Resource, shared: Arc<Shared>, max_silence: Duration) {
    let reflector = Reflector { client, resource, shared, max_silence };
    let (mut state, mut failures) = (State::Listing, 0);
    loop {
        let began = clock::now();
        let (result, is_watch) = match &mut state {
            State::Listing => (reflector.list().await, false),
            State::Watching(position) => (reflector.watch(position).await, true),
            State::BackingOff(wait, _) => {
                clock::sleep(*wait).await;
                (Ok(Outcome::Waited), false)
            }
        };
        let outcome = result.unwrap_or_else(Outcome::Failed);
        let was_steady = is_watch && clock::now().saturating_duration_since(began) > STEADY;
        state = state.next(&outcome, was_steady, &mut failures);
        if let Outcome::Failed(failure) = outcome {
            // A long outage must not fill the log.
            if failures.is_power_of_two() {
                let (resource, error) = (resource.name(), &failure.why);
                warn!(resource, error, failures, "the watch failed and is retried: the last cluster stays in force");
            }
            reflector.shared.failed(resource, failure.why);
        }
    }
}

struct Reflector {
    client: Client,
    resource: Resource,
    shared: Arc<Shared>,
    max_silence: Duration,
}

// === impl Reflector ===

impl Reflector {
    /// Puts all objects into the store, page by page.
    async fn list(&self) -> Result<Outcome, WatchFailure> {
        let (resource, began) = (self.resource, clock::now());
        let round = self.shared.begin_list(resource);
        let (mut token, mut count) = (None, 0);
        loop {
            let text = match wire::page(&self.client, resource, token).await {
                Err(failure) if failure.is_absent && resource == Resource::DeviceClasses => {
                    self.shared.end_list(resource, began, round);
                    clock::sleep(ABSENT_RETRY).await;
                    return Ok(Outcome::ListWanted);
                }
                page => page?,
            };
            let ListPage { metadata, items } = serde_json::from_str(&text)?;
            let objects: Vec<WatchedObject> =
                items.unwrap_or_default().iter().map(|item| resource.read(item.get())).collect();
            count += objects.len();
            self.shared.page(resource, objects);
            if metadata.next.is_empty() {
                self.shared.end_list(resource, began, round);
                info!(resource = resource.name(), count, took = ?clock::now().saturating_duration_since(began), "listed");
                return Ok(Outcome::Listed(metadata.resource_version));
            }
            token = Some(metadata.next);
        }
    }

    /// Takes events from a position on, until the watch ends or somebody wants a list.
    async fn watch(&self, position: &mut Position) -> Result<Outcome, WatchFailure> {
        let Some(version) = position.version() else { return Ok(Outcome::ListWanted) };
        tokio::select! {
            biased;
            // A new leader waits for the list, and must not wait for a watch that does not start.
            () = self.shared.list_wanted(self.resource) => Ok(Outcome::ListWanted),
            ended = self.receive(&version, position) => ended.map(|()| Outcome::Ended),
        }
    }

    async fn receive(&self, version: &str, position: &mut Position) -> Result<(), WatchFailure> {
        let mut lines = wire::watch(&self.client, self.resource, version).await?;
        self.shared.well(self.resource);
        loop {
            match clock::timeout(self.max_silence, lines.next()).await {
                Ok(Some(line)) => self.take(line?, position)?,
                Ok(None) => return Ok(()),
                Err(_) => {
                    // No bookmark either: the connection may be dead, or nothing has happened.
                    debug!(resource = self.resource.name(), "the watch was silent: it is restarted");
                    return Ok(());
                }
            }
        }
    }

    /// Takes one line of a watch.
    fn take(&self, line: String, position: &mut Position) -> Result<(), WatchFailure> {
        if line.is_empty() {
            return Ok(());
        }
        let WatchEvent { kind, object } = serde_json::from_str(&line)?;
        match kind {
            EventKind::Error => return Err(WatchFailure::ended(object)),
            EventKind::Bookmark => self.shared.well(self.resource),
            EventKind::Added | EventKind::Modified | EventKind::Deleted => {
                self.shared.event(self.resource, self.resource.read(object.get()), kind == EventKind::Deleted);
            }
        }
        *position = Position::Event(line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(version: &str) -> Position {
        Position::Version(version.to_owned())
    }

    fn failed(needs_list: bool) -> Outcome {
        Outcome::Failed(WatchFailure { why: "x".to_owned(), needs_list, is_absent: false })
    }

    /// The next state; waits count as none, since they are random.
    fn next(state: State, outcome: &Outcome, was_steady: bool) -> State {
        match state.next(outcome, was_steady, &mut 0) {
            State::BackingOff(_, position) => State::BackingOff(Duration::ZERO, position),
            state => state,
        }
    }

    fn backing_off(position: Option<Position>) -> State {
        State::BackingOff(Duration::ZERO, position)
    }

    #[test]
    fn each_outcome_leads_to_the_state_that_keeps_the_position_where_it_can() {
        let watching = || State::Watching(at("7"));
        let table = [
            (State::Listing, Outcome::Listed("9".to_owned()), false, State::Watching(at("9"))),
            (State::Listing, failed(false), false, backing_off(None)),
            (State::Listing, failed(true), false, backing_off(None)),
            (watching(), Outcome::ListWanted, false, State::Listing),
            (watching(), Outcome::Ended, true, watching()),
            (watching(), Outcome::Ended, false, backing_off(Some(at("7")))),
            (watching(), failed(false), true, backing_off(Some(at("7")))),
            (watching(), failed(true), true, backing_off(None)),
            (backing_off(Some(at("7"))), Outcome::Waited, false, watching()),
            (backing_off(None), Outcome::Waited, false, State::Listing),
        ];
        for (state, outcome, was_steady, expected) in table {
            let from = format!("{state:?} {outcome:?}");
            assert_eq!(next(state, &outcome, was_steady), expected, "{from}");
        }
    }

    #[test]
    fn waits_grow_to_a_bound_until_a_watch_was_steady() {
        let (mut state, mut failures) = (State::Watching(at("7")), 0);
        for failure in 1..40 {
            state = state.next(&failed(false), false, &mut failures);
            let State::BackingOff(wait, _) = &state else { panic!("{state:?}") };
            let whole = FIRST_RETRY.saturating_mul(1 << (failure - 1).min(16)).min(MAX_RETRY);
            assert!(*wait >= whole / 2 && *wait <= whole && failures == failure, "{failure}: {wait:?}");
            state = state.next(&Outcome::Waited, false, &mut failures);
        }
        state.next(&failed(false), true, &mut failures);
        assert_eq!(failures, 1);
    }
}
