//! Resolves a raw sidecar: checks values and fills in defaults.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{
    AbsentFacts, LabelSelector, Match, Mode, OnError, Operator, PROGRAM_VERBS, PolicyConfig, Requirement, Verb, Verbs,
    check_source_name, parse_quantity, quotable,
};
use plimsoll_yaml::{FieldError, position};
use serde_saphyr::{Location, Spanned};

use super::{
    FactUse, MAX_BYTES, ModulePath, Sidecar,
    raw::{
        RawAbsent, RawFactSource, RawFacts, RawMatch, RawMode, RawOnError, RawOperator, RawRequirement, RawSelector,
        RawSidecar, RawStdio, RawStdioVerb,
    },
};

/// Maximum timeout of a policy; kube-scheduler waits for a few seconds.
const MAX_TIMEOUT: Duration = Duration::from_mins(1);

/// Minimum memory of a policy: one page of WebAssembly.
const MIN_MEMORY: usize = 64 << 10;

/// Maximum sources of facts of one policy.
const MAX_SOURCES: usize = 16;

/// Converts a word of the file to the equal word of `core`.
macro_rules! words {
    ($($raw:ident => $word:ident { $($variant:ident),+ })+) => {
        $(impl From<$raw> for $word {
            fn from(raw: $raw) -> Self {
                match raw {
                    $($raw::$variant => Self::$variant,)+
                }
            }
        })+
    };
}

words! {
    RawMode => Mode { Enforce, Shadow, Off }
    RawOnError => OnError { Fail, Ignore }
    RawAbsent => AbsentFacts { Default, Ignore, Fail }
    RawOperator => Operator { In, NotIn, Exists, DoesNotExist }
}

// === impl RawSidecar ===

impl RawSidecar {
    /// Checks every value and fills in the defaults.
    pub(super) fn resolve(self, most_memory: usize) -> Result<Sidecar, FieldError> {
        let default = PolicyConfig::default();
        let has_timeout = self.timeout.is_some();
        let config = PolicyConfig {
            mode: self.mode.map_or(default.mode, Into::into),
            order: self.order.unwrap_or(default.order),
            weight: self.weight.unwrap_or(default.weight),
            on_error: self.on_error.map(Into::into),
            absent_facts: self.absent.map_or(default.absent_facts, Into::into),
            timeout: self.timeout.map_or(Ok(default.timeout), |text| resolve_timeout(&text))?,
            memory: self.memory.map_or(Ok(default.memory), |text| resolve_memory(&text, most_memory))?,
            matches: self.matches.map_or(Ok(default.matches), RawMatch::resolve)?,
            counts: self.counts.unwrap_or(default.counts),
        };
        Ok(Sidecar {
            module: self.module.map(|text| resolve_module(&text)).transpose()?,
            digest: self.digest.map(|text| resolve_digest(&text)).transpose()?,
            config,
            settings: resolve_settings(&self.settings.unwrap_or_default())?,
            weighted: self.weight.is_some(),
            has_timeout,
            stdio: self.stdio.map(RawStdio::resolve).transpose()?,
            facts: self.facts.map(RawFacts::resolve).transpose()?.unwrap_or_default(),
        })
    }
}

// === impl RawStdio ===

impl RawStdio {
    fn resolve(self) -> Result<Verbs, FieldError> {
        let Some(verbs) = self.verbs else { return Ok(PROGRAM_VERBS) };
        if verbs.value.is_empty() {
            let text = "an empty list: expected at least one of filter and prioritize; without the key it is filter";
            return Err(error_at("stdio.verbs", verbs.referenced, text));
        }
        Ok(verbs.value.into_iter().map(RawStdioVerb::resolve).collect())
    }
}

// === impl RawStdioVerb ===

impl RawStdioVerb {
    /// A program scores all nodes at once, which is the verb rank.
    fn resolve(self) -> Verb {
        match self {
            Self::Filter => Verb::Filter,
            Self::Prioritize => Verb::Rank,
        }
    }
}

