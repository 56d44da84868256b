//! The answer of Prometheus to an instant query.

use std::{borrow::Cow, collections::BTreeMap, net::IpAddr};

use plimsoll_core::{FactError, MAX_FACTS, Real, excerpt};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::parsed::{ParsedFacts, parsed_facts};
use crate::{config::SampleKey, error::FetchError, round::Round};

/// The key of a fact that is the only one of its source.
const SINGLE: &str = "value";

/// Maximum bytes of a message that is quoted from the answer.
const MAX_MESSAGE_BYTES: usize = 300;

/// Maximum digits of a number without an exponent; those of counts of bytes are fewer.
const MAX_DIGITS: usize = 24;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Data<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    result_type: Cow<'a, str>,
    /// Read when its type is known.
    #[serde(borrow)]
    result: &'a RawValue,
}

#[derive(Deserialize)]
struct Sample<'a> {
    /// The labels; read one sample after another, so that few are held at once.
    #[serde(borrow)]
    metric: &'a RawValue,
    /// Time and value; a histogram has none.
    #[serde(borrow, default)]
    value: Option<Point<'a>>,
}

/// The time is that of the query, and says nothing of the age of the sample.
#[derive(Deserialize)]
struct Point<'a>(IgnoredAny, #[serde(borrow)] Cow<'a, str>);

/// The message of an answer with an error, if it is one of Prometheus.
pub(crate) fn error_of(body: &[u8]) -> Option<String> {
    let answer: Answer<'_> = serde_json::from_slice(body).ok()?;
    Some(excerpt(&answer.error?, MAX_MESSAGE_BYTES))
}

