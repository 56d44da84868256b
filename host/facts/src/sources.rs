//! All sources with their states; a change of one publishes the facts of all.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::{Facts, MAX_TOTAL_FACT_BYTES, MAX_TOTAL_FACTS};
use tracing::{debug, info, warn};

use crate::{
    config::{FactsConfig, SourceConfig},
    error::FetchError,
    parse::ParsedFacts,
    state::{FetchEffect, SourceState},
};

/// The target of log lines about sources and their file, which two crates write.
pub const LOG_TARGET: &str = "plimsoll::facts";

/// Takes all facts after each change.
pub(crate) type Publish = dyn Fn(&Facts) + Send + Sync;

/// All sources.
pub(crate) struct SourceTable {
    configs: Vec<SourceConfig>,
    /// In the same order.
    states: Mutex<Vec<SourceState>>,
    publish: Arc<Publish>,
    /// Held while facts are published, so that they come into force in the order in which they were made.
    publishing: Mutex<Publishing>,
}

/// Whether these sources may publish facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Publishing {
    Allowed,
    /// Other sources were declared since: a fetch that ends late must not replace their facts.
    Superseded,
}

/// The state of a source, for operators.
#[derive(Debug, Clone)]
pub struct SourceStatus {
    /// Its name.
    pub name: Arc<str>,
    /// The key of its kind in the facts file.
    pub kind: &'static str,
    /// The URL without its query, the file, or namespace and name of the ConfigMap.
    pub place: String,
    /// The longest time between two fetches.
    pub every: Duration,
    /// The age at which its values expire.
    pub max_age: Duration,
    /// The age of its values, in force or not; none if it was never read.
    pub age: Option<Duration>,
    /// The time since it was declared.
    pub declared_for: Duration,
    /// Whether its facts are absent, because it was never read or its values are too old.
    pub is_absent: bool,
    /// The number of its facts in force.
    pub values: usize,
    /// Bytes of their keys and values.
    pub bytes: usize,
    /// Samples of its last good answer that made no fact.
    pub left_out: u64,
    /// Good fetches.
    pub good: u64,
    /// Failed fetches.
    pub failed: u64,
    /// The error of the last fetch, if it failed.
    pub error: Option<String>,
}

// === impl SourceTable ===

impl SourceTable {
    pub(crate) fn new(config: FactsConfig, publish: Arc<Publish>) -> Self {
        let states = config.sources.iter().map(|source| SourceState::new(source.max_age)).collect();
        let (states, publishing) = (Mutex::new(states), Mutex::new(Publishing::Allowed));
        Self { configs: config.sources, states, publish, publishing }
    }

    /// The sources of a newer facts file. A source begins with the values and counts of the one with its name; these
    /// sources publish nothing any more.
    pub(crate) fn successor(&self, config: FactsConfig) -> Self {
        *self.publishing.lock() = Publishing::Superseded;
        let states = self.states.lock();
        let state = |source: &SourceConfig| {
            let before = self.configs.iter().zip(states.iter()).find(|(before, _)| before.name == source.name);
            before.map_or_else(|| SourceState::new(source.max_age), |(_, state)| state.declared_again(source.max_age))
        };
        let (states, publishing) = (config.sources.iter().map(state).collect(), Mutex::new(Publishing::Allowed));
        let (states, publish) = (Mutex::new(states), Arc::clone(&self.publish));
        Self { configs: config.sources, states, publish, publishing }
    }

    pub(crate) fn configs(&self) -> &[SourceConfig] {
        &self.configs
    }

    /// Applies the outcome of a fetch that started at `began`, unless other sources were declared since.
    pub(crate) fn fetched(&self, at: usize, began: Instant, outcome: Result<ParsedFacts, String>) {
        if *self.publishing.lock() == Publishing::Superseded {
            return;
        }
        let SourceConfig { name, kind, .. } = &self.configs[at];
        let (outcome, effect, has_values) = {
            let mut states = self.states.lock();
            let outcome = outcome.and_then(|facts| check_total(&states, at, facts).map_err(|error| error.to_string()));
            let (outcome, effect) = match outcome {
                Ok(parsed) => (Ok(parsed.facts.len()), states[at].succeeded(began, parsed)),
                Err(error) => (Err(error.clone()), states[at].failed(error)),
            };
            (outcome, effect, states[at].values.is_some())
        };
        let FetchEffect { values_changed, health_changed } = effect;
        match outcome {
            Ok(values) if health_changed => {
                info!(target: LOG_TARGET, source = &**name, values, "the source of facts can be read again");
            }
            Ok(values) => {
                debug!(target: LOG_TARGET, source = &**name, values, values_changed, "the source of facts was read");
            }
            Err(error) if health_changed => {
                let (place, kept) = (kind.place(), if has_values { "; its values stay until maxAge" } else { "" });
                warn!(target: LOG_TARGET, source = &**name, place, error, "the source of facts cannot be read{kept}");
            }
            Err(error) => {
                debug!(target: LOG_TARGET, source = &**name, error, "the source of facts still cannot be read");
            }
        }
        if values_changed {
            self.publish();
        }
    }

