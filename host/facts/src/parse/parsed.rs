//! The result of a parse.

use plimsoll_core::FactSource;

use crate::{error::FetchError, round::Round};

/// The facts of one answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedFacts {
    pub(crate) facts: FactSource,
    /// Samples that make no fact: those that are not finite, and those without the label of their key.
    pub(crate) left_out: u64,
}

/// The facts with these keys and values, rounded.
pub(super) fn parsed_facts(
    values: &[(String, String)],
    left_out: u64,
    round: Option<&Round>,
) -> Result<ParsedFacts, FetchError> {
    let rounded = values.iter().map(|(key, value)| {
        let value = round.map_or(value.as_str().into(), |round| round.apply(value));
        (key.as_str(), value)
    });
    let facts = FactSource::from_texts(rounded).map_err(FetchError::Facts)?;
    Ok(ParsedFacts { facts, left_out })
}
