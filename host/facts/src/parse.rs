//! From the bytes of an answer to facts.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    net::{IpAddr, SocketAddr},
};

use bytes::Bytes;
use plimsoll_core::{FactSource, MAX_FACT_KEY_BYTES, Real, excerpt, quotable};
use serde::{Deserialize, de::IgnoredAny};

use crate::config::{Round, SampleKey, SourceConfig, SourceKind};

/// The key of a fact that is the only one of its source.
const SINGLE: &str = "value";

/// Maximum bytes of a message that is quoted from the answer.
const MAX_MESSAGE_BYTES: usize = 300;

/// Maximum digits of a number without an exponent; those of counts of bytes are fewer.
const MAX_DIGITS: usize = 24;

/// The content of an answer, as its source wrote it.
#[derive(Debug)]
pub(crate) enum Content {
    Json(Bytes),
    Csv(Bytes),
    Entries(BTreeMap<String, String>),
}

/// The facts of an answer.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) facts: FactSource,
    /// Why some values are missing.
    pub(crate) gaps: Option<String>,
}

/// The answer of Prometheus to an instant query.
#[derive(Deserialize)]
struct Answer {
    status: String,
    #[serde(default)]
    error: Option<String>,
    /// For example that the answer is partial, since a store does not reply.
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "camelCase")]
enum Data {
    Vector(Vec<Sample>),
    Scalar(Point),
}

#[derive(Deserialize)]
struct Sample {
    metric: BTreeMap<String, String>,
    /// Time and value; a histogram has none.
    #[serde(default)]
    value: Option<Point>,
}

/// The time is that of the query, and says nothing of the age of the sample.
#[derive(Deserialize)]
struct Point(IgnoredAny, String);

/// Reads an answer.
pub(crate) fn parse(config: &SourceConfig, content: Content) -> Result<Parsed, String> {
    let round = config.round.as_ref();
    let facts = match (&config.kind, content) {
        (SourceKind::Prometheus(_, key), Content::Json(bytes) | Content::Csv(bytes)) => {
            return prometheus(&bytes, key, round);
        }
        (_, Content::Json(bytes)) => {
            let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
            let wrong = |error| format!("the text is not JSON with a value for each key: {error}");
            let values = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
            FactSource::from_value(&values).map_err(wrong)?
        }
        (_, Content::Csv(bytes)) => {
            let text = str::from_utf8(&bytes).map_err(|error| format!("the text is not UTF-8: {error}"))?;
            FactSource::from_csv(text).map_err(|error| format!("line {error}"))?
        }
        // A line end behind a value comes from the way in which YAML was written.
        (_, Content::Entries(entries)) => rounded(entries.iter().map(|(key, value)| (key, value.trim())), None)?,
    };
    let facts = match round {
        None => facts,
        Some(_) => rounded(facts.iter().map(|(key, value)| (key, value.text())), round)?,
    };
    Ok(Parsed { facts, gaps: None })
}

/// The facts with these keys and values, rounded.
fn rounded<'v, K: AsRef<str>>(
    values: impl IntoIterator<Item = (K, &'v str)>,
    round: Option<&Round>,
) -> Result<FactSource, String> {
    let round = |value| round.map_or(Cow::Borrowed(value), |round| round.apply(value));
    let values = values.into_iter().map(|(key, value)| (key, round(value)));
    FactSource::from_texts(values)
}

/// The message of an answer with an error, if it is one of Prometheus.
pub(crate) fn message_of(body: &[u8]) -> Option<String> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    Some(excerpt(&answer.error?, MAX_MESSAGE_BYTES))
}

