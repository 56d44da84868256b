//! A JSON object of keys and values, read without building a tree: nested values are refused where they begin.

use std::fmt;

use plimsoll_core::{MAX_FACTS, quotable};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

/// A text, a number, `true` or `false`.
struct Scalar(String);

/// All pairs of an object.
struct Pairs(Vec<(String, String)>);

/// Reads an object; the error has line and column.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    serde_json::from_slice(bytes).map(|Pairs(pairs)| pairs).map_err(|error| error.to_string())
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of keys and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let named = |error: A::Error| A::Error::custom(format!("the key '{}': {error}", quotable(&key)));
            let Scalar(value) = map.next_value().map_err(named)?;
            if pairs.len() == MAX_FACTS {
                return Err(A::Error::custom(format!("more than {MAX_FACTS} keys: expected at most that many")));
            }
            pairs.push((key, value));
        }
        Ok(Pairs(pairs))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    /// As `serde_json` writes it, and so as files for `run`, `explain` and cases are read.
    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        let number = serde_json::Number::from_f64(number).ok_or_else(|| E::custom("expected a finite number"))?;
        Ok(Scalar(number.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::FactSource;

    use super::*;

    #[test]
    fn scalars_are_texts_and_all_else_is_refused_at_its_place() {
        let pairs = parse(br#"{"a": "x", "b": 1, "c": -2, "d": 0.5, "e": true}"#).unwrap();
        let texts: Vec<&str> = pairs.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["x", "1", "-2", "0.5", "true"]);
        for (text, expected) in [
            ("[]", "invalid type: sequence, expected an object of keys and values at line 1 column 0"),
            (
                r#"{"a": [[[1]]]}"#,
                "the key 'a': invalid type: sequence, expected a text, a number, true or false at line 1 column 7",
            ),
            (
                "{\"a\":\n null}",
                "the key 'a': invalid type: null, expected a text, a number, true or false at line 2 column 5",
            ),
            (r#"{"a": 1"#, "EOF while parsing an object at line 1 column 7"),
            ("", "EOF while parsing a value at line 1 column 0"),
            ("<html>", "expected value at line 1 column 1"),
            ("{} x", "trailing characters at line 1 column 4"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn a_fetched_value_has_the_text_that_it_has_in_a_file() {
        let text = r#"{"a": 1.0, "b": 1e21, "c": -0.0, "d": 18446744073709551615, "e": 0.1, "f": true, "g": "1.00"}"#;
        let fetched = FactSource::from_texts(parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(fetched, FactSource::from_value(&serde_json::from_str(text).unwrap()).unwrap());
    }

    #[test]
    fn no_more_keys_are_read_than_a_source_may_have() {
        let object = |count: usize| format!("{{{}}}", vec![r#""a":1"#; count].join(","));
        assert_eq!(parse(object(MAX_FACTS).as_bytes()).unwrap().len(), MAX_FACTS);
        assert!(parse(object(MAX_FACTS + 1).as_bytes()).unwrap_err().starts_with("more than 100000 keys"));
    }
}