// === impl RawMatch ===

impl RawMatch {
    fn resolve(self) -> Result<Match, FieldError> {
        Ok(Match {
            namespaces: self.namespaces.map(|names| resolve_names(names, "match.namespaces")).transpose()?,
            scheduler_names: self
                .scheduler_names
                .map(|names| resolve_names(names, "match.schedulerNames"))
                .transpose()?,
            pod_selector: self.pod_selector.map(RawSelector::resolve).transpose()?,
            resources: self.resources.map(|names| resolve_names(names, "match.resources")).transpose()?,
        })
    }
}

// === impl RawSelector ===

impl RawSelector {
    fn resolve(self) -> Result<LabelSelector, FieldError> {
        let mut requirements = Vec::new();
        for (key, value) in self.match_labels {
            let key = Spanned::new(key, value.referenced, value.defined);
            check_filled(&key, "match.podSelector.matchLabels")?;
            let (key, values) = (key.value.into(), vec![value.value.into()]);
            requirements.push(Requirement { key, operator: Operator::In, values });
        }
        for (index, requirement) in self.match_expressions.into_iter().enumerate() {
            let field = format!("match.podSelector.matchExpressions[{index}]");
            let at = position(requirement.referenced);
            requirements.push(requirement.value.resolve(at, &field)?);
        }
        Ok(LabelSelector { requirements })
    }
}

// === impl RawRequirement ===

impl RawRequirement {
    fn resolve(self, at: Option<(u64, u64)>, field: &str) -> Result<Requirement, FieldError> {
        check_filled(&self.key, &format!("{field}.key"))?;
        let takes_values = matches!(self.operator, RawOperator::In | RawOperator::NotIn);
        if takes_values == self.values.is_empty() {
            let expected = if takes_values { "at least one" } else { "none" };
            let found = if takes_values { "no values" } else { "values" };
            let text = format!("{:?} with {found}: expected {expected}", self.operator);
            let at = self.values.first().and_then(|value| position(value.referenced)).or(at);
            return Err(FieldError { position: at, field: format!("{field}.values"), text });
        }
        let values = self.values.into_iter().map(|value| value.value.into()).collect();
        Ok(Requirement { key: self.key.value.into(), operator: self.operator.into(), values })
    }
}

// === impl RawFacts ===

impl RawFacts {
    /// Checks names and files.
    fn resolve(self) -> Result<Vec<FactUse>, FieldError> {
        let sources: Vec<(String, Location, RawFactSource)> = match self {
            Self::Names(names) => {
                names.into_iter().map(|name| (name.value, name.referenced, RawFactSource::default())).collect()
            }
            Self::Sources(sources) => {
                let parts = |(name, source): (String, Spanned<Option<RawFactSource>>)| {
                    (name, source.referenced, source.value.unwrap_or_default())
                };
                sources.into_iter().map(parts).collect()
            }
        };
        if sources.len() > MAX_SOURCES {
            let place = sources.get(MAX_SOURCES).map_or(Location::UNKNOWN, |(_, place, _)| *place);
            return Err(error_at("facts", place, format!("{} sources: expected at most {MAX_SOURCES}", sources.len())));
        }
        sources.into_iter().map(|(name, place, source)| resolve_fact(&name, place, source)).collect()
    }
}

/// Serializes the settings; expanded YAML aliases count towards the limit.
fn resolve_settings(settings: &serde_json::Value) -> Result<Arc<str>, FieldError> {
    let json = settings.to_string();
    if json.len() as u64 > MAX_BYTES {
        let text = format!("{} bytes as JSON: expected at most {MAX_BYTES}", json.len());
        return Err(FieldError { position: None, field: "settings".to_owned(), text });
    }
    Ok(Arc::from(json))
}