    /// When the values of a source are too old.
    pub(crate) fn expiry(&self, at: usize) -> Option<Instant> {
        self.states.lock()[at].expiry()
    }

    /// Drops the values of a source if they are too old now.
    pub(crate) fn expire(&self, at: usize, now: Instant) {
        if self.states.lock()[at].expire(now) {
            let SourceConfig { name, max_age, .. } = &self.configs[at];
            warn!(target: LOG_TARGET, source = &**name, ?max_age, "the facts of the source are older than its maxAge: they are absent now");
            self.publish();
        }
    }

    /// The pause from the start of the last fetch of a source to that of the next.
    pub(crate) fn pause(&self, at: usize) -> Duration {
        self.states.lock()[at].pause(self.configs[at].every)
    }

    pub(crate) fn statuses(&self) -> Vec<SourceStatus> {
        let (states, now) = (self.states.lock(), Instant::now());
        let describe = |(source, state): (&SourceConfig, &SourceState)| SourceStatus {
            name: Arc::clone(&source.name),
            kind: source.kind.as_str(),
            place: source.kind.place(),
            every: source.every,
            max_age: source.max_age,
            age: state.read_at.map(|read_at| now.saturating_duration_since(read_at)),
            declared_for: now.saturating_duration_since(state.declared_at),
            is_absent: state.values.is_none(),
            values: state.values.as_ref().map_or(0, |values| values.len()),
            bytes: state.values.as_ref().map_or(0, |values| values.bytes()),
            left_out: state.left_out,
            good: state.good,
            failed: state.failed,
            error: state.error.clone(),
        };
        self.configs.iter().zip(states.iter()).map(describe).collect()
    }

    /// Puts the facts of all sources in force as they are now.
    pub(crate) fn publish(&self) {
        let publishing = self.publishing.lock();
        if *publishing == Publishing::Superseded {
            return;
        }
        let facts: Facts = {
            let states = self.states.lock();
            let values = self.configs.iter().zip(states.iter());
            values.filter_map(|(source, state)| Some((Arc::clone(&source.name), state.values.clone()?))).collect()
        };
        (self.publish)(&facts);
    }
}

