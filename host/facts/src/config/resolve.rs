//! Resolves a raw facts file: checks values and fills in defaults.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use plimsoll_core::{check_source_name, quotable};
use plimsoll_yaml::{FieldError, position};
use serde_saphyr::Spanned;

use super::{
    raw::{RawConfigMap, RawFile, RawFileSource, RawHttp, RawPrometheus, RawSource},
    source::{HttpSource, SampleKey, SourceConfig, SourceKind},
};
use crate::{
    round::{Round, STEPS},
    url::HttpUrl,
};

/// Maximum sources; each has a task.
const MAX_SOURCES: usize = 64;

/// Maximum bytes of a query. Encoded, it must fit into the URL of a request.
const MAX_QUERY_BYTES: usize = 4 << 10;

const EVERY: Duration = Duration::from_secs(30);
const MIN_EVERY: Duration = Duration::from_secs(1);
const MAX_EVERY: Duration = Duration::from_hours(24);

const TIMEOUT: Duration = Duration::from_secs(10);
const MIN_TIMEOUT: Duration = Duration::from_millis(100);
const MAX_TIMEOUT: Duration = Duration::from_mins(1);

/// The default of `maxAge`, in intervals: four fetches in a row may fail.
const MAX_AGE_INTERVALS: u32 = 5;

/// The least `maxAge`, in intervals: a source must survive one failed fetch.
const MIN_AGE_INTERVALS: u32 = 2;
const MAX_MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// The kinds, as an error lists them.
const KINDS: &str = "prometheus, http, configMap and file";

type OptionalText = Option<Spanned<String>>;

/// The part of a source that its kind decides.
struct Kind {
    source: SourceKind,
    every: OptionalText,
    timeout: OptionalText,
}

/// The errors about one field name it with these parts.
struct Field<'f> {
    source: &'f str,
    /// None for a field outside of the part that the kind decides.
    kind: Option<&'static str>,
}

pub(super) fn resolve(file: RawFile, directory: &Path) -> Result<Vec<SourceConfig>, FieldError> {
    if file.len() > MAX_SOURCES {
        return Err(FieldError::of_file(&format!("{} sources: expected at most {MAX_SOURCES}", file.len())));
    }
    let sources = file.into_iter().map(|(name, source)| resolve_source(&name, source, directory));
    sources.collect()
}

fn resolve_source(name: &str, raw: Spanned<RawSource>, directory: &Path) -> Result<SourceConfig, FieldError> {
    let position = position(raw.referenced);
    let wrong_name =
        |expected: &str| FieldError { position, field: quotable(name).into_owned(), text: expected.to_owned() };
    check_source_name(name).map_err(wrong_name)?;
    let RawSource { prometheus, http, config_map, file, max_age, round } = raw.value;
    let field = |kind| Field { source: name, kind };
    let kinds = [
        prometheus.map(|raw| resolve_prometheus(raw, &field(Some("prometheus")), directory)),
        http.map(|raw| resolve_http(raw, &field(Some("http")), directory)),
        config_map.map(|raw| resolve_config_map(raw, &field(Some("configMap")))),
        file.map(|raw| resolve_file(raw, &field(Some("file")), directory)),
    ];
    let mut kinds = kinds.into_iter().flatten();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        let text = format!("expected exactly one of the keys {KINDS}");
        return Err(FieldError { position, field: name.to_owned(), text });
    };
    let Kind { source: kind, every, timeout } = kind?;
    let inner = field(Some(kind.as_str()));
    let every = inner.duration("every", every, EVERY, MIN_EVERY..=MAX_EVERY, "")?;
    let (least, default) = (every * MIN_AGE_INTERVALS, every * MAX_AGE_INTERVALS);
    let outer = field(None);
    let max_age = outer.duration("maxAge", max_age, default, least..=MAX_MAX_AGE, " (at least twice every)")?;
    // The next fetch must end before the values of this one expire.
    let most = MAX_TIMEOUT.min(max_age.saturating_sub(every));
    let timeout =
        inner.duration("timeout", timeout, TIMEOUT.min(most), MIN_TIMEOUT..=most, " (at most maxAge less every)")?;
    let round = round.map(|step| resolve_round(&step, &outer)).transpose()?;
    Ok(SourceConfig { name: name.into(), kind, every, timeout, max_age, round })
}

fn resolve_prometheus(raw: RawPrometheus, field: &Field<'_>, directory: &Path) -> Result<Kind, FieldError> {
    let base = field.url(&raw.url)?;
    if base.has_query() {
        return Err(field.wrong(
            "url",
            &raw.url,
            "expected the URL of Prometheus, without '?': the query is another key",
        ));
    }
    let query = &raw.query;
    if query.value.trim().is_empty() || query.value.len() > MAX_QUERY_BYTES {
        let text = format!("{} bytes: expected a query of 1 to {MAX_QUERY_BYTES}", query.value.len());
        return Err(field.error("query", position(query.referenced), text));
    }
    let url = base.join("/api/v1/query", "query", query.value.trim());
    let url = url.map_err(|why| field.error("query", position(query.referenced), format!("with this query {why}")))?;
    let key = match (raw.node, raw.key) {
        (None, None) => SampleKey::Single,
        (Some(node), None) => SampleKey::Node(field.label("node", &node)?),
        (None, Some(key)) => SampleKey::Label(field.label("key", &key)?),
        (Some(_), Some(key)) => {
            return Err(field.wrong("key", &key, "expected either `node` or `key`, not both"));
        }
    };
    let source = field.http_source(url, raw.bearer_token_file, raw.ca_file, directory)?;
    Ok(Kind { source: SourceKind::Prometheus(source, key), every: raw.every, timeout: raw.timeout })
}

