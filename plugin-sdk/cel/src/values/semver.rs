//! Versions, as `github.com/blang/semver/v4` and `k8s.io/apiserver/pkg/cel/library/semverlib.go` have them.

use std::cmp::Ordering;

use super::value;

/// A version; its build metadata is no part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Semver {
    pub(crate) numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    // Numbers come before texts.
    Number(u64),
    Text(String),
}

value!(Semver, SEMVER, "semver");

// === impl Semver ===

impl Semver {
    /// Reads a version. Normalised, `v` is cut off, missing numbers are 0, and leading zeros do not count.
    pub(crate) fn parse(text: &str, normalise: bool) -> Result<Self, String> {
        let version = if normalise { normal(text) } else { Some(text.to_owned()) };
        version.as_deref().and_then(Self::read).ok_or_else(|| {
            let hint = if normalise { "" } else { "; `semver(x, true)` takes `v1.2` and leading zeros too" };
            format!("{text:?} is no semantic version{hint}")
        })
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, prerelease) = match rest.split_once('-') {
            Some((patch, prerelease)) => (patch, Some(prerelease)),
            None => (rest, None),
        };
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !build.is_none_or(|build| build.split('.').all(is_word)) {
            return None;
        }
        let identifier = |word: &str| match is_word(word) {
            true if word.bytes().all(|b| b.is_ascii_digit()) => number(word).map(Identifier::Number),
            true => Some(Identifier::Text(word.to_owned())),
            false => None,
        };
        let prerelease = prerelease.map_or(Some(Vec::new()), |all| all.split('.').map(identifier).collect())?;
        Some(Self { numbers: [number(major)?, number(minor)?, number(patch)?], prerelease })
    }

    /// By precedence.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let by_prerelease = || match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.prerelease.cmp(&other.prerelease),
        };
        self.numbers.cmp(&other.numbers).then_with(by_prerelease)
    }
}

/// A number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_number.then(|| text.parse().ok())?
}

fn normal(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return None;
    }
    parts.resize(3, "0".to_owned());
    Some(parts.join("."))
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|c: char| c.is_ascii_digit()) { rest.to_owned() } else { format!("0{rest}") }
}