/// The facts of the samples that are finite, have the label of their key, and are the only value of it.
fn prometheus(body: &[u8], key: &SampleKey, round: Option<&Round>) -> Result<Parsed, String> {
    let wrong = |why: String| format!("the answer is not that of Prometheus' query API: {why}");
    let answer: Answer = serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
    if answer.status != "success" {
        let message = excerpt(answer.error.as_deref().unwrap_or("it does not say why"), MAX_MESSAGE_BYTES);
        return Err(format!("Prometheus refused the query: {message}"));
    }
    let samples = match answer.data.ok_or_else(|| wrong("it has no `data`".to_owned()))? {
        Data::Vector(samples) => samples,
        Data::Scalar(point) => vec![Sample { metric: BTreeMap::new(), value: Some(point) }],
    };
    if *key == SampleKey::Single && samples.len() > 1 {
        let samples = samples.len();
        return Err(format!(
            "the result has {samples} samples: expected one, or `node` or `key` with the label that tells them apart"
        ));
    }
    if let SampleKey::Node(label) | SampleKey::Label(label) = key
        && !samples.is_empty()
        && !samples.iter().any(|sample| sample.metric.contains_key(&**label))
    {
        return Err(format!(
            "no sample of the result has the label '{label}', which names nodes or keys: expected it on each sample"
        ));
    }
    let pair = |sample: &Sample| {
        let value = sample.value.as_ref().and_then(|Point(_, text)| number(text))?;
        let value = round.map_or(value.clone(), |round| round.apply(&value).into_owned());
        Some((key_of(sample, key).filter(|key| key.len() <= MAX_FACT_KEY_BYTES)?, value))
    };
    let (mut values, mut doubled) = (BTreeMap::new(), BTreeMap::new());
    for (key, value) in samples.iter().filter_map(pair) {
        match values.entry(key) {
            Entry::Vacant(entry) => _ = entry.insert(value),
            Entry::Occupied(entry) if *entry.get() == value => {}
            Entry::Occupied(entry) => _ = doubled.insert(entry.key().clone(), format!("{} and {value}", entry.get())),
        }
    }
    values.retain(|key, _| !doubled.contains_key(key));
    let gaps = gaps(&doubled, &answer.warnings);
    // Not one value: the last ones stay, as after any failure.
    if let Some(gaps) = gaps.as_ref().filter(|_| values.is_empty()) {
        return Err(gaps.clone());
    }
    Ok(Parsed { facts: FactSource::from_texts(values)?, gaps })
}

/// Says which keys have two values, and what Prometheus warns of.
fn gaps(doubled: &BTreeMap<String, String>, warnings: &[String]) -> Option<String> {
    let doubled = doubled.first_key_value().map(|(key, two)| {
        let key = quotable(key);
        let others = if doubled.len() > 1 { format!(" (so have {} others)", doubled.len() - 1) } else { String::new() };
        format!("the key '{key}' has two values, {two}{others}: expected one for each key")
    });
    let warned = warnings.first().map(|text| format!("Prometheus warns: {}", excerpt(text, MAX_MESSAGE_BYTES)));
    let parts: Vec<String> = [doubled, warned].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The key of a sample; none if it lacks the label.
fn key_of(sample: &Sample, key: &SampleKey) -> Option<String> {
    let value = |label: &str| sample.metric.get(label).filter(|value| !value.is_empty());
    match key {
        SampleKey::Single => Some(SINGLE.to_owned()),
        SampleKey::Node(label) => value(label).map(|value| without_port(value)),
        SampleKey::Label(label) => value(label).cloned(),
    }
}

/// The shortest text of a number, so that equal numbers have equal texts; `1e308` has 309 digits without an exponent.
fn number(text: &str) -> Option<String> {
    let number = Real::parse(text)?.get();
    let (plain, scientific) = (number.to_string(), format!("{number:e}"));
    Some(if plain.len() > MAX_DIGITS { scientific } else { plain })
}

/// The name or address of a node in an `instance` such as `10.0.0.1:9100`, `[fd00::1]:9100` or `node-1:9100`.
fn without_port(instance: &str) -> String {
    let address = instance.parse::<SocketAddr>().map(|address| address.ip());
    if let Ok(address) = address.or_else(|_| instance.parse::<IpAddr>()) {
        return address.to_string();
    }
    match instance.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
        _ => instance.to_owned(),
    }
}

#[cfg(test)]
mod tests;
