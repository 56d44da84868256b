//! Settings that look like secrets: an operator put them there for the policy, not for whoever reads a log or asks why.
//!
//! A value is a secret where the name of its key, of one above it, or of the pair that it belongs to says so; so is a
//! text that has a secret in it by its form.

mod redacting;
mod shape;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub use self::redacting::{redacting, unredacted};
use self::shape::{is_secret_name, secrets_in};

/// What stands for a secret.
const HIDDEN: &str = "<not shown>";

/// A shorter text would be found by chance.
const SHORTEST: usize = 4;

/// The same in reasons, which are read by many people.
const SHORTEST_IN_REASONS: usize = 8;

/// So many bytes of a secret's beginning are enough to hide what they begin: a text may have been cut.
const BEGINNING: usize = 12;

/// Secrets that are looked for in a text; with more of them, no text is shown at all.
const MAX_SECRETS: usize = 256;

/// Fields whose value is the name of another field's value, as in `{"name": "password", "value": "x"}`.
const NAME_FIELDS: [&str; 12] =
    ["name", "key", "id", "field", "header", "variable", "env", "option", "flag", "parameter", "param", "property"];

/// The other field of such a pair.
const VALUE_FIELDS: [&str; 7] = ["value", "values", "val", "content", "data", "default", "text"];

/// What stands beside a key that is no secret itself: that of a label, a taint, or a pair.
const KEY_COMPANIONS: [&str; 4] = ["value", "values", "operator", "effect"];

/// An object with a name and no more fields than this is a pair, whatever its other fields are called.
const PAIR_FIELDS: usize = 3;

/// The secrets in the settings of one policy, to be taken out of texts about it.
#[derive(Debug, Default)]
pub struct Secrets {
    texts: Vec<String>,
    are_too_many: bool,
}

/// The settings (JSON) as they may be shown.
pub fn shown_settings(settings: &str) -> String {
    let Ok(mut settings) = serde_json::from_str(settings) else { return HIDDEN.to_owned() };
    visit(&mut settings, false, &mut |secret| *secret = HIDDEN.into());
    settings.to_string()
}

// === impl Secrets ===

impl Secrets {
    /// The secrets in settings (JSON).
    pub fn of(settings: &str) -> Self {
        let mut texts = vec![];
        if let Ok(mut settings) = serde_json::from_str(settings) {
            visit(&mut settings, false, &mut |secret| {
                if let Value::String(text) = secret {
                    texts.extend(
                        secrets_in(text)
                            .into_iter()
                            .filter(|part| part.len() >= SHORTEST_IN_REASONS)
                            .map(str::to_owned),
                    );
                    // As it is, and as it is written between quotes.
                    texts.push(format!("{text:?}").trim_matches('"').to_owned());
                    texts.push(std::mem::take(text));
                } else {
                    texts.push(secret.to_string());
                }
            });
        }
        texts.retain(|text| text.len() >= SHORTEST);
        // Of two that begin alike the longer one is looked for first.
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self { are_too_many: texts.len() > MAX_SECRETS, texts }
    }

    /// Those that are long enough to be looked for in reasons.
    fn of_reasons(settings: &str) -> Self {
        let mut secrets = Self::of(settings);
        secrets.texts.retain(|text| text.len() >= SHORTEST_IN_REASONS);
        secrets
    }

    fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The text without the secrets.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.are_too_many && !text.is_empty() {
            return Cow::Owned(HIDDEN.to_owned());
        }
        let mut text = Cow::Borrowed(text);
        for secret in &self.texts {
            let beginning = &secret[..secret.floor_char_boundary(BEGINNING)];
            if !text.contains(beginning) {
                continue;
            }
            let (mut shown, mut rest) = (String::with_capacity(text.len()), text.as_ref());
            while let Some(at) = rest.find(beginning) {
                shown.push_str(&rest[..at]);
                shown.push_str(HIDDEN);
                rest = &rest[at..];
                let same = rest.chars().zip(secret.chars()).take_while(|(one, other)| one == other);
                rest = &rest[same.map(|(one, _)| one.len_utf8()).sum()..];
            }
            shown.push_str(rest);
            text = Cow::Owned(shown);
        }
        text
    }
}

/// Visits each secret that is no list and no object.
fn visit(value: &mut Value, is_secret: bool, found: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Object(fields) => visit_fields(fields, is_secret, found),
        Value::Array(items) => visit_items(items, is_secret, found),
        Value::Number(_) if is_secret => found(value),
        Value::String(text) if is_secret || !secrets_in(text).is_empty() => found(value),
        // Null and a bool tell nothing, whatever their key.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn visit_fields(fields: &mut Map<String, Value>, is_secret: bool, found: &mut impl FnMut(&mut Value)) {
    let is_one_of = |key: &str, names: &[&str]| names.iter().any(|name| key.eq_ignore_ascii_case(name));
    let has_one_of = |names: &[&str]| fields.keys().any(|key| is_one_of(key, names));
    let is_pair = fields.len() <= PAIR_FIELDS || has_one_of(&VALUE_FIELDS);
    let key_is_name = has_one_of(&KEY_COMPANIONS);
    let names_secret =
        |(key, value): (&String, &Value)| is_one_of(key, &NAME_FIELDS) && value.as_str().is_some_and(is_secret_name);
    let is_secret_pair = is_pair && fields.iter().any(names_secret);
    for (key, field) in fields {
        let is_name = is_one_of(key, &NAME_FIELDS) && (key_is_name || !is_secret_name(key));
        let by_name = !is_name && (is_secret_pair || is_secret_name(key));
        visit(field, is_secret || by_name, found);
    }
}

