//! The admin listener (read-only pages for operators) and the probes listener (pages for a kubelet and a scraper).

use std::{error::Error, io, net::IpAddr, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::{DefaultBodyLimit, FromRequestParts, Path, Query, Request, State},
    http::{
        StatusCode,
        header::{CONTENT_TYPE, HOST, ORIGIN},
        request::Parts,
        uri::Authority,
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use hyper::HeaderMap;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{net::TcpListener, sync::Semaphore, task::spawn_blocking};

use crate::{
    access::Client,
    server::{self, Limits},
};

/// Maximum bytes of a pod to explain. etcd stores no larger object.
const MAX_POD: usize = 2 << 20;

/// Explanations and pages with facts that are made at once: one may take 70 MiB.
const MAX_LARGE_PAGES: usize = 2;

/// Operators, kubelets and scrapers are few and quick.
const LIMITS: Limits = Limits { connections: 1024, drain: Duration::from_secs(2) };

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A page: its status, type and text.
type Page = (StatusCode, &'static str, String);

/// The state of a listener, as handlers take it.
type PagesOf<A> = State<Arc<Pages<A>>>;

/// The content of the admin listener's pages. The replies of `/api/...` become JSON as they are: `docs/json.md` has them.
pub trait Admin: Send + Sync + 'static {
    /// Whether requests can be answered; one line for each problem that does not prevent that.
    ///
    /// # Errors
    /// One line for each precondition that is missing.
    fn ready(&self) -> Result<Vec<String>, Vec<String>>;

    /// The metrics as `OpenMetrics` text.
    fn metrics(&self) -> String;

    /// The policies in force and those that failed to load.
    fn policies(&self) -> impl Serialize;

    /// The replica that binds.
    fn leader(&self) -> impl Serialize;

    /// The pods that wait for a node.
    fn pending(&self) -> impl Serialize;

    /// Why a pod waits for a node.
    ///
    /// # Errors
    /// Says why it does not wait.
    fn pending_pod(&self, namespace: &str, name: &str) -> Result<impl Serialize, String>;

    /// The sources of facts.
    fn facts(&self) -> impl Serialize;

    /// The facts in force of these sources, by source and key.
    ///
    /// # Errors
    /// Says which source there is not, or that they are too large for one page.
    fn fact_values(&self, sources: &[&str]) -> Result<impl Serialize, String>;

    /// The decision tables that a policy has shown so far; none if there is no such policy.
    fn table(&self, policy: &str) -> Option<impl Serialize>;

    /// Each policy's answer about a pod (JSON) and a node, with the values that it read.
    ///
    /// # Errors
    /// Says why there is no explanation.
    fn explain(&self, group: &str, node: &str, pod: Bytes) -> Result<impl Serialize, String>;
}

/// The state of a listener.
struct Pages<A> {
    admin: Arc<A>,
    large: Arc<Semaphore>,
}

/// The query of a request. An unknown parameter is an error: with a typing mistake it would ask something else.
struct CheckedQuery<Q>(Q);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoQuery {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsQuery {
    /// Sources, with commas between them.
    values: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableQuery {
    /// Its name, or `GROUP/NAME`.
    policy: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainQuery {
    #[serde(default)]
    group: String,
    node: String,
}

/// Serves the admin pages until `shutdown`. A request over loopback must name this machine, and come from no other page
/// of a browser.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail alone.
pub async fn serve_admin(
    listener: TcpListener,
    admin: Arc<impl Admin>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || page((StatusCode::OK, TEXT, "ok\n".into()))))
        .route("/readyz", get(async |State(pages): PagesOf<_>| pages.show(ready).await))
        .route("/metrics", get(async |State(pages): PagesOf<_>| pages.show(metrics).await))
        .route("/api/policies", get(policies))
        .route("/api/leader", get(leader))
        .route("/api/pending", get(pending))
        .route("/api/pending/{namespace}/{name}", get(pending_pod))
        .route("/api/facts", get(facts))
        .route("/api/table", get(table))
        .route("/api/explain", post(explain).layer(DefaultBodyLimit::max(MAX_POD)))
        .fallback(async || {
            let text = "plimsoll's admin side has /healthz, /readyz, /metrics, /api/policies, /api/leader, /api/pending, /api/facts, /api/table and /api/explain\n";
            page((StatusCode::NOT_FOUND, TEXT, text.into()))
        })
        .method_not_allowed_fallback(async || {
            let text = "plimsoll's admin side is read-only: use GET; for /api/explain, POST the pod's JSON\n";
            page((StatusCode::METHOD_NOT_ALLOWED, TEXT, text.into()))
        })
        .layer(middleware::from_fn(check_origin))
        .with_state(Pages::new(admin, MAX_LARGE_PAGES));
    server::serve(listener, router, LIMITS, None, shutdown).await
}

/// Serves `/healthz`, `/readyz` and `/metrics` until `shutdown`. This listener may be open to the network, so one page is
/// rendered at a time, and none shows settings, pods or nodes.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail alone.
pub async fn serve_probes(
    listener: TcpListener,
    admin: Arc<impl Admin>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || page((StatusCode::OK, TEXT, "ok\n".into()))))
        .route("/readyz", get(async |State(pages): PagesOf<_>| pages.show_large(readiness).await))
        .route("/metrics", get(async |State(pages): PagesOf<_>| pages.show_large(metrics).await))
        .fallback(async || {
            let text = "plimsoll's probes are /healthz, /readyz and /metrics; the rest is on the admin listener\n";
            page((StatusCode::NOT_FOUND, TEXT, text.into()))
        })
        .with_state(Pages::new(admin, 1));
    server::serve(listener, router, LIMITS, None, shutdown).await
}

// === impl Pages ===

impl<A: Admin> Pages<A> {
    /// `large`: the number of large pages that are made at once.
    fn new(admin: Arc<A>, large: usize) -> Arc<Self> {
        Arc::new(Self { admin, large: Arc::new(Semaphore::new(large)) })
    }

    /// Renders a page on a blocking thread, so that neither a slow page nor a panic stops the listener.
    async fn show(self: Arc<Self>, render: impl FnOnce(&A) -> Page + Send + 'static) -> Response {
        let made = spawn_blocking(move || render(&self.admin)).await.unwrap_or_else(|panic| {
            tracing::error!(%panic, "an admin page failed");
            let text = "plimsoll failed on this page; its log says why\n";
            (StatusCode::INTERNAL_SERVER_ERROR, TEXT, text.into())
        });
        page(made)
    }

    /// The same for a page of which only some are made at once.
    async fn show_large(self: Arc<Self>, render: impl FnOnce(&A) -> Page + Send + 'static) -> Response {
        // The semaphore is never closed. The rendering has the permit, so it is held even if the client leaves.
        let permit = Arc::clone(&self.large).acquire_owned().await;
        self.show(move |admin| (render(admin), permit).0).await
    }
}

// === impl CheckedQuery ===

impl<S: Sync, Q: DeserializeOwned> FromRequestParts<S> for CheckedQuery<Q> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        Query::try_from_uri(&parts.uri).map(|Query(query)| Self(query)).map_err(|rejection| {
            // Its source has the words of serde alone.
            let error = rejection.source().unwrap_or(&rejection);
            page((StatusCode::BAD_REQUEST, TEXT, format!("the query of {}: {error}\n", parts.uri.path())))
        })
    }
}

