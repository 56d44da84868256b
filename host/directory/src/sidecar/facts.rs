//! The sources of facts that a sidecar names.

use plimsoll_core::{AbsentFacts, check_source_name, quotable};
use plimsoll_yaml::{FieldError, position};
use serde_saphyr::{Location, Spanned};

use super::raw::{RawAbsent, RawFactSource, RawFacts};

/// Maximum sources of one policy.
const MAX_SOURCES: usize = 16;

/// A source of facts that a policy reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactUse {
    /// The policy's name for it.
    pub(crate) name: Box<str>,
    /// The file in the sidecar's directory that it is; none: it is one of the gateway's, of the same name.
    pub(crate) file: Option<Box<str>>,
}

// === impl RawFacts ===

impl RawFacts {
    /// Checks names and files.
    pub(super) fn resolve(self) -> Result<Vec<FactUse>, FieldError> {
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
            return Err(wrong("facts", place, format!("{} sources: expected at most {MAX_SOURCES}", sources.len())));
        }
        sources.into_iter().map(|(name, place, source)| resolve(&name, place, source)).collect()
    }
}

// === impl RawAbsent ===

impl RawAbsent {
    pub(super) fn resolve(self) -> AbsentFacts {
        match self {
            Self::Default => AbsentFacts::Default,
            Self::Ignore => AbsentFacts::Ignore,
            Self::Fail => AbsentFacts::Fail,
        }
    }
}

fn resolve(name: &str, place: Location, source: RawFactSource) -> Result<FactUse, FieldError> {
    let wrong_name = |expected: &str| wrong("facts", place, format!("found '{}': {expected}", quotable(name)));
    check_source_name(name).map_err(wrong_name)?;
    if let Some(file) = source.file.as_ref().filter(|file| !is_file_name(&file.value)) {
        let expected = "expected a .csv file of the sidecar's directory, without a path";
        let text = format!("found '{}': {expected}", quotable(&file.value));
        return Err(wrong(&format!("facts.{name}.file"), file.referenced, text));
    }
    Ok(FactUse { name: name.into(), file: source.file.map(|file| file.value.into()) })
}

fn is_file_name(file: &str) -> bool {
    let stem = file.strip_suffix(".csv").unwrap_or_default();
    !stem.is_empty() && !file.starts_with('.') && !file.contains(['/', '\\', '\0'])
}

fn wrong(field: &str, place: Location, text: String) -> FieldError {
    FieldError { position: position(place), field: field.to_owned(), text }
}