fn resolve_timeout(text: &Spanned<String>) -> Result<Duration, FieldError> {
    let expected = "expected a duration such as 100ms or 2s, more than 0 and at most 60s";
    let parsed = humantime::parse_duration(&text.value).ok();
    parsed
        .filter(|timeout| !timeout.is_zero() && *timeout <= MAX_TIMEOUT)
        .ok_or_else(|| wrong(text, "timeout", expected))
}

fn resolve_memory(text: &Spanned<String>, most: usize) -> Result<usize, FieldError> {
    let parsed = parse_quantity(&text.value, 1).ok().and_then(|bytes| usize::try_from(bytes).ok());
    parsed.filter(|bytes| (MIN_MEMORY..=most).contains(bytes)).ok_or_else(|| {
        let most = most >> 20;
        wrong(
            text,
            "memory",
            &format!("expected a quantity such as 64Mi, at least 64Ki and at most {most}Mi (--max-policy-memory)"),
        )
    })
}

fn resolve_digest(text: &Spanned<String>) -> Result<Box<str>, FieldError> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_digest = |digits: &str| digits.len() == 64 && digits.bytes().all(is_digit);
    if text.value.strip_prefix("sha256:").is_some_and(is_digest) {
        return Ok(text.value.as_str().into());
    }
    Err(wrong(text, "digest", "expected sha256: and 64 hexadecimal digits in lower case"))
}

fn resolve_module(text: &Spanned<String>) -> Result<ModulePath, FieldError> {
    let (name, in_root) = text.value.strip_prefix("../").map_or((text.value.as_str(), false), |name| (name, true));
    let stem = name.strip_suffix(".wasm").unwrap_or_default();
    if stem.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        let expected = "expected a .wasm file of the same directory, or ../name.wasm for one of the root";
        return Err(wrong(text, "module", expected));
    }
    Ok(ModulePath { name: name.into(), in_root })
}

fn resolve_names(names: Spanned<Vec<Spanned<String>>>, field: &str) -> Result<Vec<Box<str>>, FieldError> {
    if names.value.is_empty() {
        let text = "an empty list matches no pod: expected at least one name; without the key every pod matches";
        return Err(error_at(field, names.referenced, text));
    }
    let check = |(index, name): (usize, Spanned<String>)| {
        check_filled(&name, &format!("{field}[{index}]"))?;
        Ok(name.value.into())
    };
    names.value.into_iter().enumerate().map(check).collect()
}

/// A name that no object can have would silently match nothing.
fn check_filled(name: &Spanned<String>, field: &str) -> Result<(), FieldError> {
    if name.value.is_empty() || name.value.contains(char::is_whitespace) {
        return Err(wrong(name, field, "expected a name without spaces"));
    }
    Ok(())
}

fn wrong(found: &Spanned<String>, field: &str, expected: &str) -> FieldError {
    error_at(field, found.referenced, format!("found '{}': {expected}", quotable(&found.value)))
}

fn error_at(field: &str, place: Location, text: impl Into<String>) -> FieldError {
    FieldError { position: position(place), field: field.to_owned(), text: text.into() }
}

fn resolve_fact(name: &str, place: Location, source: RawFactSource) -> Result<FactUse, FieldError> {
    let wrong_name = |expected: &str| error_at("facts", place, format!("found '{}': {expected}", quotable(name)));
    check_source_name(name).map_err(wrong_name)?;
    if let Some(file) = source.file.as_ref().filter(|file| !is_file_name(&file.value)) {
        let expected = "expected a .csv file of the sidecar's directory, without a path";
        let text = format!("found '{}': {expected}", quotable(&file.value));
        return Err(error_at(&format!("facts.{name}.file"), file.referenced, text));
    }
    Ok(FactUse { name: name.into(), file: source.file.map(|file| file.value.into()) })
}

fn is_file_name(file: &str) -> bool {
    let stem = file.strip_suffix(".csv").unwrap_or_default();
    !stem.is_empty() && !file.starts_with('.') && !file.contains(['/', '\\', '\0'])
}
