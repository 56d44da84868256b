//! RFC 6901 pointers into JSON text, without building a tree.

use serde_json::value::RawValue;

use super::members::Members;

/// The JSON text that the pointer names; none if there is none or the pointer is malformed.
pub(crate) fn at_pointer<'a>(json: &'a str, pointer: &str) -> Option<&'a str> {
    if pointer.is_empty() {
        return Some(json.trim());
    }
    let mut at = json;
    for token in pointer.strip_prefix('/')?.split('/') {
        at = if at.trim_ascii_start().starts_with('[') {
            let is_canonical = token == "0" || !token.starts_with(['0', '+']);
            let index = token.parse::<usize>().ok().filter(|_| is_canonical)?;
            serde_json::from_str::<Vec<&RawValue>>(at).ok()?.get(index)?.get()
        } else {
            let name = token.replace("~1", "/").replace("~0", "~");
            let Members(members) = serde_json::from_str::<Members<'_, &RawValue>>(at).ok()?;
            // Of two members with one name the last counts, as in Go.
            members.iter().rev().find(|(key, _)| *key == name)?.1.get()
        };
    }
    Some(at)
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