fn resolve_http(raw: RawHttp, field: &Field<'_>, directory: &Path) -> Result<Kind, FieldError> {
    let source = field.http_source(field.url(&raw.url)?, raw.bearer_token_file, raw.ca_file, directory)?;
    Ok(Kind { source: SourceKind::Http(source), every: raw.every, timeout: raw.timeout })
}

fn resolve_config_map(raw: RawConfigMap, field: &Field<'_>) -> Result<Kind, FieldError> {
    let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    for (key, text) in [("namespace", &raw.namespace), ("name", &raw.name)] {
        // They become a part of a path: '..' must not lead to another resource.
        let name = &text.value;
        if name.is_empty() || name.len() > 253 || !name.bytes().all(is_fit) || name.starts_with('.') {
            return Err(field.wrong(key, text, "expected the name of a Kubernetes object"));
        }
    }
    let source = SourceKind::ConfigMap { namespace: raw.namespace.value, name: raw.name.value };
    Ok(Kind { source, every: raw.every, timeout: raw.timeout })
}

fn resolve_file(raw: RawFileSource, field: &Field<'_>, directory: &Path) -> Result<Kind, FieldError> {
    let ending = Path::new(&raw.path.value).extension().unwrap_or_default();
    if ending != "csv" && ending != "json" {
        return Err(field.wrong("path", &raw.path, "expected the path of a .csv or .json file"));
    }
    Ok(Kind { source: SourceKind::File(directory.join(&raw.path.value)), every: raw.every, timeout: None })
}

fn resolve_round(step: &Spanned<f64>, field: &Field<'_>) -> Result<Round, FieldError> {
    let text = || format!("found {}: expected a step from {} to {}", step.value, STEPS.start(), STEPS.end());
    Round::to(step.value).ok_or_else(|| field.error("round", position(step.referenced), text()))
}

// === impl Field ===

impl Field<'_> {
    /// The reason says why the bounds are these, where another field decides.
    fn duration(
        &self,
        key: &str,
        text: OptionalText,
        default: Duration,
        bounds: std::ops::RangeInclusive<Duration>,
        reason: &str,
    ) -> Result<Duration, FieldError> {
        let Some(text) = text else { return Ok(default) };
        let parsed = humantime::parse_duration(&text.value).ok().filter(|duration| bounds.contains(duration));
        let [least, most] = [bounds.start(), bounds.end()].map(|bound| humantime::format_duration(*bound));
        let expected = || format!("expected a duration such as 30s, from {least} to {most}{reason}");
        parsed.ok_or_else(|| self.wrong(key, &text, &expected()))
    }

    fn url(&self, text: &Spanned<String>) -> Result<HttpUrl, FieldError> {
        // Not quoted: it may have a password.
        let expected = "expected a URL such as https://host:9090/path, without user and password";
        HttpUrl::parse(&text.value)
            .map_err(|why| self.error("url", position(text.referenced), format!("{why}: {expected}")))
    }

    fn label(&self, key: &str, text: &Spanned<String>) -> Result<Box<str>, FieldError> {
        let is_fit = !text.value.is_empty() && !text.value.contains(char::is_whitespace);
        is_fit.then(|| text.value.as_str().into()).ok_or_else(|| self.wrong(key, text, "expected the name of a label"))
    }

    fn http_source(
        &self,
        url: HttpUrl,
        token: OptionalText,
        authorities: OptionalText,
        directory: &Path,
    ) -> Result<HttpSource, FieldError> {
        if let Some(token) = token.as_ref().filter(|_| !url.is_https() && !url.is_loopback()) {
            let text = "the token would be sent in the clear: expected a url with https, or on this machine";
            return Err(self.error("bearerTokenFile", position(token.referenced), text.to_owned()));
        }
        if let Some(authorities) = authorities.as_ref().filter(|_| !url.is_https()) {
            let text = "a certificate is checked only with https: expected a url with https";
            return Err(self.error("caFile", position(authorities.referenced), text.to_owned()));
        }
        let path = |text: OptionalText| -> Option<PathBuf> { text.map(|text| directory.join(text.value)) };
        Ok(HttpSource { url, bearer_token_file: path(token), ca_file: path(authorities) })
    }

    fn wrong(&self, key: &str, found: &Spanned<String>, expected: &str) -> FieldError {
        self.error(key, position(found.referenced), format!("found '{}': {expected}", quotable(&found.value)))
    }

    fn error(&self, key: &str, position: Option<(u64, u64)>, text: String) -> FieldError {
        let parts = [Some(self.source), self.kind, Some(key)];
        FieldError { position, field: parts.into_iter().flatten().collect::<Vec<_>>().join("."), text }
    }
}
