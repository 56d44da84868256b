//! The admin listener: what an operator and a scraper may look at. It changes nothing.

use std::{future::Future, io, sync::Arc};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::net::TcpListener;

use crate::server::{self, Bounds};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the admin listener shows.
pub trait Admin: Send + Sync {
    /// Whether requests can be answered.
    ///
    /// # Errors
    /// One line for each thing that is missing.
    fn ready(&self) -> Result<(), Vec<String>>;

    /// The metrics as `OpenMetrics` text.
    fn metrics(&self) -> String;

    /// The policies in force and those that failed to load.
    fn policies(&self) -> serde_json::Value;

    /// Who binds.
    fn leader(&self) -> serde_json::Value;

    /// The decision tables that a policy has shown so far; none if there is no such policy.
    fn table(&self, policy: &str) -> Option<serde_json::Value>;
}

/// A page: its status, type and text.
type Page = (StatusCode, &'static str, String);

/// Serves the admin pages until `shutdown`.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail on their own.
pub async fn serve_admin(
    listener: TcpListener,
    admin: Arc<dyn Admin>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || respond((StatusCode::OK, TEXT, "ok\n".into()))))
        .route("/readyz", get(|State(admin)| show(admin, ready)))
        .route("/metrics", get(|State(admin)| show(admin, metrics)))
        .route("/api/policies", get(|State(admin)| show(admin, policies)))
        .route("/api/leader", get(|State(admin)| show(admin, leader)))
        .route("/api/table", get(|State(admin), RawQuery(query): RawQuery| show(admin, |admin| table(admin, query))))
        .fallback(async || respond(not_found()))
        .method_not_allowed_fallback(async || respond(read_only()))
        .with_state(admin);
    server::serve(listener, router, Bounds::of_admin(), None, shutdown).await
}

/// Makes a page on a blocking thread, where it may take its time, and even panic.
async fn show(admin: Arc<dyn Admin>, page: impl FnOnce(&dyn Admin) -> Page + Send + 'static) -> Response {
    let made = tokio::task::spawn_blocking(move || page(admin.as_ref())).await;
    respond(made.unwrap_or_else(|panic| {
        tracing::error!(%panic, "an admin page failed");
        (StatusCode::INTERNAL_SERVER_ERROR, TEXT, "plimsoll failed on this page; its log says why\n".into())
    }))
}

fn ready(admin: &dyn Admin) -> Page {
    match admin.ready() {
        Ok(()) => (StatusCode::OK, TEXT, "ok\n".into()),
        Err(reasons) => {
            let lines = if reasons.is_empty() { "not ready".into() } else { reasons.join("\n") };
            (StatusCode::SERVICE_UNAVAILABLE, TEXT, lines + "\n")
        }
    }
}

fn metrics(admin: &dyn Admin) -> Page {
    (StatusCode::OK, OPEN_METRICS, admin.metrics())
}

fn policies(admin: &dyn Admin) -> Page {
    (StatusCode::OK, JSON, format!("{:#}\n", admin.policies()))
}

fn leader(admin: &dyn Admin) -> Page {
    (StatusCode::OK, JSON, format!("{:#}\n", admin.leader()))
}

/// The query is `policy=NAME`, or `policy=GROUP/NAME`; names are plain ASCII, so nothing is escaped but the slash.
fn table(admin: &dyn Admin, query: Option<String>) -> Page {
    let query = query.unwrap_or_default();
    let Some(policy) = query.split('&').find_map(|pair| pair.strip_prefix("policy=")) else {
        return (StatusCode::BAD_REQUEST, TEXT, "expected /api/table?policy=NAME or GROUP/NAME\n".into());
    };
    let policy = policy.replace("%2F", "/").replace("%2f", "/");
    match admin.table(&policy) {
        Some(table) => (StatusCode::OK, JSON, format!("{table:#}\n")),
        None => (StatusCode::NOT_FOUND, TEXT, "there is no such policy: /api/policies lists them\n".into()),
    }
}

fn not_found() -> Page {
    let text = "plimsoll's admin side has /healthz, /readyz, /metrics, /api/policies, /api/leader and /api/table\n";
    (StatusCode::NOT_FOUND, TEXT, text.into())
}

fn read_only() -> Page {
    (StatusCode::METHOD_NOT_ALLOWED, TEXT, "plimsoll's admin side is read-only: GET alone\n".into())
}

fn respond((status, kind, text): Page) -> Response {
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}
