//! The sources of facts that a sidecar names.

use plimsoll_core::{AbsentFacts, check_source_name, quotable};
use plimsoll_yaml::FieldError;

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
        let sources: Vec<(String, Option<RawFactSource>)> = match self {
            Self::Names(names) => names.into_iter().map(|name| (name, None)).collect(),
            Self::Sources(sources) => sources.into_iter().collect(),
        };
        if sources.len() > MAX_SOURCES {
            return Err(wrong("facts", format!("{} sources: expected at most {MAX_SOURCES}", sources.len())));
        }
        sources.into_iter().map(|(name, source)| resolve(&name, source.unwrap_or_default())).collect()
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

fn resolve(name: &str, source: RawFactSource) -> Result<FactUse, FieldError> {
    let wrong_name = |expected: &str| wrong("facts", format!("found '{}': {expected}", quotable(name)));
    check_source_name(name).map_err(wrong_name)?;
    if let Some(file) = source.file.as_deref().filter(|file| !is_file_name(file)) {
        let expected = "expected a .csv file of the sidecar's own directory, without a path";
        return Err(wrong(&format!("facts.{name}.file"), format!("found '{}': {expected}", quotable(file))));
    }
    Ok(FactUse { name: name.into(), file: source.file.map(Into::into) })
}

fn is_file_name(file: &str) -> bool {
    let stem = file.strip_suffix(".csv").unwrap_or_default();
    !stem.is_empty() && !file.starts_with('.') && !file.contains(['/', '\\', '\0'])
}

fn wrong(field: &str, text: String) -> FieldError {
    FieldError { position: None, field: field.to_owned(), text }
}
