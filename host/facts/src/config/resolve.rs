//! The facts file as serde reads it, and its checks.

use std::{collections::BTreeMap, ops::RangeInclusive, path::Path, sync::Arc, time::Duration};

use http::{
    HeaderName, HeaderValue, Uri,
    header::{AUTHORIZATION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING},
};
use plimsoll_core::{check_source_name, quotable};
use plimsoll_yaml::{FieldError, position};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::source::{HttpSource, Login, Round, STEPS, SampleKey, SourceConfig, SourceKind};

/// Maximum sources; each has a task.
const MAX_SOURCES: usize = 64;

/// Maximum bytes of a query. Encoded, it must fit into the URL of a request.
const MAX_QUERY_BYTES: usize = 4 << 10;

const EVERY: Duration = Duration::from_secs(30);
const EVERY_BOUNDS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);

const TIMEOUT: Duration = Duration::from_secs(10);
const MIN_TIMEOUT: Duration = Duration::from_millis(100);
const MAX_TIMEOUT: Duration = Duration::from_mins(1);

/// The default of `maxAge`, in intervals: four fetches in a row may fail.
const MAX_AGE_INTERVALS: u32 = 5;

/// The least `maxAge`, in intervals: a source must survive one failed fetch.
const MIN_AGE_INTERVALS: u32 = 2;
const MAX_MAX_AGE: Duration = Duration::from_hours(30 * 24);

type Text = Spanned<String>;

/// Sources by name.
pub(super) type RawFile = BTreeMap<String, Spanned<RawSource>>;

