//! The admin listener: read-only pages for operators and scrapers.

mod content;
pub(crate) mod pages;

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, FromRequest, RawQuery, Request as PageRequest, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use hyper::{HeaderMap, Request, Uri, body::Incoming};
use tokio::{
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tower::ServiceExt;

pub use self::content::Admin;
use self::pages::{AdminPage, TEXT};
use crate::{
    AllowedHosts,
    access::Client,
    hosts::{Foreign, check_same_page},
    server::{self, ConnectionBounds, RequestBody},
};

/// Maximum bytes of a pod to explain. etcd stores no larger object.
const MAX_POD: usize = 2 << 20;

/// Explanations at once, until their pages are sent: the objects made of one pod may take 70 MiB, which no other bound counts.
const MAX_EXPLANATIONS: usize = 2;

/// Pages with facts at once, until they are sent. Each has up to 8 MiB of keys and values, which take a multiple of that as JSON.
const MAX_FACT_PAGES: usize = 1;

/// The time that an explanation, or a page with facts, waits for others to end.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time in which the pod of an explanation must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The admin pages behind the check of the request's `Host`.
#[derive(Clone)]
struct Guarded {
    router: Router,
    hosts: AllowedHosts,
}

/// The text of a page with the permit that it takes, for as long as it is in memory: a slow reader keeps both.
struct PermittedText {
    text: String,
    _permit: OwnedSemaphorePermit,
}

/// Serves the admin pages until `shutdown`. A request over loopback must name an allowed host; on other addresses this
/// is checked only if host names are configured.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail alone.
pub async fn serve_admin(
    listener: TcpListener,
    admin: Arc<dyn Admin>,
    hosts: AllowedHosts,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let explanations = Arc::new(Semaphore::new(MAX_EXPLANATIONS));
    let fact_pages = Arc::new(Semaphore::new(MAX_FACT_PAGES));
    let router = Router::new()
        .route("/healthz", get(async || respond((StatusCode::OK, TEXT, "ok\n".into()))))
        .route("/readyz", get(|State(admin)| show(admin, pages::ready)))
        .route("/metrics", get(|State(admin)| show(admin, pages::metrics)))
        .route("/api/policies", get(|State(admin)| show(admin, pages::policies)))
        .route("/api/leader", get(|State(admin)| show(admin, pages::leader)))
        .route("/api/facts", get(move |State(admin), RawQuery(query)| facts(admin, query, Arc::clone(&fact_pages))))
        .route(
            "/api/table",
            get(|State(admin), RawQuery(query): RawQuery| {
                show(admin, move |admin| pages::table(admin, query.as_deref()))
            }),
        )
        .route(
            "/api/explain",
            post(move |State(admin), RawQuery(query): RawQuery, request: PageRequest| {
                explain_in_turn(admin, query, request, Arc::clone(&explanations))
            })
            .layer(DefaultBodyLimit::max(MAX_POD)),
        )
        .fallback(async || respond(pages::not_found()))
        .method_not_allowed_fallback(async || respond(pages::read_only()))
        .with_state(admin);
    server::serve(listener, Guarded { router, hosts }, ConnectionBounds::of_admin(), None, shutdown).await
}

impl server::Service for Guarded {
    type Body = Body;

    async fn answer(self, request: Request<RequestBody>, client: Arc<Client>) -> Response {
        if let Err(foreign) = self.check(request.uri(), request.headers(), client.address) {
            tracing::warn!(peer = %client.address, path = request.uri().path(), "an admin page was refused: {foreign}");
            return respond((StatusCode::FORBIDDEN, TEXT, format!("{foreign}\n")));
        }
        let Ok(response) = self.router.oneshot(request).await;
        response
    }

    fn refuse(self, _: Request<Incoming>) -> Response {
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    }
}

// === impl PermittedText ===

impl AsRef<[u8]> for PermittedText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

// === impl Guarded ===

impl Guarded {
    /// A proxy in front, such as the API server's, may ask under its name, and does not come over loopback.
    fn check(&self, uri: &Uri, headers: &HeaderMap, client: SocketAddr) -> Result<(), Foreign> {
        check_same_page(headers)?;
        let is_local = client.ip().to_canonical().is_loopback();
        if is_local || !self.hosts.is_empty() { self.hosts.check(uri, headers) } else { Ok(()) }
    }
}

async fn show(admin: Arc<dyn Admin>, page: impl FnOnce(&dyn Admin) -> AdminPage + Send + 'static) -> Response {
    render(move || respond(page(admin.as_ref()))).await
}

/// As [`show`]; the permit is released when the text of the page is freed, sent or not.
async fn show_permitted(
    admin: Arc<dyn Admin>,
    permit: OwnedSemaphorePermit,
    page: impl FnOnce(&dyn Admin) -> AdminPage + Send + 'static,
) -> Response {
    let body = |text| Body::from(Bytes::from_owner(PermittedText { text, _permit: permit }));
    render(move || respond_with(page(admin.as_ref()), body)).await
}

/// Renders a page on a blocking thread, so that neither a slow page nor a panic stops the listener.
async fn render(page: impl FnOnce() -> Response + Send + 'static) -> Response {
    tokio::task::spawn_blocking(page).await.unwrap_or_else(|panic| {
        tracing::error!(%panic, "an admin page failed");
        respond((StatusCode::INTERNAL_SERVER_ERROR, TEXT, "plimsoll failed on this page; its log says why\n".into()))
    })
}

/// The sources of facts, or with `?values=SOURCE,SOURCE` their facts.
async fn facts(admin: Arc<dyn Admin>, query: Option<String>, fact_pages: Arc<Semaphore>) -> Response {
    let Some(sources) = pages::value(query.as_deref(), "values") else { return show(admin, pages::facts).await };
    let permit = match permit(fact_pages, "another page with facts is under way: try again\n").await {
        Ok(permit) => permit,
        Err(busy) => return respond(busy),
    };
    show_permitted(admin, permit, move |admin| pages::fact_values(admin, &sources)).await
}

/// Waits for the right to make a page of which only some are in memory at once.
async fn permit(pages: Arc<Semaphore>, busy: &str) -> Result<OwnedSemaphorePermit, AdminPage> {
    let permit = timeout(PERMIT_TIMEOUT, pages.acquire_owned()).await;
    permit.ok().and_then(Result::ok).ok_or_else(|| (StatusCode::SERVICE_UNAVAILABLE, TEXT, busy.to_owned()))
}

/// The permit is taken before the pod is read, so that those that wait hold no memory.
async fn explain_in_turn(
    admin: Arc<dyn Admin>,
    query: Option<String>,
    request: PageRequest,
    explanations: Arc<Semaphore>,
) -> Response {
    let permit = match permit(explanations, "other explanations are under way: try again\n").await {
        Ok(permit) => permit,
        Err(busy) => return respond(busy),
    };
    // A client that stalls must not keep the permit.
    let pod = match timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await {
        Ok(Ok(pod)) => pod,
        Ok(Err(rejection)) => return rejection.into_response(),
        Err(_) => {
            let text = format!("the pod did not arrive within {BODY_TIMEOUT:?}\n");
            return respond((StatusCode::REQUEST_TIMEOUT, TEXT, text));
        }
    };
    show_permitted(admin, permit, move |admin| pages::explain(admin, query.as_deref(), pod)).await
}

fn respond(page: AdminPage) -> Response {
    respond_with(page, Body::from)
}

fn respond_with((status, kind, text): AdminPage, body: impl FnOnce(String) -> Body) -> Response {
    // The page is read on terminals and quotes untrusted text, so control characters are escaped; JSON stays
    // equivalent.
    let text = plimsoll_core::escaped(&text, |c| matches!(c, '\n' | '\t')).into_owned();
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body(text)).into_response()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    struct Empty;

    impl Admin for Empty {
        fn ready(&self) -> Result<Vec<String>, Vec<String>> {
            Ok(Vec::new())
        }

        fn metrics(&self) -> String {
            String::new()
        }

        fn policies(&self) -> serde_json::Value {
            serde_json::Value::Null
        }

        fn leader(&self) -> serde_json::Value {
            serde_json::Value::Null
        }

        fn facts(&self) -> serde_json::Value {
            serde_json::Value::Null
        }

        fn fact_values(&self, _: &[&str]) -> Result<serde_json::Value, String> {
            Ok(serde_json::Value::Null)
        }

        fn table(&self, _: &str) -> Option<serde_json::Value> {
            None
        }

        fn explain(&self, _: &str, _: &str, _: Bytes) -> Result<serde_json::Value, String> {
            Ok(serde_json::Value::Null)
        }
    }

    #[tokio::test]
    async fn a_page_keeps_its_permit_until_its_bytes_are_freed() {
        let pages = Arc::new(Semaphore::new(1));
        let respond = || facts(Arc::new(Empty), Some("values=a".to_owned()), Arc::clone(&pages));
        let response = respond().await;
        assert_eq!(pages.available_permits(), 0, "the page is not sent yet");
        // The server takes the frame and drops the body before the reader has accepted a byte.
        let mut body = response.into_body();
        let frame = body.frame().await.unwrap().unwrap();
        drop(body);
        assert_eq!((frame.data_ref().unwrap().as_ref(), pages.available_permits()), (&b"null\n"[..], 0));
        drop(frame);
        assert_eq!(pages.available_permits(), 1);
        drop(respond().await);
        assert_eq!(pages.available_permits(), 1, "the client left");
    }

    #[test]
    fn a_proxy_that_does_not_come_over_loopback_may_use_its_own_name_unless_names_are_listed() {
        let names = |names: &[&str]| AllowedHosts::new(names.iter().map(|name| (*name).to_owned()));
        // The API server's proxy forwards the Host header of its request.
        let table = [
            ("127.0.0.1", &[][..], "api.example:6443", Err(Foreign::Host)),
            ("::ffff:127.0.0.1", &[], "api.example:6443", Err(Foreign::Host)),
            ("192.0.2.7", &[], "api.example:6443", Ok(())),
            ("192.0.2.7", &["admin.example"], "api.example:6443", Err(Foreign::Host)),
            ("192.0.2.7", &["api.example"], "api.example:6443", Ok(())),
            ("127.0.0.1", &["api.example"], "api.example:6443", Ok(())),
        ];
        for (client, listed, host, expected) in table {
            let guarded = Guarded { router: Router::new(), hosts: names(listed) };
            let headers = [(header::HOST, HeaderValue::from_static(host))].into_iter().collect();
            let client = SocketAddr::new(client.parse().unwrap(), 40_000);
            assert_eq!(
                guarded.check(&Uri::from_static("/api/policies"), &headers, client),
                expected,
                "{client} {host}"
            );
        }
    }
}
