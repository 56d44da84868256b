//! From the bytes of an answer to facts.

mod json;
mod parsed;
mod prometheus;

use std::{collections::BTreeMap, path::Path};

use plimsoll_core::FactSource;

use self::parsed::parsed_facts;
pub(crate) use self::{parsed::ParsedFacts, prometheus::error_of};
use crate::{
    config::{SourceConfig, SourceKind},
    error::FetchError,
};

/// The content of an answer, as its source wrote it.
#[derive(Debug)]
pub(crate) enum Content {
    Json(Vec<u8>),
    Csv(Vec<u8>),
    Entries(BTreeMap<String, String>),
}

// === impl Content ===

impl Content {
    /// The content of a file, or of a URL, with this path.
    pub(crate) fn of_path(path: &Path, bytes: Vec<u8>) -> Self {
        if path.extension().is_some_and(|ending| ending == "csv") { Self::Csv(bytes) } else { Self::Json(bytes) }
    }
}

/// Reads an answer.
pub(crate) fn parse(config: &SourceConfig, content: Content) -> Result<ParsedFacts, FetchError> {
    let round = config.round.as_ref();
    match (&config.kind, content) {
        (SourceKind::Prometheus(_, key), Content::Json(bytes) | Content::Csv(bytes)) => {
            prometheus::parse(&bytes, key, round)
        }
        (_, Content::Json(bytes)) => {
            let values = json::parse(&bytes).map_err(FetchError::Json)?;
            parsed_facts(&values, 0, round)
        }
        (_, Content::Csv(bytes)) => {
            let text = str::from_utf8(&bytes).map_err(FetchError::NotUtf8)?;
            let facts = FactSource::from_csv(text).map_err(FetchError::Csv)?;
            if round.is_none() {
                return Ok(ParsedFacts { facts, left_out: 0 });
            }
            let values = facts.iter().map(|(key, value)| (key.to_owned(), value.text().to_owned()));
            parsed_facts(&values.collect::<Vec<_>>(), 0, round)
        }
        // A line end behind a value comes from the way in which YAML was written.
        (_, Content::Entries(entries)) => {
            let values = entries.into_iter().map(|(key, value)| (key, value.trim().to_owned()));
            parsed_facts(&values.collect::<Vec<_>>(), 0, round)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::round::Round;

    fn config(round: Option<f64>) -> SourceConfig {
        SourceConfig {
            name: "a".into(),
            kind: SourceKind::File("a.csv".into()),
            every: Duration::ZERO,
            timeout: Duration::ZERO,
            max_age: Duration::ZERO,
            round: round.and_then(Round::to),
        }
    }

    fn values(round: Option<f64>, content: Content) -> Result<Vec<(String, String)>, String> {
        let parsed = parse(&config(round), content).map_err(|error| error.to_string())?;
        let mut values: Vec<_> =
            parsed.facts.iter().map(|(key, value)| (key.to_owned(), value.text().to_owned())).collect();
        values.sort();
        Ok(values)
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_form_has_keys_and_values_and_numbers_are_rounded() {
        let json = || Content::Json(br#"{"a": 0.12, "b": "x"}"#.to_vec());
        assert_eq!(values(None, json()), Ok(pairs(&[("a", "0.12"), ("b", "x")])));
        assert_eq!(values(Some(0.05), json()), Ok(pairs(&[("a", "0.1"), ("b", "x")])));
        let csv = || Content::Csv(b"a,0.12\nb,x\n".to_vec());
        assert_eq!(values(None, csv()), Ok(pairs(&[("a", "0.12"), ("b", "x")])));
        assert_eq!(values(Some(0.05), csv()), Ok(pairs(&[("a", "0.1"), ("b", "x")])));
        let entries = BTreeMap::from([("a".to_owned(), "0.12\n".to_owned()), ("b".to_owned(), "x".to_owned())]);
        assert_eq!(values(Some(0.05), Content::Entries(entries)), Ok(pairs(&[("a", "0.1"), ("b", "x")])));
    }

    #[test]
    fn a_file_that_is_not_utf_8_is_refused_as_such() {
        let error = values(None, Content::Csv(b"a,\xff\n".to_vec())).unwrap_err();
        assert_eq!(error, "the text is not UTF-8: invalid utf-8 sequence of 1 bytes from index 2");
    }

    #[test]
    fn the_line_of_a_bad_file_is_named() {
        let error = values(None, Content::Csv(b"a,1\nb\n".to_vec())).unwrap_err();
        assert_eq!(error, "line 2: found 'b': expected a key, a comma and a value");
    }
}