/// One source: one of the kinds, and its bounds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawSource {
    prometheus: Option<RawPrometheus>,
    http: Option<RawHttp>,
    config_map: Option<RawConfigMap>,
    file: Option<RawFileSource>,
    max_age: Option<Text>,
    round: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawPrometheus {
    url: Text,
    query: Text,
    /// The label with a node's name or address.
    node: Option<Text>,
    /// The label with the key of a fact.
    key: Option<Text>,
    every: Option<Text>,
    timeout: Option<Text>,
    bearer_token_file: Option<Text>,
    basic_auth: Option<Spanned<RawBasicAuth>>,
    #[serde(default)]
    headers: BTreeMap<String, Text>,
    ca_file: Option<Text>,
    cert_file: Option<Text>,
    key_file: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawHttp {
    url: Text,
    every: Option<Text>,
    timeout: Option<Text>,
    bearer_token_file: Option<Text>,
    basic_auth: Option<Spanned<RawBasicAuth>>,
    #[serde(default)]
    headers: BTreeMap<String, Text>,
    ca_file: Option<Text>,
    cert_file: Option<Text>,
    key_file: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawBasicAuth {
    username: Text,
    password_file: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawConfigMap {
    namespace: String,
    name: String,
    every: Option<Text>,
    timeout: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawFileSource {
    path: Text,
    every: Option<Text>,
}

/// The place of the fields of a source or of its kind, such as `load.prometheus`.
struct Fields<'d> {
    path: String,
    directory: &'d Path,
}

pub(super) fn resolve(file: RawFile, directory: &Path) -> Result<Vec<Arc<SourceConfig>>, FieldError> {
    if file.len() > MAX_SOURCES {
        return Err(FieldError::of_file(&format!("{} sources: expected at most {MAX_SOURCES}", file.len())));
    }
    file.into_iter().map(|(name, raw)| resolve_source(&name, raw, directory).map(Arc::new)).collect()
}

fn resolve_source(name: &str, raw: Spanned<RawSource>, directory: &Path) -> Result<SourceConfig, FieldError> {
    let position = position(raw.referenced);
    let error = |text: &str| FieldError { position, field: quotable(name).into_owned(), text: text.to_owned() };
    check_source_name(name).map_err(error)?;
    let RawSource { prometheus, http, config_map, file, max_age, round } = raw.value;
    let of_kind = |kind: &str| Fields { path: format!("{name}.{kind}"), directory };
    let (fields, kind, every, timeout) = match (prometheus, http, config_map, file) {
        (Some(mut raw), None, None, None) => {
            let (fields, every, timeout) = (of_kind("prometheus"), raw.every.take(), raw.timeout.take());
            let kind = fields.prometheus(raw)?;
            (fields, kind, every, timeout)
        }
        (None, Some(raw), None, None) => {
            let fields = of_kind("http");
            let (every, timeout) = (raw.every.clone(), raw.timeout.clone());
            let source = fields.http_source(fields.url(&raw.url)?, &raw)?;
            (fields, SourceKind::Http(source), every, timeout)
        }
        (None, None, Some(RawConfigMap { namespace, name, every, timeout }), None) => {
            (of_kind("configMap"), SourceKind::ConfigMap { namespace, name }, every, timeout)
        }
        (None, None, None, Some(RawFileSource { path, every })) => {
            let fields = of_kind("file");
            let ending = Path::new(&path.value).extension().unwrap_or_default();
            if ending != "csv" && ending != "json" {
                return Err(fields.wrong("path", &path, "expected the path of a .csv or .json file"));
            }
            (fields, SourceKind::File(directory.join(&path.value)), every, None)
        }
        _ => return Err(error("expected exactly one of the keys prometheus, http, configMap and file")),
    };
    let own = Fields { path: name.to_owned(), directory };
    let every = fields.duration("every", every, EVERY, EVERY_BOUNDS, "")?;
    let ages = every * MIN_AGE_INTERVALS..=MAX_MAX_AGE;
    let max_age = own.duration("maxAge", max_age, every * MAX_AGE_INTERVALS, ages, " (at least twice every)")?;
    // The next fetch must end before the values of this one expire.
    let most = MAX_TIMEOUT.min(max_age.saturating_sub(every));
    let why = " (at most maxAge less every)";
    let timeout = fields.duration("timeout", timeout, TIMEOUT.min(most), MIN_TIMEOUT..=most, why)?;
    let round = round.map(|step| {
        let expected = format!("found {}: expected a step from {} to {}", step.value, STEPS.start(), STEPS.end());
        Round::to(step.value).ok_or_else(|| own.error("round", &step, expected))
    });
    Ok(SourceConfig { name: name.into(), kind, every, timeout, max_age, round: round.transpose()? })
}

// === impl Fields ===

impl Fields<'_> {
    fn prometheus(&self, raw: RawPrometheus) -> Result<SourceKind, FieldError> {
        let base = self.url(&raw.url)?;
        if base.query().is_some() {
            let expected = "expected the URL of Prometheus, without '?': the query is another key";
            return Err(self.wrong("url", &raw.url, expected));
        }
        let query = raw.query.value.trim();
        if query.is_empty() || query.len() > MAX_QUERY_BYTES {
            let text = format!("{} bytes: expected a query of 1 to {MAX_QUERY_BYTES}", query.len());
            return Err(self.error("query", &raw.query, text));
        }
        let parameter = form_urlencoded::Serializer::new(String::new()).append_pair("query", query).finish();
        let url = format!("{}/api/v1/query?{parameter}", base.to_string().trim_end_matches('/'));
        let url = url.parse().map_err(|_| self.wrong("url", &raw.url, "expected a shorter URL"))?;
        let key = match (raw.node, raw.key) {
            (None, None) => SampleKey::Single,
            (Some(node), None) => SampleKey::Node(node.value.into()),
            (None, Some(key)) => SampleKey::Label(key.value.into()),
            (Some(_), Some(key)) => return Err(self.wrong("key", &key, "expected either `node` or `key`, not both")),
        };
        let RawPrometheus { url: at, bearer_token_file, basic_auth, headers, ca_file, cert_file, key_file, .. } = raw;
        let (every, timeout) = (None, None);
        let raw =
            RawHttp { url: at, every, timeout, bearer_token_file, basic_auth, headers, ca_file, cert_file, key_file };
        Ok(SourceKind::Prometheus(self.http_source(url, &raw)?, key))
    }

    fn url(&self, text: &Text) -> Result<Uri, FieldError> {
        // Not quoted: it may have a password.
        let wrong = |why: &str| {
            let expected = "expected a URL such as https://host:9090/path, without user and password";
            self.error("url", text, format!("{why}: {expected}"))
        };
        let url: Uri = text.value.parse().map_err(|_| wrong("it is not a URL"))?;
        let authority = url.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| wrong("it has no host"))?;
        if !matches!(url.scheme_str(), Some("http" | "https")) {
            return Err(wrong("its scheme is neither http nor https"));
        }
        if authority.as_str().contains('@') {
            return Err(wrong("it has a user or a password"));
        }
        // The client would take the default port in place of one that it cannot read.
        if authority.as_str().len() > authority.host().len() && matches!(authority.port_u16(), None | Some(0)) {
            return Err(wrong("its port is not a number from 1 to 65535"));
        }
        Ok(url)
    }

    fn http_source(&self, url: Uri, raw: &RawHttp) -> Result<HttpSource, FieldError> {
        let path = |text: &Text| self.directory.join(&text.value);
        let (secret, login) = match (&raw.bearer_token_file, &raw.basic_auth) {
            (Some(_), Some(basic)) => {
                let text = "expected either bearerTokenFile or basicAuth, not both".to_owned();
                return Err(self.error("basicAuth", basic, text));
            }
            (Some(token), None) => (Some(("bearerTokenFile", token)), Some(Login::Bearer(path(token)))),
            (None, Some(basic)) => {
                let RawBasicAuth { username, password_file } = &basic.value;
                if username.value.contains([':', '\r', '\n']) {
                    return Err(self.wrong("basicAuth.username", username, "expected a name without ':'"));
                }
                let login = Login::Basic(username.value.as_str().into(), path(password_file));
                (Some(("basicAuth.passwordFile", password_file)), Some(login))
            }
            (None, None) => (None, None),
        };
        let certificate = match (&raw.cert_file, &raw.key_file) {
            (Some(cert), Some(key)) => Some((path(cert), path(key))),
            (None, None) => None,
            (Some(at), None) => return Err(self.wrong("certFile", at, "expected keyFile beside it")),
            (None, Some(at)) => return Err(self.wrong("keyFile", at, "expected certFile beside it")),
        };
        let headers = raw.headers.iter().map(|(name, value)| self.header(name, value)).collect::<Result<_, _>>()?;
        let ca_file = raw.ca_file.as_ref().map(path);
        let source = HttpSource { url, headers, login, certificate, ca_file };
        if let Some(cert) = raw.cert_file.as_ref().filter(|_| !source.is_https()) {
            return Err(self.error("certFile", cert, "expected a url with https".to_owned()));
        }
        if let Some((key, file)) = secret.filter(|_| !source.is_https() && !source.is_loopback()) {
            let text = "the secret would be sent in the clear: expected a url with https, or on this machine";
            return Err(self.error(key, file, text.to_owned()));
        }
        Ok(source)
    }

    fn header(&self, name: &str, value: &Text) -> Result<(HeaderName, HeaderValue), FieldError> {
        let wrong = |text: &str| self.error(&format!("headers.{}", quotable(name)), value, text.to_owned());
        let parsed = HeaderName::try_from(name).map_err(|_| wrong("expected the name of a header"))?;
        if [AUTHORIZATION, HOST, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&parsed) {
            return Err(wrong(
                "plimsoll writes this header itself: expected bearerTokenFile or basicAuth for a secret",
            ));
        }
        let value = HeaderValue::try_from(&value.value);
        Ok((parsed, value.map_err(|_| wrong("expected a value of printable ASCII"))?))
    }

    /// The reason says why the bounds are these, where another field decides.
    fn duration(
        &self,
        key: &str,
        text: Option<Text>,
        default: Duration,
        bounds: RangeInclusive<Duration>,
        reason: &str,
    ) -> Result<Duration, FieldError> {
        let Some(text) = text else { return Ok(default) };
        let parsed = humantime::parse_duration(&text.value).ok().filter(|duration| bounds.contains(duration));
        let [least, most] = [bounds.start(), bounds.end()].map(|bound| humantime::format_duration(*bound));
        let expected = format!("expected a duration such as 30s, from {least} to {most}{reason}");
        parsed.ok_or_else(|| self.wrong(key, &text, &expected))
    }

    fn wrong(&self, key: &str, found: &Text, expected: &str) -> FieldError {
        self.error(key, found, format!("found '{}': {expected}", quotable(&found.value)))
    }

    fn error<T>(&self, key: &str, at: &Spanned<T>, text: String) -> FieldError {
        FieldError { position: position(at.referenced), field: format!("{}.{key}", self.path), text }
    }
}
