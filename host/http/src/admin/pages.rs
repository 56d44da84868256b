//! The pages of the admin listener.

use axum::http::StatusCode;
use bytes::Bytes;

use super::content::Admin;

pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A page: its status, type and text.
pub(crate) type AdminPage = (StatusCode, &'static str, String);

pub(super) fn ready(admin: &dyn Admin) -> AdminPage {
    match admin.ready() {
        Ok(notes) => {
            let notes = notes.iter().map(|note| format!("note: {note}"));
            (StatusCode::OK, TEXT, lines(std::iter::once("ok".to_owned()).chain(notes)))
        }
        Err(reasons) if reasons.is_empty() => (StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n".to_owned()),
        Err(reasons) => (StatusCode::SERVICE_UNAVAILABLE, TEXT, lines(reasons.into_iter())),
    }
}

/// Each text on one line: a line break in one, as in the name of a file, must not look like two.
fn lines(texts: impl Iterator<Item = String>) -> String {
    texts.map(|text| plimsoll_core::escaped(&text, |_| false).into_owned() + "\n").collect()
}

pub(crate) fn metrics(admin: &dyn Admin) -> AdminPage {
    (StatusCode::OK, OPEN_METRICS, admin.metrics())
}

pub(super) fn policies(admin: &dyn Admin) -> AdminPage {
    (StatusCode::OK, JSON, format!("{:#}\n", admin.policies()))
}

pub(super) fn leader(admin: &dyn Admin) -> AdminPage {
    (StatusCode::OK, JSON, format!("{:#}\n", admin.leader()))
}

pub(super) fn facts(admin: &dyn Admin) -> AdminPage {
    (StatusCode::OK, JSON, format!("{:#}\n", admin.facts()))
}

/// The facts of sources, as a file for `--facts-snapshot`.
pub(super) fn fact_values(admin: &dyn Admin, sources: &str) -> AdminPage {
    match admin.fact_values(&sources.split(',').collect::<Vec<_>>()) {
        Ok(facts) => (StatusCode::OK, JSON, format!("{facts:#}\n")),
        Err(why) => (StatusCode::UNPROCESSABLE_ENTITY, TEXT, why + "\n"),
    }
}

/// A value of the query; names are plain ASCII, so nothing is escaped but the slash, and the comma between names.
pub(super) fn value(query: Option<&str>, key: &str) -> Option<String> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(own, _)| *own == key).map(|(_, value)| unescaped(value))
}

fn unescaped(value: &str) -> String {
    [("%2F", "/"), ("%2f", "/"), ("%2C", ","), ("%2c", ",")]
        .into_iter()
        .fold(value.to_owned(), |value, (escape, char)| value.replace(escape, char))
}

pub(super) fn table(admin: &dyn Admin, query: Option<&str>) -> AdminPage {
    let Some(policy) = value(query, "policy") else {
        return (StatusCode::BAD_REQUEST, TEXT, "expected /api/table?policy=NAME or GROUP/NAME\n".into());
    };
    match admin.table(&policy) {
        Some(table) => (StatusCode::OK, JSON, format!("{table:#}\n")),
        None => (StatusCode::NOT_FOUND, TEXT, "there is no such policy: /api/policies lists them\n".into()),
    }
}

pub(super) fn explain(admin: &dyn Admin, query: Option<&str>, pod: Bytes) -> AdminPage {
    let Some(node) = value(query, "node") else {
        let expected =
            "expected the pod's JSON, posted to /api/explain?node=NAME or /api/explain?group=GROUP&node=NAME\n";
        return (StatusCode::BAD_REQUEST, TEXT, expected.into());
    };
    match admin.explain(&value(query, "group").unwrap_or_default(), &node, pod) {
        Ok(explanation) => (StatusCode::OK, JSON, format!("{explanation:#}\n")),
        Err(why) => (StatusCode::UNPROCESSABLE_ENTITY, TEXT, why + "\n"),
    }
}

pub(super) fn not_found() -> AdminPage {
    let text = "plimsoll's admin side has /healthz, /readyz, /metrics, /api/policies, /api/leader, /api/facts, /api/table and /api/explain\n";
    (StatusCode::NOT_FOUND, TEXT, text.into())
}

pub(super) fn read_only() -> AdminPage {
    (
        StatusCode::METHOD_NOT_ALLOWED,
        TEXT,
        "plimsoll's admin side is read-only: use GET; for /api/explain, POST the pod's JSON\n".into(),
    )
}