/// Refuses a web page that makes a browser on this machine ask: its name may resolve to 127.0.0.1 (DNS rebinding; `Host`
/// shows it), or it may post a form (`Origin` shows it). A proxy asks under any name, but not over loopback.
async fn check_origin(Extension(client): Extension<Arc<Client>>, request: Request, next: Next) -> Response {
    let is_local = client.address.ip().to_canonical().is_loopback();
    if is_local && !is_own_page(request.headers()) {
        let text = "this page is for programs and browsers that ask for localhost or an IP address\n";
        return page((StatusCode::FORBIDDEN, TEXT, text.into()));
    }
    next.run(request).await
}

/// Whether `Host` names this machine, and the page that asks, if any, is one of the same host.
fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(HOST).unwrap_or("localhost");
    let is_own_name = host.parse::<Authority>().is_ok_and(|authority| {
        let name = authority.host().trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
    });
    is_own_name && text(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://") == Some(host))
}

async fn policies<A: Admin>(State(pages): PagesOf<A>, _: CheckedQuery<NoQuery>) -> Response {
    pages.show(|admin| json(&admin.policies())).await
}

async fn leader<A: Admin>(State(pages): PagesOf<A>, _: CheckedQuery<NoQuery>) -> Response {
    pages.show(|admin| json(&admin.leader())).await
}

