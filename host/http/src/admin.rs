//! The admin listener: read-only pages for operators and scrapers.

mod content;
pub(crate) mod pages;

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
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

/// Explanations at once: the objects made of one pod may take 70 MiB, which no other bound counts.
const MAX_EXPLANATIONS: usize = 2;

/// Pages with facts at once. Each has up to 8 MiB of keys and values, which take a multiple of that as JSON.
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

/// Serves the admin pages until `shutdown`. A request over loopback must name an allowed host; on other addresses this
/// is checked only if host names are configured.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail on their own.
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
    type Body = axum::body::Body;

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

// === impl Guarded ===

impl Guarded {
    /// A proxy in front, such as the API server's, may ask under its own name, and does not come over loopback.
    fn check(&self, uri: &Uri, headers: &HeaderMap, client: SocketAddr) -> Result<(), Foreign> {
        check_same_page(headers)?;
        let is_local = client.ip().to_canonical().is_loopback();
        if is_local || !self.hosts.is_empty() { self.hosts.check(uri, headers) } else { Ok(()) }
    }
}

/// Renders a page on a blocking thread, so that neither a slow page nor a panic stops the listener.
async fn show(admin: Arc<dyn Admin>, page: impl FnOnce(&dyn Admin) -> AdminPage + Send + 'static) -> Response {
    let made = tokio::task::spawn_blocking(move || page(admin.as_ref())).await;
    respond(made.unwrap_or_else(|panic| {
        tracing::error!(%panic, "an admin page failed");
        (StatusCode::INTERNAL_SERVER_ERROR, TEXT, "plimsoll failed on this page; its log says why\n".into())
    }))
}

/// The sources of facts, or with `?values=SOURCE,SOURCE` their facts.
async fn facts(admin: Arc<dyn Admin>, query: Option<String>, fact_pages: Arc<Semaphore>) -> Response {
    let Some(sources) = pages::value(query.as_deref(), "values") else { return show(admin, pages::facts).await };
    let permit = match permit(fact_pages, "another page with facts is under way: try again\n").await {
        Ok(permit) => permit,
        Err(busy) => return respond(busy),
    };
    show(admin, move |admin| {
        let page = pages::fact_values(admin, &sources);
        drop(permit);
        page
    })
    .await
}

/// Waits for the right to make a page of which only some are made at once.
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
    show(admin, move |admin| {
        let page = pages::explain(admin, query.as_deref(), pod);
        drop(permit);
        page
    })
    .await
}

fn respond((status, kind, text): AdminPage) -> Response {
    // The page is read on terminals and quotes untrusted text, so control characters are escaped; JSON stays
    // equivalent.
    let text = plimsoll_core::escaped(&text, |c| matches!(c, '\n' | '\t')).into_owned();
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_does_not_come_over_loopback_may_use_its_own_name_unless_names_are_listed() {
        let names = |names: &[&str]| AllowedHosts::new(names.iter().map(|name| (*name).to_owned()));
        // The API server's proxy forwards the Host header of its own request.
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