pub(super) fn parse(body: &[u8], key: &SampleKey, round: Option<&Round>) -> Result<ParsedFacts, FetchError> {
    let malformed = |error: serde_json::Error| FetchError::NotPrometheus(error.to_string());
    let answer: Answer<'_> = serde_json::from_slice(body).map_err(malformed)?;
    if answer.status != "success" {
        return Err(FetchError::Refused(excerpt(
            answer.error.as_deref().unwrap_or("it does not say why"),
            MAX_MESSAGE_BYTES,
        )));
    }
    let data = answer.data.ok_or_else(|| FetchError::NotPrometheus("it has no `data`".to_owned()))?;
    match &*data.result_type {
        "vector" => vector(&serde_json::from_str::<Vec<Sample<'_>>>(data.result.get()).map_err(malformed)?, key, round),
        "scalar" => match key {
            SampleKey::Single => scalar(&serde_json::from_str(data.result.get()).map_err(malformed)?, round),
            SampleKey::Node(label) | SampleKey::Label(label) => Err(FetchError::Scalar(label.clone())),
        },
        other => Err(FetchError::ResultType(excerpt(other, MAX_MESSAGE_BYTES))),
    }
}

fn scalar(Point(_, text): &Point<'_>, round: Option<&Round>) -> Result<ParsedFacts, FetchError> {
    let value = number(text);
    let left_out = u64::from(value.is_none());
    parsed_facts(value.map(|value| (SINGLE.to_owned(), value)).as_slice(), left_out, round)
}

fn vector(samples: &[Sample<'_>], key: &SampleKey, round: Option<&Round>) -> Result<ParsedFacts, FetchError> {
    if *key == SampleKey::Single && samples.len() > 1 {
        return Err(FetchError::ManySamples(samples.len()));
    }
    let (mut values, mut left_out, mut without_key) = (Vec::new(), 0, 0);
    for sample in samples {
        let Some(key) = key_of(sample, key)? else {
            without_key += 1;
            continue;
        };
        let value = sample.value.as_ref().and_then(|Point(_, text)| number(text));
        match value {
            Some(value) => values.push((key, value)),
            None => left_out += 1,
        }
        if values.len() > MAX_FACTS {
            return Err(FetchError::Facts(FactError::TooMany));
        }
    }
    match key {
        SampleKey::Node(label) | SampleKey::Label(label) if without_key > 0 && without_key == samples.len() => {
            Err(FetchError::NoLabel(label.clone()))
        }
        _ => parsed_facts(&values, left_out + without_key as u64, round),
    }
}

/// The key of a sample; none if it lacks the label.
fn key_of(sample: &Sample<'_>, key: &SampleKey) -> Result<Option<String>, FetchError> {
    let (label, is_node) = match key {
        SampleKey::Single => return Ok(Some(SINGLE.to_owned())),
        SampleKey::Node(label) => (label, true),
        SampleKey::Label(label) => (label, false),
    };
    let labels: BTreeMap<Cow<'_, str>, Cow<'_, str>> = serde_json::from_str(sample.metric.get())
        .map_err(|error| FetchError::NotPrometheus(format!("the labels of a sample: {error}")))?;
    let value = labels.get(&**label).filter(|value| !value.is_empty());
    Ok(value.map(|value| if is_node { without_port(value) } else { value.clone().into_owned() }))
}

/// The shortest text of a number, so that equal numbers have equal texts; `1e308` has 309 digits without an exponent.
fn number(text: &str) -> Option<String> {
    let number = Real::parse(text)?.get();
    let (plain, scientific) = (number.to_string(), format!("{number:e}"));
    Some(if plain.len() > MAX_DIGITS { scientific } else { plain })
}

/// The name or address of a node in an `instance` such as `10.0.0.1:9100`, `[fd00::1]:9100` or `node-1:9100`.
fn without_port(instance: &str) -> String {
    let address = |text: &str| text.parse().ok().map(|address: IpAddr| address.to_string());
    if let Some(address) = address(instance) {
        return address;
    }
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let host = instance.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(instance, |(host, _)| host);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    address(host).unwrap_or_else(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn vector_of(samples: &[Value]) -> Vec<u8> {
        let data = json!({"resultType": "vector", "result": samples});
        json!({"status": "success", "data": data, "warnings": ["x"]}).to_string().into_bytes()
    }

    fn sample(instance: &str, value: &str) -> Value {
        json!({"metric": {"__name__": "load", "instance": instance}, "value": [1_700_000_000.123, value]})
    }

    fn read(body: &[u8], key: &SampleKey) -> Result<(Vec<(String, String)>, u64), String> {
        let ParsedFacts { facts, left_out } = parse(body, key, None).map_err(|error| error.to_string())?;
        let mut values: Vec<_> = facts.iter().map(|(key, value)| (key.to_owned(), value.text().to_owned())).collect();
        values.sort();
        Ok((values, left_out))
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
            ("[FD00:0::1]:9100", "fd00::1"),
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
        assert_eq!(read(&body, &node()), Ok((pairs(&[("10.0.0.1", "0.25"), ("10.0.0.2", "0.001")]), 0)));
        let large = vector_of(&[sample("a", "1e308"), sample("b", "1e-300"), sample("c", "8589934592")]);
        let expected = pairs(&[("a", "1e308"), ("b", "1e-300"), ("c", "8589934592")]);
        assert_eq!(read(&large, &node()), Ok((expected, 0)));
        let by_label = read(&body, &SampleKey::Label("instance".into())).unwrap().0;
        assert_eq!(by_label[0].0, "10.0.0.1:9100");
    }

    #[test]
    fn a_sample_that_is_not_finite_or_has_no_label_is_left_out_and_counted() {
        let histogram = json!({"metric": {"instance": "d"}, "histogram": [1, {"count": "1"}]});
        let nameless = json!({"metric": {}, "value": [1, "1"]});
        let samples = [sample("a", "1"), sample("b", "NaN"), sample("c", "+Inf"), histogram, nameless];
        assert_eq!(read(&vector_of(&samples), &node()), Ok((pairs(&[("a", "1")]), 4)));
        let error = read(&vector_of(&samples), &SampleKey::Node("node".into())).unwrap_err();
        assert_eq!(
            error,
            "no sample of the result has the label 'node', which names nodes or keys: expected it on each sample"
        );
        assert_eq!(read(&vector_of(&[]), &node()), Ok((vec![], 0)), "no sample is an answer");
    }

    #[test]
    fn one_value_has_the_key_value() {
        let scalar = json!({"status": "success", "data": {"resultType": "scalar", "result": [1, "42"]}}).to_string();
        assert_eq!(read(scalar.as_bytes(), &SampleKey::Single), Ok((pairs(&[("value", "42")]), 0)));
        let error = read(scalar.as_bytes(), &node()).unwrap_err();
        assert!(
            error.starts_with("the result is a scalar, which has no label 'instance': expected a vector"),
            "{error}"
        );
        assert_eq!(read(&vector_of(&[sample("a", "2")]), &SampleKey::Single), Ok((pairs(&[("value", "2")]), 0)));
        let error = read(&vector_of(&[sample("a", "2"), sample("b", "2")]), &SampleKey::Single).unwrap_err();
        assert!(error.starts_with("the result has 2 samples: expected one, or `node` or `key`"), "{error}");
    }

    #[test]
    fn two_values_for_one_node_are_refused_unless_they_are_equal() {
        let body = |second: &str| vector_of(&[sample("a:1", "0.11"), sample("a:2", second)]);
        assert_eq!(read(&body("0.110"), &node()), Ok((pairs(&[("a", "0.11")]), 0)));
        let error = read(&body("0.12"), &node()).unwrap_err();
        assert_eq!(error, "the key 'a' has two values, 0.11 and 0.12: expected one for each key");
        let round = Round::to(0.1);
        assert!(parse(&body("0.12"), &node(), round.as_ref()).is_ok(), "rounded they are equal");
    }

    #[test]
    fn another_answer_is_refused() {
        let data = |data: Value| json!({"status": "success", "data": data}).to_string();
        for (body, expected) in [
            ("<html>".to_owned(), "not that of Prometheus' query API: expected value at line 1 column 1"),
            ("{}".to_owned(), "not that of Prometheus' query API: missing field `status`"),
            (r#"{"status": "success"}"#.to_owned(), "it has no `data`"),
            (r#"{"status": "error", "error": "parse error"}"#.to_owned(), "Prometheus refused the query: parse error"),
            (data(json!({"resultType": "matrix", "result": []})), "of the type 'matrix': expected vector or scalar"),
            (data(json!({"resultType": "vector", "result": [1]})), "not that of Prometheus' query API: invalid type"),
            (data(json!({"resultType": "vector", "result": [{"metric": {}, "value": [1, 2]}]})), "not that of"),
            (data(json!({"resultType": "vector", "result": [{"metric": [], "value": [1, "2"]}]})), "the labels of a"),
        ] {
            let error = read(body.as_bytes(), &node()).unwrap_err();
            assert!(error.contains(expected), "{body}: {error}");
        }
    }

    #[test]
    fn the_message_of_a_refusal_is_bounded() {
        assert_eq!(error_of(br#"{"status": "error", "error": "bad_data"}"#).as_deref(), Some("bad_data"));
        assert_eq!(error_of(b"502 Bad Gateway"), None);
        let long = json!({"status": "error", "error": "x ".repeat(10_000)}).to_string();
        assert!(error_of(long.as_bytes()).unwrap().len() <= MAX_MESSAGE_BYTES + '…'.len_utf8());
    }
}