async fn pending<A: Admin>(State(pages): PagesOf<A>, _: CheckedQuery<NoQuery>) -> Response {
    pages.show_large(|admin| json(&admin.pending())).await
}

async fn pending_pod<A: Admin>(
    State(pages): PagesOf<A>,
    Path((namespace, name)): Path<(String, String)>,
    _: CheckedQuery<NoQuery>,
) -> Response {
    let none = |why| (StatusCode::NOT_FOUND, TEXT, why + "\n");
    pages.show(move |admin| admin.pending_pod(&namespace, &name).map_or_else(none, |pod| json(&pod))).await
}

async fn facts<A: Admin>(State(pages): PagesOf<A>, CheckedQuery(query): CheckedQuery<FactsQuery>) -> Response {
    let Some(sources) = query.values else { return pages.show(|admin| json(&admin.facts())).await };
    pages.show_large(move |admin| json_or(admin.fact_values(&sources.split(',').collect::<Vec<_>>()))).await
}

async fn table<A: Admin>(State(pages): PagesOf<A>, CheckedQuery(query): CheckedQuery<TableQuery>) -> Response {
    let none = || (StatusCode::NOT_FOUND, TEXT, "there is no such policy: /api/policies lists them\n".into());
    pages.show(move |admin| admin.table(&query.policy).map_or_else(none, |table| json(&table))).await
}

async fn explain<A: Admin>(
    State(pages): PagesOf<A>,
    CheckedQuery(ExplainQuery { group, node }): CheckedQuery<ExplainQuery>,
    pod: Bytes,
) -> Response {
    pages.show_large(move |admin| json_or(admin.explain(&group, &node, pod))).await
}

fn ready(admin: &impl Admin) -> Page {
    // Each text on one line: a line break in one, as in the name of a file, must not look like two.
    let lines = |texts: Vec<String>| texts.iter().map(|text| plimsoll_core::escaped(text, |_| false) + "\n").collect();
    match admin.ready() {
        Ok(notes) => {
            let notes = notes.iter().map(|note| format!("note: {note}"));
            (StatusCode::OK, TEXT, lines(std::iter::once("ok".to_owned()).chain(notes).collect()))
        }
        Err(reasons) if reasons.is_empty() => (StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n".to_owned()),
        Err(reasons) => (StatusCode::SERVICE_UNAVAILABLE, TEXT, lines(reasons)),
    }
}

/// Whether requests can be answered. The reasons can quote files and settings, so only the admin listener shows them.
fn readiness(admin: &impl Admin) -> Page {
    match admin.ready() {
        Ok(_) => (StatusCode::OK, TEXT, "ok\n".to_owned()),
        Err(reasons) => {
            let count = reasons.len();
            let text = format!("not ready (reasons: {count}): see /readyz of the admin listener\n");
            (StatusCode::SERVICE_UNAVAILABLE, TEXT, text)
        }
    }
}

fn metrics(admin: &impl Admin) -> Page {
    (StatusCode::OK, OPEN_METRICS, admin.metrics())
}

fn json(reply: &impl Serialize) -> Page {
    serde_json::to_string_pretty(reply).map_or_else(
        |error| (StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
        |text| (StatusCode::OK, JSON, text + "\n"),
    )
}

fn json_or(reply: Result<impl Serialize, String>) -> Page {
    reply.map_or_else(|why| (StatusCode::UNPROCESSABLE_ENTITY, TEXT, why + "\n"), |reply| json(&reply))
}

fn page((status, kind, text): Page) -> Response {
    // The page is read on terminals and quotes untrusted text, so control characters are escaped; JSON stays
    // equivalent.
    let text = plimsoll_core::escaped(&text, |c| matches!(c, '\n' | '\t')).into_owned();
    (status, [(CONTENT_TYPE, kind)], text).into_response()
}
