//! Finds the secrets in settings, by the names of their keys and by their form.

use serde_json::{Map, Value};

use super::shape::{is_secret_name, may_name_label_key, secrets_in};

/// Fields whose value is the name of another field's value, as in `{"name": "password", "value": "x"}`.
const NAME_FIELDS: [&str; 12] =
    ["name", "key", "id", "field", "header", "variable", "env", "option", "flag", "parameter", "param", "property"];

/// The other field of such a pair.
const VALUE_FIELDS: [&str; 7] = ["value", "values", "val", "content", "data", "default", "text"];

/// Fields beside a `key` that is no secret itself: that of a label, a taint, or a pair.
const KEY_COMPANIONS: [&str; 4] = ["value", "values", "operator", "effect"];

/// An object with a name and no more fields than this is a pair, whatever its other fields are called.
const PAIR_FIELDS: usize = 3;

/// Kubernetes allows a label's name no more bytes.
const MAX_LABEL_NAME_BYTES: usize = 63;

/// Kubernetes allows the domain before the name no more bytes.
const MAX_LABEL_DOMAIN_BYTES: usize = 253;

/// Visits each secret that is no list and no object, also those among the keys; and tells whether a name says so.
pub(super) fn visit(value: &mut Value, is_secret: bool, found: &mut impl FnMut(&mut Value, bool)) {
    match value {
        Value::Object(fields) => {
            visit_fields(fields, is_secret, found);
            visit_keys(fields, found);
        }
        Value::Array(items) => visit_items(items, is_secret, found),
        Value::Number(_) if is_secret => found(value, true),
        Value::String(text) if is_secret || !secrets_in(text).is_empty() => found(value, is_secret),
        // Null and a bool tell nothing, whatever their key.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Keys that are secrets by their form, as in `{"tokens": {"ghp_...": "team"}}`.
fn visit_keys(fields: &mut Map<String, Value>, found: &mut impl FnMut(&mut Value, bool)) {
    let secret_keys: Vec<String> = fields.keys().filter(|key| !secrets_in(key).is_empty()).cloned().collect();
    // Two hidden keys remain two fields; numbers that are taken are not tried again.
    let mut number = 1;
    for key in secret_keys {
        let Some(field) = fields.remove(&key) else { continue };
        let mut shown = Value::String(key);
        found(&mut shown, false);
        let name = shown.as_str().unwrap_or_default();
        let mut unique = name.to_owned();
        while fields.contains_key(&unique) {
            number += 1;
            unique = format!("{name} {number}");
        }
        fields.insert(unique, field);
    }
}

fn visit_fields(fields: &mut Map<String, Value>, is_secret: bool, found: &mut impl FnMut(&mut Value, bool)) {
    let is_one_of = |key: &str, names: &[&str]| names.iter().any(|name| key.eq_ignore_ascii_case(name));
    let has_one_of = |names: &[&str]| fields.keys().any(|key| is_one_of(key, names));
    let is_pair = fields.len() <= PAIR_FIELDS || has_one_of(&VALUE_FIELDS);
    let key_is_name = has_one_of(&KEY_COMPANIONS);
    let names_secret =
        |(key, value): (&String, &Value)| is_one_of(key, &NAME_FIELDS) && value.as_str().is_some_and(is_secret_name);
    let is_secret_pair = is_pair && fields.iter().any(names_secret);
    let by_other_field = |key: &str| is_pair && fields.iter().any(|field| field.0 != key && names_secret(field));
    let label_keys: Vec<String> = fields
        .iter()
        .filter(|(key, field)| {
            let is_of_label = key.eq_ignore_ascii_case("key") && is_label_key(field)
                || may_name_label_key(key) && (is_label_key(field) || is_bare_label_key(field));
            is_of_label && !by_other_field(key)
        })
        .map(|(key, _)| key.clone())
        .collect();
    for (key, field) in fields {
        let says_secret = is_secret_name(key) && !label_keys.contains(key);
        let is_name = is_one_of(key, &NAME_FIELDS) && (key_is_name || !says_secret);
        let by_name = !is_name && (is_secret_pair || says_secret);
        visit(field, is_secret || by_name, found);
    }
}

/// Whether it is the key of a label or an annotation with its domain, as in `example.com/licence`. A digit in the name
/// could be part of a token, as in `example.com/9f86d081`: such a text is none.
fn is_label_key(value: &Value) -> bool {
    let Some((domain, name)) = value.as_str().and_then(|text| text.split_once('/')) else { return false };
    let is_part = |part: &str| {
        let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        part.bytes().all(is_fit) && !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
    };
    let ends_in_letters = |domain: &str| {
        domain
            .rsplit_once('.')
            .is_some_and(|(_, last)| last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_lowercase()))
    };
    let is_name = |name: &str| {
        let is_fit = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.');
        let has_ends = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.ends_with(|last: char| last.is_ascii_alphabetic());
        name.len() <= MAX_LABEL_NAME_BYTES && has_ends && name.bytes().all(is_fit)
    };
    domain.len() <= MAX_LABEL_DOMAIN_BYTES && domain.split('.').all(is_part) && ends_in_letters(domain) && is_name(name)
}

/// Whether it may be the key of a label without a domain: words of lower-case letters. With a digit or a capital it could
/// be a token.
fn is_bare_label_key(value: &Value) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    value.as_str().is_some_and(|text| text.len() <= MAX_LABEL_NAME_BYTES && text.split(['-', '_', '.']).all(is_word))
}

fn visit_items(items: &mut [Value], is_secret: bool, found: &mut impl FnMut(&mut Value, bool)) {
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
