//! The probes listener: pages for the kubelet and a scraper, without settings, pods or nodes.
//!
//! It is open to the network, so clients are not trusted: few connections, no bodies, and each page is rendered at most
//! once in [`MAX_AGE`].

use std::{future::Future, io, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Incoming},
    header::{self, HeaderValue},
};
use tokio::{net::TcpListener, sync::Mutex, task::spawn_blocking, time::Instant};

use crate::{
    access::Client,
    admin::{
        Admin,
        pages::{AdminPage, OPEN_METRICS, TEXT, metrics},
    },
    server::{self, ConnectionBounds, RequestBody},
};

/// The time that a rendered page is served from the cache. Probes and scrapers ask every few seconds.
const MAX_AGE: Duration = Duration::from_millis(250);

/// The pages that exist here.
const PAGES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The cached pages, and the state that they are rendered from.
struct Probes {
    admin: Arc<dyn Admin>,
    readiness: CachedPage,
    metrics: CachedPage,
}

/// A page and when it was rendered. The first request that finds it stale renders it; others wait.
#[derive(Default)]
struct CachedPage(Arc<Mutex<Option<(Instant, StatusCode, Bytes)>>>);

/// Serves `/healthz`, `/readyz` and `/metrics` until `shutdown`.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail alone.
pub async fn serve_probes(
    listener: TcpListener,
    admin: Arc<dyn Admin>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let probes = Probes { admin, readiness: CachedPage::default(), metrics: CachedPage::default() };
    server::serve(listener, Arc::new(probes), ConnectionBounds::of_probes(), None, shutdown).await
}

impl server::Service for Arc<Probes> {
    type Body = Full<Bytes>;

    async fn answer(self, request: Request<RequestBody>, _: Arc<Client>) -> Response<Full<Bytes>> {
        let mut response = self.page(&request).await;
        if !request.body().is_end_stream() {
            // The request's body is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn refuse(self, _: Request<Incoming>) -> Response<Full<Bytes>> {
        respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, Bytes::from_static(b"too many requests: try again\n"))
    }
}

// === impl Probes ===

impl Probes {
    async fn page(&self, request: &Request<RequestBody>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !PAGES.contains(&path) {
            let text = b"plimsoll's probes are /healthz, /readyz and /metrics; the rest is on the admin listener\n";
            return respond(StatusCode::NOT_FOUND, TEXT, Bytes::from_static(text));
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let text = Bytes::from_static(b"plimsoll's probes take GET alone\n");
            let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET,HEAD"));
            return response;
        }
        if !request.body().is_end_stream() {
            let text = Bytes::from_static(b"plimsoll's probes take no body\n");
            return respond(StatusCode::PAYLOAD_TOO_LARGE, TEXT, text);
        }
        match path {
            "/readyz" => self.readiness.show(&self.admin, TEXT, readiness).await,
            "/metrics" => self.metrics.show(&self.admin, OPEN_METRICS, metrics).await,
            _ => respond(StatusCode::OK, TEXT, Bytes::from_static(b"ok\n")),
        }
    }
}

// === impl CachedPage ===

impl CachedPage {
    async fn show(
        &self,
        admin: &Arc<dyn Admin>,
        kind: &'static str,
        page: fn(&dyn Admin) -> AdminPage,
    ) -> Response<Full<Bytes>> {
        let mut kept = Arc::clone(&self.0).lock_owned().await;
        if let Some((made, status, text)) = kept.as_ref()
            && made.elapsed() < MAX_AGE
        {
            return respond(*status, kind, text.clone());
        }
        let admin = Arc::clone(admin);
        // The task owns the lock: if the client leaves, the next one does not render the page concurrently.
        let make = move || {
            let (status, _, text) = page(admin.as_ref());
            let text = Bytes::from(text);
            *kept = Some((Instant::now(), status, text.clone()));
            (status, text)
        };
        match spawn_blocking(make).await {
            Ok((status, text)) => respond(status, kind, text),
            Err(panic) => {
                tracing::error!(%panic, "an admin page failed");
                respond(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    TEXT,
                    Bytes::from_static(b"plimsoll failed on this page; its log says why\n"),
                )
            }
        }
    }
}

/// Whether requests can be answered. The reasons can quote files and settings, so only the admin listener shows them.
fn readiness(admin: &dyn Admin) -> AdminPage {
    match admin.ready() {
        Ok(_) => (StatusCode::OK, TEXT, "ok\n".to_owned()),
        Err(reasons) => {
            let count = reasons.len();
            let text = format!("not ready (reasons: {count}): see /readyz of the admin listener\n");
            (StatusCode::SERVICE_UNAVAILABLE, TEXT, text)
        }
    }
}

fn respond(status: StatusCode, kind: &'static str, text: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
