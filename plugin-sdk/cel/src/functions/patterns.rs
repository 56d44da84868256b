//! Regular expressions: Go's, as far as both sides have them. Neither goes back, so none takes exponential time.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use cel::common::{
    types::{CelList, CelString},
    value::Val,
};
use regex_lite::{Regex, RegexBuilder};

/// Patterns that are kept compiled. Most are literals.
const KEPT: usize = 64;

/// Maximum bytes of a compiled pattern.
const MAX_SIZE: usize = 256 * 1024;

static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());

pub(super) fn matches(text: &str, pattern: &str) -> Result<bool, String> {
    Ok(compiled(pattern)?.is_match(text))
}

pub(super) fn find(text: &str, pattern: &str) -> Result<String, String> {
    Ok(compiled(pattern)?.find(text).map_or(String::new(), |found| found.as_str().to_owned()))
}

/// At most so many matches; all for a negative number.
pub(super) fn find_all(text: &str, pattern: &str, limit: i64) -> Result<CelList<'static>, String> {
    let pattern = compiled(pattern)?;
    let found = pattern.find_iter(text).take(usize::try_from(limit).unwrap_or(usize::MAX));
    let texts = found.map(|found| Box::new(CelString::from(found.as_str().to_owned())) as Box<dyn Val>);
    Ok(texts.collect::<Vec<_>>().into())
}

/// Whether a text is a pattern.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    compiled(pattern).map(drop)
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    let mut kept = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = kept.get(pattern) {
        return Ok(regex.clone());
    }
    let regex = RegexBuilder::new(pattern).size_limit(MAX_SIZE).build();
    let regex = regex.map_err(|error| format!("{pattern:?} is no regular expression that is known here: {error}"))?;
    if kept.len() < KEPT {
        kept.insert(pattern.to_owned(), regex.clone());
    }
    Ok(regex)
}