/// Returns the parsed facts if the total of all sources stays within its limits.
fn check_total(states: &[SourceState], at: usize, parsed: ParsedFacts) -> Result<ParsedFacts, FetchError> {
    let others =
        states.iter().enumerate().filter(|(other, _)| *other != at).filter_map(|(_, state)| state.values.as_ref());
    let (facts, bytes) = others.fold((parsed.facts.len(), parsed.facts.bytes()), |(facts, bytes), values| {
        (facts + values.len(), bytes + values.bytes())
    });
    if facts > MAX_TOTAL_FACTS || bytes > MAX_TOTAL_FACT_BYTES { Err(FetchError::Total) } else { Ok(parsed) }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, path::Path};

    use plimsoll_core::{FactSource, MAX_FACTS};

    use super::*;

    /// This many sources, and the facts that they have published.
    fn sources(count: usize) -> (SourceTable, Arc<Mutex<Vec<Facts>>>) {
        let mut text = String::new();
        for at in 0..count {
            writeln!(text, "s{at}: {{file: {{path: a.csv}}, maxAge: 1m}}").unwrap();
        }
        let published = Arc::<Mutex<Vec<Facts>>>::default();
        let own = Arc::clone(&published);
        (SourceTable::new(config(&text), Arc::new(move |facts: &Facts| own.lock().push(facts.clone()))), published)
    }

    fn config(text: &str) -> FactsConfig {
        FactsConfig::from_text(Path::new("facts.yaml"), text.as_bytes()).unwrap()
    }

    fn parsed_facts(facts: usize, value: &str) -> ParsedFacts {
        let facts = FactSource::from_texts((0..facts).map(|key| (key.to_string(), value))).unwrap();
        ParsedFacts { facts, left_out: 0 }
    }

    fn value(facts: &Facts, source: &str) -> Option<String> {
        Some(facts.source(source)?.by_key("0")?.text().to_owned())
    }

    #[test]
    fn only_a_change_is_published_and_with_it_all_sources() {
        let ((sources, published), now) = (sources(2), Instant::now());
        sources.fetched(0, now, Ok(parsed_facts(1, "a")));
        sources.fetched(0, now, Ok(parsed_facts(1, "a")));
        sources.fetched(1, now, Ok(parsed_facts(1, "b")));
        sources.fetched(0, now, Err(FetchError::TooLarge.to_string()));
        let all = published.lock();
        assert_eq!(all.len(), 2);
        assert_eq!((value(&all[0], "s0"), value(&all[0], "s1")), (Some("a".to_owned()), None));
        assert_eq!((value(&all[1], "s0"), value(&all[1], "s1")), (Some("a".to_owned()), Some("b".to_owned())));
        let statuses = sources.statuses();
        assert_eq!((statuses[0].good, statuses[0].failed, statuses[0].is_absent), (2, 1, false));
        assert_eq!(statuses[0].error.as_deref(), Some("the answer has more than 4 MiB: expected at most that much"));
    }

    #[test]
    fn a_source_that_is_too_old_is_published_as_absent() {
        let ((sources, published), now) = (sources(1), Instant::now());
        sources.fetched(0, now, Ok(parsed_facts(1, "a")));
        let expiry = sources.expiry(0).unwrap();
        sources.expire(0, now + Duration::from_millis(59_999));
        assert_eq!(published.lock().len(), 1);
        sources.expire(0, expiry);
        assert_eq!((published.lock().len(), sources.expiry(0)), (2, None));
        assert!(published.lock()[1].source("s0").is_none());
        let status = &sources.statuses()[0];
        assert!(status.is_absent && status.values == 0 && status.age.is_some(), "{status:?}");
    }

    #[test]
    fn a_source_that_is_declared_again_keeps_its_values_until_they_are_too_old() {
        let ((sources, published), now) = (sources(2), Instant::now());
        sources.fetched(0, now, Ok(parsed_facts(1, "a")));
        sources.fetched(1, now, Ok(parsed_facts(1, "b")));
        let next = sources.successor(config("s1: {file: {path: b.csv}, maxAge: 5m}\ns2: {file: {path: c.csv}}\n"));
        next.publish();
        let last = || published.lock().last().cloned().unwrap();
        assert_eq!((value(&last(), "s0"), value(&last(), "s1")), (None, Some("b".to_owned())));
        assert_eq!(next.expiry(0), Some(now + Duration::from_mins(5)));
        assert_eq!(next.statuses().iter().map(|status| status.good).collect::<Vec<_>>(), [1, 0]);
        // A fetch of the sources before, which ends late, replaces nothing.
        sources.fetched(1, now, Ok(parsed_facts(1, "late")));
        sources.fetched(0, now, Ok(parsed_facts(1, "late")));
        assert_eq!(published.lock().len(), 3);
        assert_eq!(sources.statuses()[0].good, 1);
        next.fetched(1, now, Ok(parsed_facts(1, "c")));
        assert_eq!((value(&last(), "s1"), value(&last(), "s2")), (Some("b".to_owned()), Some("c".to_owned())));
    }

    #[test]
    fn all_sources_together_are_bounded() {
        let count = MAX_TOTAL_FACTS / MAX_FACTS;
        let ((sources, _), now) = (sources(count + 1), Instant::now());
        for at in 0..count {
            sources.fetched(at, now, Ok(parsed_facts(MAX_FACTS, "1")));
        }
        sources.fetched(count, now, Ok(parsed_facts(1, "1")));
        assert!(
            sources.statuses()[count].error.as_deref().is_some_and(|error| error.contains("more than 500000 facts"))
        );
        // A source that replaces its facts counts once.
        sources.fetched(0, now, Ok(parsed_facts(MAX_FACTS - 1, "2")));
        sources.fetched(count, now, Ok(parsed_facts(1, "1")));
        assert_eq!(sources.statuses()[count].error, None);
    }
}
