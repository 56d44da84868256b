//! Writes a case as a person would: small objects on one line, large ones over several.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::scalar::{quoted, scalar};

/// The most characters of a line that holds a list or a mapping.
const WIDTH: usize = 110;

/// Appends `key: value` and a line break.
pub(crate) fn entry(text: &mut String, key: &str, value: &Value, indent: usize) {
    let pad = " ".repeat(indent);
    let key = scalar(key);
    let short = flow(value);
    match value {
        Value::Object(map) if !map.is_empty() && pad.len() + key.len() + short.len() > WIDTH => {
            push(text, format_args!("{pad}{key}:"));
            fields(text, map, indent + 2);
        }
        Value::Array(items) if !items.is_empty() && pad.len() + key.len() + short.len() > WIDTH => {
            push(text, format_args!("{pad}{key}:"));
            list(text, items, indent);
        }
        _ => push(text, format_args!("{pad}{key}: {short}")),
    }
}

/// Appends the items of a list, each with a dash.
pub(crate) fn list(text: &mut String, items: &[Value], indent: usize) {
    let pad = " ".repeat(indent);
    for item in items {
        let short = flow(item);
        match item {
            Value::Object(map) if !map.is_empty() && pad.len() + short.len() > WIDTH => {
                let mut own = String::new();
                fields(&mut own, map, indent + 2);
                // The first field stands behind the dash.
                push(text, format_args!("{pad}- {}", own.trim_start().trim_end_matches('\n')));
            }
            _ => push(text, format_args!("{pad}- {short}")),
        }
    }
}

fn fields(text: &mut String, map: &Map<String, Value>, indent: usize) {
    for (key, value) in in_order(map) {
        entry(text, key, value, indent);
    }
}

/// The fields, those first by which a reader knows the object.
fn in_order(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = map.iter().collect();
    fields.sort_by_key(|(key, _)| match key.as_str() {
        "name" | "node" => 0,
        "namespace" | "victims" => 1,
        _ => 2,
    });
    fields
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => scalar(text).into_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let pair = |(key, value): (&String, &Value)| format!("{}: {}", key_text(key), flow(value));
            format!("{{{}}}", in_order(map).into_iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A key in a flow mapping: a colon at its end would be taken for the mark.
fn key_text(key: &str) -> String {
    if key.contains(':') { quoted(key) } else { scalar(key).into_owned() }
}

pub(crate) fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let long = "x".repeat(60);
        let values = [
            json!({}),
            json!([]),
            json!({"a": [1, -2.5, true, null, "1", "true", ""]}),
            json!({"metadata": {"name": "n", "labels": {"a.b/c": "d: e", "f:g": "-"}}, "spec": {"x": [{}, {"y": [[1], []]}]}}),
            json!([{"a": long, "b": {"c": long, "d": [long, {"e": long, "f": {"g": long, "h": long}}]}}, long, {"z": 1}]),
        ];
        for value in values {
            let mut text = String::new();
            entry(&mut text, "key", &value, 0);
            let read: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
            assert_eq!(read, json!({"key": value}), "{text}");
            if let Value::Array(items) = &value {
                let mut text = String::from("list:\n");
                list(&mut text, items, 0);
                if !items.is_empty() {
                    let read: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
                    assert_eq!(read, json!({"list": value}), "{text}");
                }
            }
        }
    }
}
