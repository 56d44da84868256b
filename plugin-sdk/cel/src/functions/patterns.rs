//! Regular expressions: Go's, as far as both sides have them. Neither goes back, so none takes exponential time.
#![expect(clippy::trivially_copy_pass_by_ref, reason = "the macros of `cel` pass references")]

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use cel::{
    DeclarationError, Env, add_member_overload, add_overload,
    common::{
        types::{CelBool, CelInt, CelList, CelString},
        value::Val,
    },
};
use regex_lite::{Regex, RegexBuilder};

use super::{Outcome, failed};

/// Patterns that are kept compiled. Most are literals.
const KEPT: usize = 64;

/// Maximum bytes of a compiled pattern.
const MAX_SIZE: usize = 256 * 1024;

static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    fn matches(text: &CelString, pattern: &CelString) -> Outcome<CelBool> {
        Ok(failed("matches", compiled(pattern))?.is_match(text).into())
    }
    fn find(text: &CelString, pattern: &CelString) -> Outcome<CelString<'static>> {
        let found =
            failed("find", compiled(pattern))?.find(text).map_or(String::new(), |found| found.as_str().to_owned());
        Ok(found.into())
    }
    fn all(text: &str, pattern: &str, limit: usize) -> Outcome<CelList<'static>> {
        let pattern = failed("findAll", compiled(pattern))?;
        // An empty match right behind a match is none, as in Go; regex_lite has the same rule.
        let found = pattern.find_iter(text).take(limit).map(|found| CelString::from(found.as_str().to_owned()));
        Ok(found.map(|text| Box::new(text) as Box<dyn Val>).collect::<Vec<_>>().into())
    }
    fn find_all(text: &CelString, pattern: &CelString) -> Outcome<CelList<'static>> {
        all(text, pattern, usize::MAX)
    }
    fn find_up_to(text: &CelString, pattern: &CelString, limit: &CelInt) -> Outcome<CelList<'static>> {
        all(text, pattern, usize::try_from(**limit).unwrap_or(usize::MAX))
    }
    add_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>)?;
    add_member_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>)?;
    add_member_overload!(env, fn find: (CelString, CelString) -> Result<CelString>)?;
    add_member_overload!(env, fn find_all: (CelString, CelString) -> Result<CelList>)?;
    add_member_overload!(env, fn find_up_to: (CelString, CelString, CelInt) -> Result<CelList>, name = "findAll")
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
