//! YAML of the shapes that the configuration has, its keys in the order in which people write them.

use std::fmt::Write;

use serde_json::Value;

/// The order of keys on all levels; other keys come last.
const ORDER: &str = "name apiVersion kind clientConnection kubeconfig profiles schedulerName extenders urlPrefix \
    filterVerb preemptVerb prioritizeVerb bindVerb weight enableHTTPS tlsConfig caFile certFile keyFile serverName \
    nodeCacheCapable ignorable httpTimeout managedResources";

/// The text of a configuration.
pub(super) fn of(config: &Value) -> String {
    let mut text = String::new();
    fields(&mut text, config, "", "");
    text
}

/// The text with a comment above the first line that has this key.
pub(super) fn with_comment(text: &str, key: &str, comment: &str) -> String {
    let mut commented = String::new();
    let mut comment = Some(comment);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')) {
            let indent = &line[..line.len() - trimmed.len()];
            let lines = comment.take().into_iter().flat_map(str::lines);
            commented.extend(lines.map(|line| format!("{indent}# {line}\n")));
        }
        commented += line;
        commented.push('\n');
    }
    commented
}

/// Writes the fields of an object: the first behind `first`, the others behind `indent`.
fn fields(text: &mut String, object: &Value, first: &str, indent: &str) {
    let place = |key: &str| ORDER.split(' ').position(|listed| listed == key).unwrap_or(usize::MAX);
    let mut fields: Vec<_> = object.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(key, _)| place(key));
    for (at, (key, value)) in fields.into_iter().enumerate() {
        let before = if at == 0 { first } else { indent };
        // Writing to a string cannot fail.
        let _ = write!(text, "{before}{key}:");
        match value {
            Value::Array(items) => {
                text.push('\n');
                let (first, indent) = (format!("{indent}- "), format!("{indent}  "));
                for item in items {
                    self::fields(text, item, &first, &indent);
                }
            }
            Value::Object(_) => {
                text.push('\n');
                let indent = format!("{indent}  ");
                self::fields(text, value, &indent, &indent);
            }
            _ => {
                let _ = writeln!(text, " {}", scalar(value));
            }
        }
    }
}

/// JSON is YAML: a text stays quoted unless it is certainly safe.
fn scalar(value: &Value) -> String {
    let is_safe = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/:._-".contains(c));
    // A text of another type's look would be read as that type.
    let is_text = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') && !text.ends_with(':');
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = |text: &str| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    let plain = value.as_str().filter(|text| is_safe(text) && !is_word(text));
    // Times such as `5s` begin with a digit and are text all the same.
    let is_time = |text: &str| text.parse::<f64>().is_err() && text.ends_with(['s', 'm', 'h']) && !text.contains(':');
    plain.filter(|text| is_text(text) || is_time(text)).map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_indented_and_keys_are_in_order() {
        let config = json!({
            "extenders": [{"weight": 1, "urlPrefix": "https://a:1", "tlsConfig": {"keyFile": "/k", "caFile": "/c"},
                "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": true}]}, {"urlPrefix": "http://b"}],
            "kind": "K",
        });
        let text = "\
kind: K
extenders:
- urlPrefix: https://a:1
  weight: 1
  tlsConfig:
    caFile: /c
    keyFile: /k
  managedResources:
  - name: example.com/gpu
    ignoredByScheduler: true
- urlPrefix: http://b
";
        assert_eq!(of(&config), text);
    }

    #[test]
    fn a_comment_stands_above_the_first_line_with_its_key() {
        let text = "a: 1\nb:\n- c: 2\n  keys: 3\n  key: 4\n- key: 5\n  key: 6\n";
        let expected = "a: 1\nb:\n- c: 2\n  keys: 3\n  # why\n  # so\n  key: 4\n- key: 5\n  key: 6\n";
        assert_eq!(with_comment(text, "key", "why\nso"), expected);
    }

    #[test]
    fn a_text_that_looks_like_another_type_is_quoted() {
        let table = [
            ("default-scheduler", "default-scheduler"),
            ("5s", "5s"),
            ("/a b", "\"/a b\""),
            ("no", "\"no\""),
            ("1", "\"1\""),
            ("0x1f", "\"0x1f\""),
            ("1e3", "\"1e3\""),
            ("2026-11-21", "\"2026-11-21\""),
            ("a:", "\"a:\""),
            ("-", "\"-\""),
            ("", "\"\""),
        ];
        for (text, written) in table {
            assert_eq!(scalar(&text.into()), written);
        }
    }
}
