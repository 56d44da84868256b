//! RFC 6901 pointers into JSON text, without building a tree.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// The JSON text that the pointer names; none if there is none or the pointer is malformed.
pub(crate) fn at_pointer<'a>(json: &'a str, pointer: &str) -> Option<&'a str> {
    if pointer.is_empty() {
        return Some(json.trim());
    }
    let mut at = json;
    for token in pointer.strip_prefix('/')?.split('/') {
        let token = token.replace("~1", "/").replace("~0", "~");
        let mut deserializer = serde_json::Deserializer::from_str(at);
        at = deserializer.deserialize_any(Step { token: &token }).ok()??.get();
    }
    Some(at)
}

/// One step of a pointer: the member or element that the token names.
struct Step<'t> {
    token: &'t str,
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(matches) = map.next_key_seed(KeyIs(self.token))? {
            if matches {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let canonical = self.token == "0" || !self.token.starts_with(['0', '+']);
        let wanted = self.token.parse::<usize>().ok().filter(|_| canonical);
        let (mut at, mut found) = (0usize, None);
        while let Some(element) = seq.next_element::<&'de RawValue>()? {
            if Some(at) == wanted {
                found = Some(element);
            }
            at += 1;
        }
        Ok(found)
    }
}

/// Compares a key without keeping it.
struct KeyIs<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_pointer_finds_what_rfc_6901_says() {
        let json = r#"{"foo":["bar",{"a":1}],"":0,"a/b":1,"m~n":8,"dup":1,"dup":2,"é":"x"}"#;
        let table = [
            ("", Some(json)),
            ("/foo", Some(r#"["bar",{"a":1}]"#)),
            ("/foo/0", Some(r#""bar""#)),
            ("/foo/1/a", Some("1")),
            ("/foo/01", None),
            ("/foo/+1", None),
            ("/foo/2", None),
            ("/foo/0/x", None),
            ("/", Some("0")),
            ("/a~1b", Some("1")),
            ("/m~0n", Some("8")),
            ("/dup", Some("2")),
            ("/é", Some("\"x\"")),
            ("foo", None),
            ("/missing/x", None),
        ];
        for (pointer, expected) in table {
            assert_eq!(at_pointer(json, pointer), expected, "{pointer}");
        }
    }

    const KEYS: [&str; 10] = ["a", "b", "", "0", "1", "01", "a/b", "m~n", "~1", "é\n"];

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a\"\\\\é\u{1}/~ ]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((select(&KEYS[..]), inner), 0..5)
                    .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_pointer_finds_what_a_tree_finds(json in any_json(), tokens in vec(select(&KEYS[..]), 0..5), pretty: bool) {
            let escape = |token: &&str| token.replace('~', "~0").replace('/', "~1");
            let pointer = [""].into_iter().map(str::to_owned).chain(tokens.iter().map(escape)).collect::<Vec<_>>().join("/");
            let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
            let found = at_pointer(&text, &pointer).map(|found| serde_json::from_str::<Value>(found).unwrap());
            prop_assert_eq!(found.as_ref(), json.pointer(&pointer));
        }

        #[test]
        fn no_text_and_no_pointer_make_it_panic(text in "[\\[\\]{}:,\"a0é ]{0,20}|.{0,20}", pointer in "[/~01aé]{0,8}") {
            let _ = at_pointer(&text, &pointer);
        }
    }
}