fn visit_items(items: &mut [Value], is_secret: bool, found: &mut impl FnMut(&mut Value)) {
    let is_pair = items.len() == 2;
    let mut is_next_secret = false;
    for item in items {
        // `["password", "x"]`, or `["--password", "x"]` in a longer list.
        let may_name = |name: &str| (is_pair || name.starts_with('-')) && !name.contains('=');
        let name = item.as_str().filter(|name| may_name(name) && is_secret_name(name));
        let names_next = name.is_some() && !is_next_secret;
        visit(item, is_secret || is_next_secret, found);
        is_next_secret = names_next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_whose_keys_sound_secret_are_not_shown_and_others_are() {
        let settings = r#"{"pool":"a","licenseKey":"hunter2","DB_PASSWORD":"x","credentials":{"user":"me","parts":[1,"p"]},
            "url":"https://me:pw@example.com/x","plain":"https://example.com/a?b=c","pem":"-----BEGIN KEY-----","on":true,
            "authToken":null,"header":"Bearer abc"}"#;
        let shown: Value = serde_json::from_str(&shown_settings(settings)).unwrap();
        let expected = serde_json::json!({"pool": "a", "licenseKey": HIDDEN, "DB_PASSWORD": HIDDEN,
            "credentials": {"user": HIDDEN, "parts": [HIDDEN, HIDDEN]}, "url": HIDDEN, "plain": "https://example.com/a?b=c",
            "pem": HIDDEN, "on": true, "authToken": null, "header": HIDDEN});
        assert_eq!(shown, expected);
        assert_eq!(shown_settings("null"), "null");
        assert_eq!(shown_settings("{"), HIDDEN);
    }

    #[test]
    fn the_value_of_a_pair_is_a_secret_if_its_name_says_so() {
        let settings = r#"{"headers":[{"name":"X-Api-Key","value":"abc"},{"name":"Accept","value":"json"}],
            "env":[{"key":"DB_PASS","text":1},{"key":"zone","operator":"In","values":["a"]}],
            "pair":["password","abc"],"words":["password","zone","a"],"arguments":["--token","abc","--token=def","-v"],
            "taint":{"key":"gpu-license","effect":"NoSchedule"},"topologyKey":"topology.kubernetes.io/zone",
            "deep":[[{"any":{"url":"https://example.com/?token=abc"}}]]}"#;
        let shown: Value = serde_json::from_str(&shown_settings(settings)).unwrap();
        let expected = serde_json::json!({"headers": [{"name": "X-Api-Key", "value": HIDDEN}, {"name": "Accept", "value": "json"}],
            "env": [{"key": HIDDEN, "text": HIDDEN}, {"key": "zone", "operator": "In", "values": ["a"]}],
            "pair": ["password", HIDDEN], "words": ["password", "zone", "a"], "arguments": ["--token", HIDDEN, HIDDEN, "-v"],
            "taint": {"key": "gpu-license", "effect": HIDDEN}, "topologyKey": "topology.kubernetes.io/zone",
            "deep": [[{"any": {"url": HIDDEN}}]]});
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_part_of_a_text_that_is_secret_is_found_by_itself() {
        let secrets = Secrets::of(r#"{"url":"https://example.com/a?token=correct-horse","words":"a b"}"#);
        assert_eq!(secrets.hide("sent correct-horse to example.com"), "sent <not shown> to example.com");
        assert_eq!(secrets.hide("https://example.com/a?token=correct-horse"), "<not shown>");
    }

    #[test]
    fn with_very_many_secrets_no_text_is_shown() {
        let tokens =
            |count: usize| serde_json::json!({"tokens": (0..count).map(|at| format!("t{at:08}")).collect::<Vec<_>>()});
        assert_eq!(Secrets::of(&tokens(MAX_SECRETS).to_string()).hide("a text"), "a text");
        assert_eq!(Secrets::of(&tokens(MAX_SECRETS + 1).to_string()).hide("a text"), HIDDEN);
    }

    #[test]
    fn texts_about_settings_lose_their_secrets_even_where_they_were_cut_or_quoted() {
        let secrets = Secrets::of(
            r#"{"token":"correct horse battery staple","key":"say \"please\"\n","pin_secret":271828,"short_key":"ab","size":"large"}"#,
        );
        let table = [
            ("nothing", "nothing"),
            ("a correct horse battery staple, large", "a <not shown>, large"),
            ("found \"correct horse batt\"...", "found \"<not shown>\"..."),
            ("correct horse", "<not shown>"),
            ("correct hors", "<not shown>"),
            ("correct", "correct"),
            ("key: invalid value: string \"say \\\"please\\\"\\n\"", "key: invalid value: string \"<not shown>\""),
            ("say \"please\"\n!", "<not shown>!"),
            ("271828 is no text", "<not shown> is no text"),
            ("ab", "ab"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(secrets.hide(text), expected);
        }
        assert!(matches!(Secrets::of("null").hide("same"), Cow::Borrowed("same")));
    }
}
