//! Facts by source and key, as a document writes them.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Number, Value};

use super::{FactSource, Facts};

// === impl Facts ===

impl Facts {
    /// Reads a map from the name of each source to its facts by key; each is a text, a number, `true` or `false`.
    ///
    /// # Errors
    /// Says which part is something else, or which limit is passed.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let expected = "expected a map from each source to its facts";
        let sources = value.as_object().ok_or_else(|| expected.to_owned())?;
        let read = |(name, value): (&String, &Value)| {
            if is_declaration(value) {
                return Err(format!(
                    "{}: this declares a source, as the file of `serve --facts` does; expected its facts, as in \
                     {{load: {{node-1: 0.85}}}}",
                    crate::model::quotable(name)
                ));
            }
            let source =
                FactSource::from_value(value).map_err(|error| format!("{}: {error}", crate::model::quotable(name)))?;
            Ok((Arc::from(name.as_str()), Arc::new(source)))
        };
        sources.iter().map(read).collect()
    }
}

/// Whether it says where facts come from, and not which they are.
fn is_declaration(value: &Value) -> bool {
    let has_place = |kind: &&str| value.get(kind).is_some_and(Value::is_object);
    ["prometheus", "http", "configMap", "file"].iter().any(has_place)
}

// === impl FactSource ===

impl FactSource {
    /// Its facts as [`FactSource::from_value`] reads them. A text is a number in it where JSON writes that number so.
    pub fn to_value(&self) -> Value {
        let value = |text: &str| match text.parse::<Number>() {
            Ok(number) if number.to_string() == text => Value::Number(number),
            _ => Value::String(text.to_owned()),
        };
        Value::Object(self.iter().map(|(key, fact)| (key.to_owned(), value(fact.text()))).collect())
    }

    /// Reads a map from keys to texts, numbers, `true` or `false`.
    ///
    /// # Errors
    /// Says which part is something else, or which limit is passed.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let facts = value.as_object();
        let facts = facts.ok_or_else(|| format!("found {}: expected a map from keys to values", form_of(value)))?;
        let texts: BTreeMap<String, String> = facts.iter().map(text_of).collect::<Result<_, _>>()?;
        Self::from_texts(texts)
    }
}

/// The key and the text of a fact.
fn text_of((key, value): (&String, &Value)) -> Result<(String, String), String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            let (key, found) = (crate::model::quotable(key), form_of(value));
            return Err(format!("{key}: found {found}: expected a text, a number, true or false"));
        }
    };
    Ok((key.clone(), text))
}

/// The form of a value, for an error: the value itself may be long, or secret.
fn form_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_of_facts_has_the_same_texts() {
        let texts = [("a", "0.5"), ("b", "0.50"), ("c", "10"), ("d", "1e3"), ("e", "true"), ("f", "")];
        let source = FactSource::from_texts(texts).unwrap();
        let document = json!({"a": 0.5, "b": "0.50", "c": 10, "d": "1e3", "e": "true", "f": ""});
        assert_eq!(source.to_value(), document);
        assert_eq!(FactSource::from_value(&document), Ok(source));
    }

    #[test]
    fn a_document_has_facts_by_source_and_key() {
        let facts = Facts::from_value(&json!({"load": {"n1": 0.5, "n2": "0.50"}, "open": {"now": true}})).unwrap();
        let text = |source: &str, key: &str| facts.by_key(source, key).map(|value| value.text().to_owned());
        assert_eq!(text("load", "n1").as_deref(), Some("0.5"));
        assert_eq!(text("load", "n2").as_deref(), Some("0.50"));
        assert_eq!(text("open", "now").as_deref(), Some("true"));
        let error = |value| Facts::from_value(&value).unwrap_err();
        assert_eq!(error(json!([])), "expected a map from each source to its facts");
        assert_eq!(error(json!({"load": 1})), "load: found a number: expected a map from keys to values");
        let declared = "budget: this declares a source, as the file of `serve --facts` does; expected its facts, as in \
                        {load: {node-1: 0.85}}";
        assert_eq!(error(json!({"budget": {"file": {"path": "a.csv"}, "maxAge": "1m"}})), declared);
        for (value, found) in [(json!([1]), "a list"), (json!(null), "null"), (json!({"value": 1}), "a map")] {
            let expected = format!("load: n1: found {found}: expected a text, a number, true or false");
            assert_eq!(error(json!({"load": {"n1": value}})), expected);
        }
    }
}
