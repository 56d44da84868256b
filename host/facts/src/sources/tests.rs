//! Values come, change, stay and get too old.

use std::{fmt::Write as _, path::Path};

use plimsoll_core::{FactSource, MAX_FACTS};

use super::*;

type Published = Arc<Mutex<Vec<Facts>>>;

/// This many sources, and the facts that they have published.
fn sources(count: usize) -> (SourceTable, Vec<Arc<SourceConfig>>, Published) {
    let mut text = String::new();
    for at in 0..count {
        writeln!(text, "s{at}: {{file: {{path: a.csv, every: 5s}}, maxAge: 1m}}").unwrap();
    }
    let published = Published::default();
    let own = Arc::clone(&published);
    let publish = Box::new(move |facts: &Facts| own.lock().push(facts.clone()));
    let table = SourceTable { sources: Mutex::default(), publish };
    let config = config(&text);
    assert!(table.declare(&config) && !table.declare(&config));
    (table, config.sources, published)
}

fn config(text: &str) -> FactsConfig {
    FactsConfig::from_text(Path::new("facts.yaml"), text.as_bytes()).unwrap()
}

fn facts_of(count: usize, value: &str) -> Parsed {
    let facts = FactSource::from_texts((0..count).map(|key| (key.to_string(), value))).unwrap();
    Parsed { facts, gaps: None }
}

fn value(facts: &Facts, source: &str) -> Option<String> {
    Some(facts.source(source)?.by_key("0")?.text().to_owned())
}

fn status(table: &SourceTable, at: usize) -> SourceStatus {
    table.sources.lock()[at].status(Instant::now())
}

#[test]
fn only_a_change_is_published_and_with_it_all_sources() {
    let ((table, configs, published), now) = (sources(2), Instant::now());
    table.fetched(&configs[0], now, Ok(facts_of(1, "a")));
    table.fetched(&configs[0], now, Ok(facts_of(1, "a")));
    table.fetched(&configs[1], now, Ok(facts_of(1, "b")));
    table.fetched(&configs[0], now, Err("away".to_owned()));
    let all = published.lock();
    assert_eq!(all.len(), 2);
    assert_eq!((value(&all[0], "s0"), value(&all[0], "s1")), (Some("a".to_owned()), None));
    assert_eq!((value(&all[1], "s0"), value(&all[1], "s1")), (Some("a".to_owned()), Some("b".to_owned())));
    let status = status(&table, 0);
    assert_eq!((status.is_absent, status.error.as_deref()), (false, Some("away")));
}

#[test]
fn values_outlive_failures_until_they_are_too_old() {
    let ((table, configs, published), now) = (sources(1), Instant::now());
    table.fetched(&configs[0], now, Ok(facts_of(1, "a")));
    table.fetched(&configs[0], now, Err("away".to_owned()));
    let expiry = table.expiry(&configs[0]).unwrap();
    assert_eq!(expiry, now + Duration::from_mins(1));
    table.expire(&configs[0], now + Duration::from_millis(59_999));
    assert_eq!(published.lock().len(), 1);
    table.expire(&configs[0], expiry);
    assert_eq!((published.lock().len(), table.expiry(&configs[0])), (2, None));
    assert!(published.lock()[1].source("s0").is_none());
    let status = status(&table, 0);
    assert!(status.is_absent && status.values == 0 && status.age.is_some(), "{status:?}");
}

#[test]
fn retries_slow_down_to_the_interval_of_the_source() {
    let ((table, configs, _), now) = (sources(1), Instant::now());
    let failed = |_| table.fetched(&configs[0], now, Err(String::new())).as_secs();
    assert_eq!((0..40).map(failed).collect::<Vec<_>>()[..5], [1, 2, 4, 5, 5]);
    assert_eq!(table.fetched(&configs[0], now, Ok(facts_of(1, "a"))).as_secs(), 5);
}

#[test]
fn a_source_that_is_declared_again_keeps_its_values_until_they_are_too_old() {
    let ((table, configs, published), now) = (sources(2), Instant::now());
    table.fetched(&configs[0], now, Ok(facts_of(1, "a")));
    table.fetched(&configs[1], now, Ok(facts_of(1, "b")));
    let next = config("s1: {file: {path: b.csv}, maxAge: 5m}\ns2: {file: {path: c.csv}}\n");
    assert!(table.declare(&next));
    let last = || published.lock().last().cloned().unwrap();
    assert_eq!((value(&last(), "s0"), value(&last(), "s1")), (None, Some("b".to_owned())));
    assert_eq!(table.expiry(&next.sources[0]), Some(now + Duration::from_mins(5)));
    // A fetch of the sources before, which ends late, replaces nothing.
    table.fetched(&configs[1], now, Ok(facts_of(1, "late")));
    table.fetched(&configs[0], now, Ok(facts_of(1, "late")));
    assert_eq!(published.lock().len(), 3);
    table.fetched(&next.sources[1], now, Ok(facts_of(1, "c")));
    assert_eq!((value(&last(), "s1"), value(&last(), "s2")), (Some("b".to_owned()), Some("c".to_owned())));
}

#[test]
fn all_sources_together_are_bounded() {
    let count = MAX_TOTAL_FACTS / MAX_FACTS;
    let ((table, configs, _), now) = (sources(count + 1), Instant::now());
    for config in &configs[..count] {
        table.fetched(config, now, Ok(facts_of(MAX_FACTS, "1")));
    }
    table.fetched(&configs[count], now, Ok(facts_of(1, "1")));
    assert!(status(&table, count).error.is_some_and(|error| error.contains("more than 500000 facts")));
    // A source that replaces its facts counts once.
    table.fetched(&configs[0], now, Ok(facts_of(MAX_FACTS - 1, "2")));
    table.fetched(&configs[count], now, Ok(facts_of(1, "1")));
    assert_eq!(status(&table, count).error, None);
}
