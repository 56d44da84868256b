//! The wire listener: reads a request, decides it off the async threads, and sends the reply.

mod announcing;
mod body;
mod concurrency;
mod inline;
mod log;
mod observer;
mod reply_body;

use std::{
    future::Future,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use bytes::Bytes;
use hyper::{
    Method, Request, Response, StatusCode, Version,
    body::Incoming,
    header::{self, HeaderValue},
    http::request::Parts,
};
use plimsoll_core::{Announcement, Gateway, PodId, RequestId};
use tokio::{net::TcpListener, task::spawn_blocking, time::timeout_at};

pub use self::observer::{NONE, WireObserver};
use self::{
    announcing::BindCall,
    body::{BodyReader, ReceivedBody},
    concurrency::ConcurrencyLimits,
    log::{log_error, request_id},
    reply_body::{PostReplyExecutor, ReplyBody},
};
use crate::{
    AllowedHosts, BindAccess, FORWARDED, Forward, RequestCache, WireConfig,
    access::Client,
    answer::{Arrival, ExtenderReply, ExtenderVerb, Handling, answer_bind},
    decode,
    error::WireError,
    hosts,
    memory::MemoryReservation,
    server::{self, ConnectionBounds, RequestBody},
};

/// Bytes up to which a body is decided on the async thread. For longer ones a thread switch costs less than parsing.
const SHORT: usize = 256 << 10;

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
/// If the listener's address cannot be read; single connections fail on their own.
pub async fn serve_wire(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    observer: Arc<dyn WireObserver>,
    peers: Arc<dyn Forward>,
    config: WireConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    gateway.set_blocking(inline::blocking());
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

/// A request, as far as its head tells.
struct Call<'r> {
    received: Instant,
    id: RequestId,
    parts: &'r Parts,
    /// The group and verb of the path.
    target: Option<(&'r str, ExtenderVerb)>,
}

impl server::Service for Arc<Wire> {
    type Body = ReplyBody;

    async fn answer(self, request: Request<RequestBody>, client: Arc<Client>) -> Response<ReplyBody> {
        let (parts, body) = request.into_parts();
        let call = Call::of(&parts);
        let (answer, reserved) = match call.route() {
            Ok((group, verb)) => {
                let body = self.body_reader.read(body).await;
                match body.and_then(|body| self.admit(verb, &client, &parts).map(|()| body)) {
                    Ok(body) => self.decide_or_forward(&call, group, verb, body, self.arrival(&call, &client)).await,
                    Err(error) => (verb.error(error), None),
                }
            }
            Err(error) => {
                self.body_reader.skip(body).await;
                (ExtenderReply::plain_error(error), None)
            }
        };
        self.respond(&call, answer, reserved)
    }

    fn refuse(self, request: Request<Incoming>) -> Response<ReplyBody> {
        let (parts, _) = request.into_parts();
        let call = Call::of(&parts);
        let error = WireError::too_many(self.max_requests);
        let answer = match call.target {
            Some((_, verb)) => verb.error(error),
            None => ExtenderReply::plain_error(error),
        };
        self.respond(&call, answer, None)
    }
}

// === impl Call ===

impl<'r> Call<'r> {
    fn of(parts: &'r Parts) -> Self {
        let target = ExtenderVerb::from_path(parts.uri.path());
        Self { received: Instant::now(), id: request_id(parts), parts, target }
    }

    /// The group and verb of a POST.
    fn route(&self) -> Result<(&'r str, ExtenderVerb), WireError> {
        match self.target {
            Some((_, verb)) if self.parts.method != Method::POST => Err(WireError::method(verb.segment())),
            Some(target) => Ok(target),
            None => Err(WireError::unknown_path()),
        }
    }
}

// === impl Wire ===

impl Wire {
    async fn decide_or_forward(
        &self,
        call: &Call<'_>,
        group: &str,
        verb: ExtenderVerb,
        body: ReceivedBody,
        arrival: Arrival,
    ) -> (ExtenderReply, Option<MemoryReservation>) {
        // Before it waits for a permit: the next filter counts the pod already.
        let bind = (verb == ExtenderVerb::Bind).then(|| BindCall::announce(&self.gateway, &body.bytes, arrival));
        // No other verb is forwarded.
        let (query, bytes) = match &bind {
            Some(BindCall { query: Ok(query), .. }) => (Some(Arc::clone(query)), body.bytes.clone()),
            _ => (None, Bytes::new()),
        };
        let (handling, reserved, announcement) = self.decide(call, group, verb, body, arrival, bind).await;
        let reply = match handling {
            Handling::Reply(reply) => reply,
            Handling::Forward(peer) => {
                let shown = announcing::keep_until_shown(announcement);
                let reply = self.forward(call, group, &peer, &bytes).await;
                if reply.as_ref().is_ok_and(|reply| reply.error.is_some()) {
                    shown.end();
                }
                reply.unwrap_or_else(|why| {
                    let error = WireError::not_forwarded(&peer, why);
                    verb.error(error.about(query.as_deref().map(PodId::of_bind)))
                })
            }
        };
        (reply, reserved)
    }

    fn arrival(&self, call: &Call<'_>, client: &Client) -> Arrival {
        Arrival { received: call.received, sender: client.sender, may_bind: self.access.check(client).is_ok() }
    }

    /// Whether a client may use this verb. It is checked before a bind is forwarded: the replica that binds trusts us.
    fn admit(&self, verb: ExtenderVerb, client: &Client, parts: &Parts) -> Result<(), WireError> {
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

    /// Forwards a bind to the replica that leads.
    async fn forward(&self, call: &Call<'_>, group: &str, peer: &str, body: &Bytes) -> Result<ExtenderReply, String> {
        if call.parts.headers.contains_key(FORWARDED) {
            return Err("another replica forwarded it to this one, which does not bind".to_owned());
        }
        let path = if group.is_empty() { "/bind".to_owned() } else { format!("/{group}/bind") };
        let sent = self.peers.forward(peer, &path, body.clone(), &call.id);
        let reply = timeout_at(self.gateway.deadline(call.received).into(), sent).await;
        let reply = reply.unwrap_or_else(|_| Err("it has not answered in time".to_owned()))?;
        let error = decode::binding_result(&reply).map_err(|error| error.inside)?;
        Ok(ExtenderReply::of_peer(reply, error))
    }

    /// Decides outside of the connection's task: guests compute, and 100 MB of JSON take long to parse.
    async fn decide(
        &self,
        call: &Call<'_>,
        group: &str,
        verb: ExtenderVerb,
        body: ReceivedBody,
        arrival: Arrival,
        bind: Option<BindCall>,
    ) -> (Handling, Option<MemoryReservation>, Option<Announcement>) {
        let own = if self.knows(group) { group } else { "" };
        let (exists, deadline) = (|group: &str| self.knows(group), self.gateway.deadline(call.received));
        let permit = match self.concurrency.take(verb, own, exists, deadline).await {
            Ok(permit) => permit,
            Err(error) => return (Handling::Reply(verb.error(error)), None, None),
        };
        let (gateway, cache) = (Arc::clone(&self.gateway), Arc::clone(&self.cache));
        let (group, is_short) = (group.to_owned(), body.bytes.len() <= SHORT);
        let id = call.id.clone();
        let decide = move || {
            // The permit is held here: if the caller leaves, it is not released before the decision ends.
            let _permit = permit;
            let ReceivedBody { bytes, mut reserved } = body;
            let (query, announcement) = bind.map(|BindCall { query, announcement }| (query, announcement)).unzip();
            let reply = id.scope(|| match query {
                Some(query) => answer_bind(&gateway, &group, query),
                None => verb.answer((&gateway, &cache), &group, &bytes, arrival, &mut reserved),
            });
            // From here on only the reply is held.
            drop(bytes);
            reserved.shrink_to(if let Handling::Reply(answer) = &reply { answer.body.len() } else { 0 });
            // If the caller has left, the pod counts until here.
            (reply, Some(reserved), announcement.flatten())
        };
        let decision =
            if is_short && verb != ExtenderVerb::Bind { inline::spawn(decide) } else { spawn_blocking(decide) };
        let failed = |panic| verb.error(WireError::internal(format!("the decision failed: {panic}")));
        decision.await.unwrap_or_else(|panic| (Handling::Reply(failed(panic)), None, None))
    }

    /// Whether the group exists. Other names must not reach metrics and permits: a client could invent any number.
    fn knows(&self, group: &str) -> bool {
        group.is_empty() || self.gateway.roster().group(group).is_some()
    }

    fn report(&self, call: &Call<'_>, answer: &ExtenderReply) {
        let verb = call.target.map_or(NONE, |(_, verb)| verb.as_str());
        let group = call.target.filter(|(group, _)| self.knows(group)).map_or(NONE, |(group, _)| group);
        let failed = answer.error.is_some();
        if let Some(error) = answer.error.as_ref().filter(|_| !answer.is_routine) {
            log_error(group, verb, answer, error, &call.id, call.parts);
        }
        let elapsed = call.received.elapsed();
        let tell = || self.observer.answered(group, verb, answer.status, failed, answer.nodes, elapsed);
        if catch_unwind(AssertUnwindSafe(tell)).is_err() {
            tracing::error!("the observer panicked");
        }
    }

    /// Reports a reply and makes the response.
    fn respond(
        &self,
        call: &Call<'_>,
        answer: ExtenderReply,
        reserved: Option<MemoryReservation>,
    ) -> Response<ReplyBody> {
        self.report(call, &answer);
        let post_reply_work = PostReplyExecutor::hold(&self.post_reply, answer.after);
        let body = ReplyBody::new(answer.body, post_reply_work, reserved);
        let body = if call.parts.version == Version::HTTP_2 { body.in_frames() } else { body };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if answer.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if answer.close && call.parts.version < Version::HTTP_2 {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
