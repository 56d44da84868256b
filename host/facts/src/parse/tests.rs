//! Answers of each form, good and bad.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

fn vector_of(samples: &[Value]) -> Vec<u8> {
    let data = json!({"resultType": "vector", "result": samples});
    json!({"status": "success", "data": data, "infos": ["x"]}).to_string().into_bytes()
}

fn sample(instance: &str, value: &str) -> Value {
    json!({"metric": {"__name__": "load", "instance": instance}, "value": [1_700_000_000.123, value]})
}

fn read(body: &[u8], key: &SampleKey) -> Result<Vec<(String, String)>, String> {
    prometheus(body, key, None).map(|parsed| sorted(&parsed.facts))
}

fn sorted(facts: &FactSource) -> Vec<(String, String)> {
    let mut values: Vec<_> = facts.iter().map(|(key, value)| (key.to_owned(), value.text().to_owned())).collect();
    values.sort();
    values
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn node() -> SampleKey {
    SampleKey::Node("instance".into())
}

#[test]
fn samples_are_keyed_by_the_node_without_its_port() {
    let instances = [
        ("10.0.0.1:9100", "10.0.0.1"),
        ("[fd00::1]:9100", "fd00::1"),
        ("fd00::1", "fd00::1"),
        ("node-1.example:9100", "node-1.example"),
        ("node-1", "node-1"),
        ("node:x", "node:x"),
        ("10.0.0.1", "10.0.0.1"),
    ];
    for (instance, expected) in instances {
        assert_eq!(without_port(instance), expected, "{instance}");
    }
    let body = vector_of(&[sample("10.0.0.1:9100", "0.25"), sample("10.0.0.2:9100", "1e-3")]);
    assert_eq!(read(&body, &node()), Ok(pairs(&[("10.0.0.1", "0.25"), ("10.0.0.2", "0.001")])));
    let large = vector_of(&[sample("a", "1e308"), sample("b", "1e-300"), sample("c", "8589934592")]);
    let expected = pairs(&[("a", "1e308"), ("b", "1e-300"), ("c", "8589934592")]);
    assert_eq!(read(&large, &node()), Ok(expected));
    let by_label = read(&body, &SampleKey::Label("instance".into())).unwrap();
    assert_eq!(by_label[0].0, "10.0.0.1:9100");
}

#[test]
fn a_sample_that_is_not_finite_or_has_no_label_is_left_out() {
    let histogram = json!({"metric": {"instance": "d"}, "histogram": [1, {"count": "1"}]});
    let nameless = json!({"metric": {}, "value": [1, "1"]});
    let samples = [sample("a", "1"), sample("b", "NaN"), sample("c", "+Inf"), histogram, nameless];
    assert_eq!(read(&vector_of(&samples), &node()), Ok(pairs(&[("a", "1")])));
    let error = read(&vector_of(&samples), &SampleKey::Node("node".into())).unwrap_err();
    assert_eq!(
        error,
        "no sample of the result has the label 'node', which names nodes or keys: expected it on each sample"
    );
    assert_eq!(read(&vector_of(&[]), &node()), Ok(vec![]), "no sample is an answer");
}

#[test]
fn one_value_has_the_key_value() {
    let scalar = json!({"status": "success", "data": {"resultType": "scalar", "result": [1, "42"]}}).to_string();
    assert_eq!(read(scalar.as_bytes(), &SampleKey::Single), Ok(pairs(&[("value", "42")])));
    let error = read(scalar.as_bytes(), &node()).unwrap_err();
    assert!(error.starts_with("no sample of the result has the label 'instance'"), "{error}");
    assert_eq!(read(&vector_of(&[sample("a", "2")]), &SampleKey::Single), Ok(pairs(&[("value", "2")])));
    let error = read(&vector_of(&[sample("a", "2"), sample("b", "2")]), &SampleKey::Single).unwrap_err();
    assert!(error.starts_with("the result has 2 samples: expected one, or `node` or `key`"), "{error}");
}

#[test]
fn a_key_with_two_values_loses_its_own_value_and_no_other() {
    let body = |second: &str| vector_of(&[sample("a:1", "0.11"), sample("a:2", second), sample("b:1", "0.5")]);
    assert_eq!(read(&body("0.110"), &node()), Ok(pairs(&[("a", "0.11"), ("b", "0.5")])));
    let parsed = prometheus(&body("0.12"), &node(), None).unwrap();
    assert_eq!(sorted(&parsed.facts), pairs(&[("b", "0.5")]));
    let expected = "the key 'a' has two values, 0.11 and 0.12: expected one for each key";
    assert_eq!(parsed.gaps.as_deref(), Some(expected));
    let round = Round::to(0.1);
    let parsed = prometheus(&body("0.12"), &node(), round.as_ref()).unwrap();
    assert_eq!((parsed.facts.len(), parsed.gaps), (2, None), "rounded they are equal");
    let all = vector_of(&[sample("a:1", "1"), sample("a:2", "2")]);
    assert!(read(&all, &node()).unwrap_err().starts_with("the key 'a' has two values, 1 and 2"));
    let long = vector_of(&[sample(&"n".repeat(MAX_FACT_KEY_BYTES + 1), "1"), sample("b:1", "0.5")]);
    assert_eq!(read(&long, &node()), Ok(pairs(&[("b", "0.5")])));
}

#[test]
fn a_partial_answer_is_taken_and_said_and_an_empty_one_has_failed() {
    let partial = |samples: &[Value]| {
        let data = json!({"resultType": "vector", "result": samples});
        json!({"status": "success", "warnings": ["store b: timeout"], "data": data}).to_string().into_bytes()
    };
    let parsed = prometheus(&partial(&[sample("a", "1")]), &node(), None).unwrap();
    assert_eq!((parsed.facts.len(), parsed.gaps.as_deref()), (1, Some("Prometheus warns: store b: timeout")));
    assert_eq!(read(&partial(&[]), &node()).unwrap_err(), "Prometheus warns: store b: timeout");
}

#[test]
fn another_answer_is_refused() {
    let data = |data: Value| json!({"status": "success", "data": data}).to_string();
    for (body, expected) in [
        ("<html>".to_owned(), "not that of Prometheus' query API: expected value at line 1 column 1"),
        ("{}".to_owned(), "not that of Prometheus' query API: missing field `status`"),
        (r#"{"status": "success"}"#.to_owned(), "it has no `data`"),
        (r#"{"status": "error", "error": "parse error"}"#.to_owned(), "Prometheus refused the query: parse error"),
        (
            data(json!({"resultType": "matrix", "result": []})),
            "unknown variant `matrix`, expected `vector` or `scalar`",
        ),
        (data(json!({"resultType": "vector", "result": [1]})), "not that of Prometheus' query API: invalid type"),
        (data(json!({"resultType": "vector", "result": [{"metric": {}, "value": [1, 2]}]})), "not that of"),
        (data(json!({"resultType": "vector", "result": [{"metric": [], "value": [1, "2"]}]})), "not that of"),
    ] {
        let error = read(body.as_bytes(), &node()).unwrap_err();
        assert!(error.contains(expected), "{body}: {error}");
    }
}

#[test]
fn the_message_of_a_refusal_is_bounded() {
    assert_eq!(message_of(br#"{"status": "error", "error": "bad_data"}"#).as_deref(), Some("bad_data"));
    assert_eq!(message_of(b"502 Bad Gateway"), None);
    let long = json!({"status": "error", "error": "x ".repeat(10_000)}).to_string();
    assert!(message_of(long.as_bytes()).unwrap().len() <= MAX_MESSAGE_BYTES + '…'.len_utf8());
}

fn config(round: Option<f64>) -> SourceConfig {
    SourceConfig {
        name: "a".into(),
        kind: SourceKind::File("a.csv".into()),
        every: Duration::ZERO,
        timeout: Duration::ZERO,
        max_age: Duration::ZERO,
        round: round.and_then(Round::to),
    }
}

fn values(round: Option<f64>, content: Content) -> Result<Vec<(String, String)>, String> {
    parse(&config(round), content).map(|parsed| sorted(&parsed.facts))
}

#[test]
fn each_form_has_keys_and_values_and_numbers_are_rounded() {
    let json = || Content::Json(Bytes::from_static(br#"{"a": 0.12, "b": "x"}"#));
    assert_eq!(values(None, json()), Ok(pairs(&[("a", "0.12"), ("b", "x")])));
    assert_eq!(values(Some(0.05), json()), Ok(pairs(&[("a", "0.1"), ("b", "x")])));
    let marked = Content::Json(Bytes::from_static("\u{feff}{\"a\": 1}".as_bytes()));
    assert_eq!(values(None, marked), Ok(pairs(&[("a", "1")])), "a byte order mark is no part of the text");
    let csv = || Content::Csv(Bytes::from_static(b"a,0.12\nb,x\n"));
    assert_eq!(values(None, csv()), Ok(pairs(&[("a", "0.12"), ("b", "x")])));
    assert_eq!(values(Some(0.05), csv()), Ok(pairs(&[("a", "0.1"), ("b", "x")])));
    let entries = BTreeMap::from([("a".to_owned(), "0.12\n".to_owned()), ("b".to_owned(), "x".to_owned())]);
    assert_eq!(values(Some(0.05), Content::Entries(entries)), Ok(pairs(&[("a", "0.1"), ("b", "x")])));
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_as_such() {
    let error = values(None, Content::Csv(Bytes::from_static(b"a,\xff\n"))).unwrap_err();
    assert_eq!(error, "the text is not UTF-8: invalid utf-8 sequence of 1 bytes from index 2");
}

#[test]
fn the_line_of_a_bad_file_is_named() {
    let error = values(None, Content::Csv(Bytes::from_static(b"a,1\nb\n"))).unwrap_err();
    assert_eq!(error, "line 2: found 'b': expected a key, a comma and a value");
}

#[test]
fn numbers_become_multiples_and_texts_stay() {
    for (step, text, expected) in [
        (0.05, "0.1499", "0.15"),
        (0.05, "0.4321", "0.45"),
        (0.05, "0.99", "1"),
        (0.05, "-0.01", "0"),
        (0.05, "1e-3", "0"),
        (0.25, "10.13", "10.25"),
        (10.0, "94", "90"),
        (10.0, "100", "100"),
        (0.05, "closed", "closed"),
        (0.05, "NaN", "NaN"),
        (1e-9, "1.7e308", "1.7e308"),
    ] {
        assert_eq!(Round::to(step).unwrap().apply(text), expected, "{text} by {step}");
    }
}

#[test]
fn a_step_is_more_than_zero_and_finite() {
    assert!([1e-9, 1e9].iter().all(|step| Round::to(*step).is_some()));
    assert!([0.0, -1.0, 9e-10, 1.1e9, f64::NAN, f64::INFINITY].iter().all(|step| Round::to(*step).is_none()));
}
