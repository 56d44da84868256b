use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Settings {
    label: String,
    #[serde(default)]
    limits: BTreeMap<String, u8>,
    #[serde(default)]
    steps: Vec<Step>,
    share: Option<f64>,
    #[serde(default)]
    is_strict: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    Stop,
    Wait(u32),
    Move { to: String },
}

#[derive(Debug, PartialEq, Deserialize)]
struct Nothing;

fn error<'de, T: Deserialize<'de> + std::fmt::Debug>(json: &'de str) -> String {
    from_str::<T>(json).unwrap_err().to_string()
}

#[test]
fn every_kind_of_value_is_read() {
    let settings: Settings = from_str(
        r#" {"label" : "a\"b\u00e9\ud83d\ude00", "limits": {"x": 255}, "share": 1.5e0, "isStrict": true,
             "steps": ["stop", {"wait": 3}, {"move": {"to": "x"}}]} "#,
    )
    .unwrap();
    let expected = Settings {
        label: "a\"bé😀".to_owned(),
        limits: BTreeMap::from([("x".to_owned(), 255)]),
        steps: vec![Step::Stop, Step::Wait(3), Step::Move { to: "x".to_owned() }],
        share: Some(1.5),
        is_strict: true,
    };
    assert_eq!(settings, expected);
}

#[test]
fn an_error_names_the_field_and_what_was_expected() {
    let table = [
        ("{}", "the field label is missing"),
        (r#"{"label": 5}"#, "label: expected a string, found 5"),
        (r#"{"label": ["x"]}"#, "label: expected a string, found a list"),
        (r#"{"label": "", "steps": [5]}"#, "steps[0]: expected stop, wait or move, found 5"),
        (r#"{"label": null}"#, "label: expected a string, found null (an empty value)"),
        (
            r#"{"label": "", "limits": {"x": 1, "y z": 256}}"#,
            "limits.y z: expected a whole number from 0 to 255, found 256",
        ),
        (r#"{"label": "", "limits": {"x": -1}}"#, "limits.x: expected a whole number from 0 to 255, found -1"),
        (r#"{"label": "", "limits": {"x": 1.5}}"#, "limits.x: expected a whole number from 0 to 255, found 1.5"),
        (
            r#"{"label": "", "limits": {"x": "1"}}"#,
            r#"limits.x: expected a whole number from 0 to 255, found the text "1""#,
        ),
        (r#"{"label": "", "steps": ["stop", "go"]}"#, r#"steps[1]: expected stop, wait or move, found "go""#),
        (r#"{"label": "", "steps": [{"move": {}}]}"#, "steps[0].move: the field to is missing"),
        (
            r#"{"label": "", "steps": [{"wait": "long"}]}"#,
            r#"steps[0].wait: expected a whole number from 0 to 4294967295, found the text "long""#,
        ),
        (
            r#"{"label": "", "steps": [{"wait": 4294967296}]}"#,
            "steps[0].wait: expected a whole number from 0 to 4294967295, found 4294967296",
        ),
        (
            r#"{"label": "", "steps": [{"wait": 99999999999999999999}]}"#,
            "steps[0].wait: expected a whole number from 0 to 4294967295, found 99999999999999999999",
        ),
        (r#"{"label": "", "steps": [{"stop": 1}]}"#, r#"steps[0]: expected only "stop", found a map"#),
        (r#"{"label": "", "isStrict": "yes"}"#, r#"isStrict: expected true or false, found the text "yes""#),
        (r#"{"label": "", "share": "2.0"}"#, r#"share: expected a number, found the text "2.0""#),
        (r#"{"label": "", "limits": null}"#, "limits: expected a map, found null (an empty value)"),
        (r#"{"label": "", "steps": {}}"#, "steps: expected a list, found a map"),
        ("5", "expected a map, found 5"),
        (r#"{"label": "", "limit": 1}"#, "there is no field limit; expected label, limits, steps, share or isStrict"),
        (r#"{"label": "", "label": ""}"#, "the field label is given twice"),
        (r#""text""#, r#"expected a map, found the text "text""#),
    ];
    for (json, expected) in table {
        assert_eq!(error::<Settings>(json), expected, "{json}");
    }
}

#[test]
fn text_without_escapes_is_borrowed() {
    assert_eq!(from_str::<&str>(r#""plain é""#).unwrap(), "plain é");
    assert_eq!(from_str::<BTreeMap<&str, u64>>(r#"{"a": 1}"#).unwrap(), BTreeMap::from([("a", 1)]));
}

#[test]
fn keys_may_stand_for_numbers() {
    assert_eq!(from_str::<BTreeMap<i16, u64>>(r#"{"-5": 1}"#).unwrap(), BTreeMap::from([(-5, 1)]));
    assert_eq!(
        error::<BTreeMap<u8, u64>>(r#"{"x": 1}"#),
        r#"expected a whole number from 0 to 255, found the text "x""#
    );
}

#[test]
fn a_type_without_fields_takes_null_and_an_empty_map() {
    assert_eq!(from_str::<Nothing>("null"), Ok(Nothing));
    assert_eq!(from_str::<Nothing>("{}"), Ok(Nothing));
    assert_eq!(error::<Nothing>(r#"{"a": 1}"#), "expected no more than 0 items");
}

#[test]
fn what_is_no_json_is_refused_and_nothing_panics() {
    let whole = r#"{"label": "a\u00e9\n", "limits": {"x": 2}, "steps": [{"wait": 3}], "share": -1.5e3}"#;
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        assert!(from_str::<Settings>(&whole[..end]).is_err(), "{end}");
        assert!(from_str::<serde_json::Value>(&whole[..end]).is_err(), "{end}");
        assert!(from_str::<serde::de::IgnoredAny>(&whole[..end]).is_err(), "{end}");
    }
    for json in ["", "{,}", "[1,]", "[1 2]", "{\"a\" 1}", "nul", "1 2", "\"\\x\"", "\"\\ud83", "[[", "]", "--1", "tru"]
    {
        assert!(from_str::<serde_json::Value>(json).is_err(), "{json}");
    }
    assert!(from_str::<serde_json::Value>(&"[".repeat(100_000)).is_err());
}

#[test]
fn a_value_of_any_type_is_what_serde_json_reads() {
    for json in [
        r#"{"a": [1, -2, 3.25, true, false, null, "x\ty\\", {}], "b": {"c": []}, "": 18446744073709551615}"#,
        r#""half a pair: \\ud800 is text""#,
        "  [ ]  ",
        "1e3",
    ] {
        let expected: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(from_str::<serde_json::Value>(json).unwrap(), expected, "{json}");
    }
}
