//! The wire listener: reads a request, has it decided, and sends the reply. Short bodies are decided on the threads of the
//! connections, longer ones on those for blocking work.

mod announcing;
mod binding;
mod body;
mod concurrency;
mod deciding;
mod log;
mod observer;
mod reply_body;
mod threads;
mod wire_request;

use std::{
    future::Future,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use hyper::{
    Request, Response, StatusCode, Version,
    body::Incoming,
    header::{self, HeaderValue},
    http::request::Parts,
};
use plimsoll_core::Gateway;
use tokio::net::TcpListener;

pub use self::observer::{NO_LABEL, WireObserver};
use self::{
    body::{BodyReader, ReceivedBody},
    concurrency::ConcurrencyLimits,
    log::log_error,
    reply_body::{PostReplyExecutor, ReplyBody},
    wire_request::WireRequest,
};
use crate::{
    AllowedHosts, BindAccess, Forward, RequestCache, WireConfig,
    access::Client,
    answer::RequestOrigin,
    error::WireError,
    extender_verb::ExtenderVerb,
    hosts,
    memory::MemoryReservation,
    reply::ExtenderReply,
    server::{self, ConnectionBounds, RequestBody},
};

/// The state that all requests share.
struct Wire {
    gateway: Arc<Gateway>,
    cache: Arc<RequestCache>,
    observer: Arc<dyn WireObserver>,
    peers: Arc<dyn Forward>,
    access: BindAccess,
    /// `None` with TLS, where the certificate names the server.
    hosts: Option<AllowedHosts>,
    body_reader: BodyReader,
    concurrency: ConcurrencyLimits,
    post_reply: Arc<PostReplyExecutor>,
    max_requests: usize,
}

/// Serves the extender wire until `shutdown`, then finishes the requests in flight.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail alone.
pub async fn serve_wire(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    observer: Arc<dyn WireObserver>,
    peers: Arc<dyn Forward>,
    config: WireConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    gateway.set_blocking(threads::blocking());
    let cache = Arc::new(RequestCache::default());
    cache.follow(&gateway);
    let wire = Wire {
        gateway,
        cache,
        peers,
        access: config.bind.clone(),
        hosts: config.tls.is_none().then(|| config.hosts.clone()),
        body_reader: BodyReader::new(&config),
        concurrency: ConcurrencyLimits::new(&config),
        post_reply: Arc::new(PostReplyExecutor::new(config.max_decisions, Arc::clone(&observer))),
        max_requests: config.max_requests,
        observer,
    };
    let now = Instant::now();
    let request_timeout = wire.gateway.deadline(now).saturating_duration_since(now);
    let bounds = ConnectionBounds::of_wire(&config, request_timeout);
    server::serve(listener, Arc::new(wire), bounds, config.tls, shutdown).await
}

impl server::Service for Arc<Wire> {
    type Body = ReplyBody;

    async fn answer(self, request: Request<RequestBody>, client: Arc<Client>) -> Response<ReplyBody> {
        let (parts, body) = request.into_parts();
        let request = WireRequest::of(&parts, |group| self.knows(group));
        let (reply, reserved) = match request.route() {
            Ok((group, verb)) => {
                let body = self.read(&request, (group, verb), &client, body).await;
                match (body, verb) {
                    (Ok(body), ExtenderVerb::Bind) => {
                        self.bind(&request, group, body, self.origin(&request, &client)).await
                    }
                    (Ok(body), _) => self.decide(&request, group, verb, body, self.origin(&request, &client)).await,
                    (Err(error), _) => (verb.error(error), None),
                }
            }
            Err(error) => {
                self.body_reader.skip(body).await;
                (ExtenderReply::plain_error(error), None)
            }
        };
        self.respond(&request, reply, reserved)
    }

    fn refuse(self, request: Request<Incoming>) -> Response<ReplyBody> {
        let (parts, _) = request.into_parts();
        let request = WireRequest::of(&parts, |group| self.knows(group));
        let error = WireError::too_many(self.max_requests);
        let reply = match request.target {
            Some((_, verb)) => verb.error(error),
            None => ExtenderReply::plain_error(error),
        };
        self.respond(&request, reply, None)
    }
}

// === impl Wire ===

impl Wire {
    fn origin(&self, request: &WireRequest<'_>, client: &Client) -> RequestOrigin {
        RequestOrigin { received: request.received, sender: client.sender, may_bind: self.access.check(client).is_ok() }
    }

    /// The body of a request that is to be decided.
    ///
    /// # Errors
    /// If the body cannot be read, the client may not use the verb, or there is no such group.
    async fn read(
        &self,
        request: &WireRequest<'_>,
        (group, verb): (&str, ExtenderVerb),
        client: &Client,
        body: RequestBody,
    ) -> Result<ReceivedBody, WireError> {
        if let Err(error) = self.check_access(verb, client, request.parts).and_then(|()| request.check_group(group)) {
            self.body_reader.skip(body).await;
            return Err(error);
        }
        self.body_reader.read(body).await
    }

    /// Whether a client may use this verb. It is checked before a bind is forwarded: the replica that binds trusts us.
    fn check_access(&self, verb: ExtenderVerb, client: &Client, parts: &Parts) -> Result<(), WireError> {
        hosts::check_no_page(&parts.headers).map_err(WireError::foreign)?;
        if let Some(hosts) = self.hosts.as_ref().filter(|_| client.is_local) {
            hosts.check(&parts.uri, &parts.headers).map_err(WireError::foreign)?;
        }
        let Err(denial) = (if verb == ExtenderVerb::Bind { self.access.check(client) } else { Ok(()) }) else {
            return Ok(());
        };
        let reason = denial.reason();
        self.observer.bind_denied(reason);
        tracing::warn!(peer = %client.address, subject = client.subject(), reason, "a bind was refused: {denial}");
        Err(WireError::denied(&denial))
    }

    /// Whether the group exists.
    fn knows(&self, group: &str) -> bool {
        group.is_empty() || self.gateway.roster().group(group).is_some()
    }

    fn report(&self, request: &WireRequest<'_>, reply: &ExtenderReply) {
        let verb = request.target.map_or(NO_LABEL, |(_, verb)| verb.as_str());
        let group = request.known_group().unwrap_or(NO_LABEL);
        let failed = reply.error.is_some();
        if let Some(error) = reply.error.as_ref().filter(|_| !reply.is_routine) {
            log_error(group, verb, reply, error, &request.id, request.parts);
        }
        let elapsed = request.received.elapsed();
        let tell = || self.observer.answered(group, verb, reply.status, failed, reply.nodes, elapsed);
        if catch_unwind(AssertUnwindSafe(tell)).is_err() {
            tracing::error!("the observer panicked");
        }
    }

    /// Reports a reply and makes the response.
    fn respond(
        &self,
        request: &WireRequest<'_>,
        reply: ExtenderReply,
        reserved: Option<MemoryReservation>,
    ) -> Response<ReplyBody> {
        self.report(request, &reply);
        let post_reply_work = PostReplyExecutor::hold(&self.post_reply, reply.after);
        let body = ReplyBody::new(reply.body, post_reply_work, reserved);
        let body = if request.parts.version == Version::HTTP_2 { body.in_frames() } else { body };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if reply.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if reply.close && request.parts.version < Version::HTTP_2 {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
