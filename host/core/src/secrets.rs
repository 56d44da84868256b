//! Settings that look like secrets: an operator put them there for the policy, not for whoever reads a log or asks why.
//!
//! A value is a secret where the name of its key, or of one above it, says so; so is a text that has a password in it by
//! its form. What a policy writes into its reasons is its own business: they go to the scheduler's events as they are.

use std::borrow::Cow;

use serde_json::Value;

/// A key holds a secret if its name contains one of these, in any case.
const KEYS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "key",
    "auth",
    "bearer",
    "cookie",
    "private",
    "license",
    "signature",
];

/// What stands for a secret.
const HIDDEN: &str = "<not shown>";

/// A shorter text would be found by chance.
const SHORTEST: usize = 4;

/// So many bytes of a secret's beginning are enough to hide what they begin: a text may have been cut.
const BEGINNING: usize = 12;

/// The secrets in the settings of one policy, to be taken out of texts about it.
#[derive(Debug, Default)]
pub struct Secrets(Vec<String>);

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
        let mut secrets = vec![];
        let mut add = |text: String| {
            if text.len() >= SHORTEST && !secrets.contains(&text) {
                secrets.push(text);
            }
        };
        if let Ok(mut settings) = serde_json::from_str(settings) {
            visit(&mut settings, false, &mut |secret| {
                if let Value::String(text) = secret {
                    // As it is, and as it is written between quotes.
                    add(format!("{text:?}").trim_matches('"').to_owned());
                    add(std::mem::take(text));
                } else {
                    add(secret.to_string());
                }
            });
        }
        // Of two that begin alike the longer one is looked for first.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// The text without the secrets.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
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
        Value::Object(fields) => {
            for (key, field) in fields {
                visit(field, is_secret || names_secret(key), found);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, is_secret, found)),
        Value::Number(_) if is_secret => found(value),
        Value::String(text) if is_secret || has_password(text) => found(value),
        // Null and a bool tell nothing, whatever their key.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn names_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    KEYS.iter().any(|word| key.contains(word))
}

/// A URL with a password (`scheme://user:password@host`), a PEM block, or the value of an `Authorization` header.
fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let userinfo = authority.and_then(|authority| authority.rsplit_once('@'));
    userinfo.is_some_and(|(user, _)| user.contains(':'))
        || text.trim_start().starts_with("-----BEGIN ")
        || text.starts_with("Bearer ")
        || text.starts_with("Basic ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_whose_keys_sound_secret_are_not_shown_and_others_are() {
        let settings = r#"{"pool":"a","licenseKey":"hunter2","DB_PASSWORD":"x","credentials":{"user":"me","parts":[1,"p"]},
            "url":"https://me:pw@example.com/x","plain":"https://example.com/a:b@c","pem":"-----BEGIN KEY-----","on":true,
            "authToken":null,"header":"Bearer abc"}"#;
        let shown: Value = serde_json::from_str(&shown_settings(settings)).unwrap();
        let expected = serde_json::json!({"pool": "a", "licenseKey": HIDDEN, "DB_PASSWORD": HIDDEN,
            "credentials": {"user": HIDDEN, "parts": [HIDDEN, HIDDEN]}, "url": HIDDEN, "plain": "https://example.com/a:b@c",
            "pem": HIDDEN, "on": true, "authToken": null, "header": HIDDEN});
        assert_eq!(shown, expected);
        assert_eq!(shown_settings("null"), "null");
        assert_eq!(shown_settings("{"), HIDDEN);
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
