//! The wire listener: reads a request, has it decided, and sends the reply.

mod post_reply;

use std::{
    collections::HashMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use axum::{Extension, Router, body::Body, extract::Request, response::Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    Method, StatusCode, Version,
    body::Body as _,
    header::{self, HeaderValue},
    http::request::Parts,
};
use parking_lot::Mutex;
use plimsoll_core::{BindQuery, Blocking, DecideError, Gateway, PodId, RequestId};
use tokio::{
    net::TcpListener,
    runtime::{Handle, RuntimeFlavor},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{block_in_place, spawn_blocking},
    time::{timeout, timeout_at},
};

use self::post_reply::PostReplyExecutor;
use crate::{
    access::{BindAccess, Client},
    answer::{Backend, ExtenderReply, ExtenderVerb, Handling, MemoryReservation, RequestOrigin},
    config::{NO_LABEL, WireConfig, WireObserver},
    error::WireError,
    peers::{FORWARDED, Forward, ForwardError, REQUEST_ID},
    request_cache::RequestCache,
    server::{self, Limits},
};

/// Bytes up to which a body is decided on the connections' threads: two thread switches would cost as much. Parsing a
/// longer one takes longer than that.
const SHORT: usize = 256 << 10;

/// Maximum bytes of a path in the log.
const MAX_LOGGED_PATH: usize = 100;

/// The state that all requests share.
struct Wire {
    gateway: Arc<Gateway>,
    cache: Arc<RequestCache>,
    observer: Arc<dyn WireObserver>,
    peers: Arc<dyn Forward>,
    access: BindAccess,
    body_reader: BodyReader,
    max_nodes: usize,
    post_reply: Arc<PostReplyExecutor>,
    /// Permits of all requests in flight.
    requests: Arc<Semaphore>,
    /// Permits of the decisions of each group, so that slow policies of one group do not block another.
    decisions: Mutex<HashMap<Box<str>, Arc<Semaphore>>>,
    max_decisions: usize,
    /// Permits of binds, which wait for the API server: decisions must not wait for them.
    binds: Arc<Semaphore>,
}

/// The head of a request.
struct WireRequest<'r> {
    received: Instant,
    /// The client's, or a number of ours.
    id: RequestId,
    parts: &'r Parts,
    /// The group and verb of the path.
    target: Option<(&'r str, ExtenderVerb)>,
    /// Whether the group exists. Other names must not reach metrics and permits: a client could invent any number.
    group_exists: bool,
}

/// Reads bodies within bounds.
struct BodyReader {
    limit: usize,
    timeout: Duration,
    /// The memory that is left for all requests.
    free: Arc<AtomicUsize>,
}

/// A whole body.
struct ReceivedBody {
    bytes: Bytes,
    /// Released when this is dropped.
    reserved: MemoryReservation,
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
    if has_several_threads() {
        // The tasks of a thread that calls a guest go to another thread first.
        gateway.set_blocking(Blocking::new(|work| block_in_place(work)));
    }
    let wire = Arc::new(Wire {
        gateway,
        cache: Arc::default(),
        peers,
        access: config.bind.clone(),
        body_reader: BodyReader::new(&config),
        max_nodes: config.max_nodes,
        post_reply: Arc::new(PostReplyExecutor::new(config.max_decisions, Arc::clone(&observer))),
        observer,
        requests: semaphore(config.max_requests),
        decisions: Mutex::default(),
        max_decisions: config.max_decisions,
        binds: semaphore(config.max_binds),
    });
    let answer = async move |Extension(client): Extension<Arc<Client>>, request: Request| {
        Arc::clone(&wire).answer(&client, request).await
    };
    let limits = Limits { connections: config.max_connections, drain: config.drain };
    server::serve(listener, Router::new().fallback(answer), limits, config.tls, shutdown).await
}

fn semaphore(permits: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS)))
}

fn has_several_threads() -> bool {
    Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread
}

// === impl Wire ===

impl Wire {
    async fn answer(self: Arc<Self>, client: &Client, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let request = WireRequest::of(&parts, &self.gateway);
        // A web page in a browser on this machine is no local program: it may ask, and may not bind.
        let is_local = client.is_local && !parts.headers.contains_key(header::ORIGIN);
        let client = &Client { is_local, ..client.clone() };
        let in_flight = self.permit(&self.requests, &request).await;
        let decided = match in_flight.as_ref().map_err(WireError::clone) {
            Ok(_) => self.decide(&request, client, body).await,
            Err(error) => Err(error.closing()),
        };
        let (reply, memory) = decided.unwrap_or_else(|error| (request.error(error), None));
        self.report(&request, &reply);
        let ExtenderReply { status, body, after, error, .. } = reply;
        let mut response = Response::new(self.post_reply.body(body, after, (memory, in_flight.ok())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if error.is_some_and(|error| error.close) && parts.version < Version::HTTP_2 {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Reads the body and has it decided.
    ///
    /// # Errors
    /// If the body cannot be read, the URL, method or group is none of ours, or the client may not use the verb.
    async fn decide(
        &self,
        request: &WireRequest<'_>,
        client: &Client,
        body: Body,
    ) -> Result<(ExtenderReply, Option<MemoryReservation>), WireError> {
        // The body is read in any case, so that the sender reads the reply and the connection can be used again.
        let body = self.body_reader.read(body).await?;
        let (group, verb) = request.route()?;
        let may_bind = self.access.check(client);
        // Checked before a bind is forwarded: the replica that binds trusts us.
        if verb == ExtenderVerb::Bind
            && let Err(denial) = &may_bind
        {
            let reason = denial.reason();
            self.observer.bind_denied(reason);
            tracing::warn!(peer = %client.address, subject = client.subject(), reason, "a bind was refused: {denial}");
            return Err(WireError::denied(denial));
        }
        if !request.group_exists {
            return Err(DecideError::UnknownGroup(group.to_owned()).into());
        }
        let origin = RequestOrigin { received: request.received, may_bind: may_bind.is_ok() };
        let ReceivedBody { bytes, mut reserved } = body;
        // A bind waits for the API server.
        let is_short = verb != ExtenderVerb::Bind && bytes.len() <= SHORT;
        let (name, body, max_nodes) = (group.to_owned(), bytes.clone(), self.max_nodes);
        let decide = move |gateway: &Gateway, cache: &RequestCache| {
            (verb.answer(Backend { gateway, cache, max_nodes }, &name, &body, origin, &mut reserved), reserved)
        };
        let (handling, reserved) = self.run(request, group, verb, is_short, decide).await?;
        let reply = match handling {
            Ok(Handling::Reply(reply)) => Ok(reply),
            Ok(Handling::Forward(peer, query, nodes)) => {
                let pod = query.as_ref().map(PodId::of_bind);
                let why = |why| WireError::not_forwarded(verb.as_str(), &peer, why).about(pod);
                let reply = self.forward(request, (group, verb), &peer, bytes, query.as_ref()).await;
                reply.map(|reply| ExtenderReply { nodes, ..reply }).map_err(why)
            }
            Err(error) => Err(error),
        };
        Ok((reply.unwrap_or_else(|error| request.error(error)), Some(reserved)))
    }

    /// Forwards a bind, or a filter, to the replica that leads. The pod of a bind counts until the watch shows it, that
    /// replica refuses it, or it turns out that nothing was sent.
    async fn forward(
        &self,
        request: &WireRequest<'_>,
        (group, verb): (&str, ExtenderVerb),
        peer: &str,
        body: Bytes,
        query: Option<&BindQuery<'_>>,
    ) -> Result<ExtenderReply, String> {
        let not_forwarded = || query.iter().for_each(|query| self.gateway.not_forwarded(query));
        if request.parts.headers.contains_key(FORWARDED) {
            not_forwarded();
            return Err("another replica forwarded it to this one, which does not lead".to_owned());
        }
        let path = ["", group, verb.segment()].join("/").replace("//", "/");
        let sent = self.peers.forward(peer, &path, body, &request.id);
        let reply = timeout_at(self.gateway.deadline(request.received).into(), sent).await;
        let late = || ForwardError::NoReply("it has not answered in time".to_owned());
        let reply = reply.unwrap_or_else(|_| Err(late())).map_err(|error| {
            if let ForwardError::NotSent(_) = error {
                not_forwarded();
            }
            error.to_string()
        })?;
        let reply = ExtenderReply::of_peer(reply).map_err(|error| error.inside)?;
        if reply.error.is_some() {
            not_forwarded();
        }
        Ok(reply)
    }

    /// Runs a decision with a permit. It is a task of its own: closing its connection does not cancel it.
    ///
    /// # Errors
    /// If there is no permit in time, or the decision panics.
    async fn run<T: Send + 'static>(
        &self,
        request: &WireRequest<'_>,
        group: &str,
        verb: ExtenderVerb,
        is_short: bool,
        decide: impl FnOnce(&Gateway, &RequestCache) -> T + Send + 'static,
    ) -> Result<T, WireError> {
        let permits = if verb == ExtenderVerb::Bind {
            Arc::clone(&self.binds)
        } else {
            let mut groups = self.decisions.lock();
            if !groups.contains_key(group) {
                // A group that is gone is kept until its last decision is through.
                groups.retain(|name, permits| Arc::strong_count(permits) > 1 || exists(&self.gateway, name));
            }
            let new = || semaphore(self.max_decisions);
            Arc::clone(groups.entry(group.into()).or_insert_with(new))
        };
        let permit = self.permit(&permits, request).await?;
        let (gateway, cache, id) = (Arc::clone(&self.gateway), Arc::clone(&self.cache), request.id.clone());
        let decide = move || {
            // The permit is held here: if the caller leaves, it is not released before the decision ends.
            let _permit = permit;
            id.scope(|| decide(&gateway, &cache))
        };
        let task =
            if is_short && has_several_threads() { tokio::spawn(async { decide() }) } else { spawn_blocking(decide) };
        task.await.map_err(|panic| WireError::internal(format!("the decision failed: {panic}")))
    }

    /// Waits for a permit until the request's deadline.
    async fn permit(
        &self,
        permits: &Arc<Semaphore>,
        request: &WireRequest<'_>,
    ) -> Result<OwnedSemaphorePermit, WireError> {
        if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
            return Ok(permit);
        }
        let deadline = self.gateway.deadline(request.received);
        let permit = timeout_at(deadline.into(), Arc::clone(permits).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or_else(WireError::queue_timeout)
    }

    fn report(&self, request: &WireRequest<'_>, reply: &ExtenderReply) {
        let verb = request.target.map_or(NO_LABEL, |(_, verb)| verb.as_str());
        let group = request.target.filter(|_| request.group_exists).map_or(NO_LABEL, |(group, _)| group);
        if let Some(error) = reply.error.as_ref().filter(|error| !error.is_routine) {
            request.log(group, verb, reply.status, error);
        }
        let (failed, elapsed) = (reply.error.is_some(), request.received.elapsed());
        let tell = || self.observer.answered(group, verb, reply.status.as_u16(), failed, reply.nodes, elapsed);
        if catch_unwind(AssertUnwindSafe(tell)).is_err() {
            tracing::error!("the observer panicked");
        }
    }
}

/// Whether a group exists.
fn exists(gateway: &Gateway, group: &str) -> bool {
    group.is_empty() || gateway.has_group(group)
}

// === impl WireRequest ===

impl<'r> WireRequest<'r> {
    fn of(parts: &'r Parts, gateway: &Gateway) -> Self {
        let target = ExtenderVerb::from_path(parts.uri.path());
        let group_exists = target.is_some_and(|(group, _)| exists(gateway, group));
        let given = parts.headers.get(REQUEST_ID).and_then(|id| RequestId::given(id.as_bytes()));
        let id = given.unwrap_or_else(RequestId::counted);
        Self { received: Instant::now(), id, parts, target, group_exists }
    }

    /// The group and verb of a POST.
    fn route(&self) -> Result<(&'r str, ExtenderVerb), WireError> {
        let (group, verb) = self.target.ok_or_else(WireError::unknown_path)?;
        if self.parts.method != Method::POST {
            return Err(WireError::method(verb.segment()));
        }
        Ok((group, verb))
    }

    /// The reply for an error, as the caller of the verb reads it.
    fn error(&self, error: WireError) -> ExtenderReply {
        let verb = self.target.filter(|_| self.parts.method == Method::POST).map(|(_, verb)| verb);
        ExtenderReply::failed(verb, error)
    }

    /// Logs a request that got no decision.
    fn log(&self, group: &str, verb: &str, status: StatusCode, error: &WireError) {
        let (id, status, pod) = (&self.id, status.as_u16(), error.pod.as_deref());
        if matches!(status, 404 | 405) && pod.is_none() {
            // Not a scheduler's request: it must not hide one that failed.
            let (method, path) = (&self.parts.method, self.parts.uri.path());
            let path = &path[..path.floor_char_boundary(MAX_LOGGED_PATH)];
            tracing::warn!(%method, path, status, request = %id, %error, "not a call of the extender protocol");
            return;
        }
        let (pod, uid) = (pod.map(|pod| pod.name.as_str()), pod.map(|pod| pod.uid.as_str()));
        tracing::warn!(group, verb, pod, uid, request = %id, status, %error, "no decision");
    }
}

// === impl BodyReader ===

impl BodyReader {
    fn new(config: &WireConfig) -> Self {
        let (limit, timeout) = (config.body_limit, config.body_timeout);
        Self { limit, timeout, free: Arc::new(AtomicUsize::new(config.memory)) }
    }

    /// The whole body.
    ///
    /// # Errors
    /// If it is too large, does not arrive in time, or there is no memory for it.
    async fn read(&self, mut body: Body) -> Result<ReceivedBody, WireError> {
        let mut reserved = MemoryReservation::of(&self.free);
        let (mut whole, mut length) = (Vec::new(), 0usize);
        let reading = async {
            while let Some(frame) = body.frame().await {
                // Other frames are trailers, which are ignored.
                let Ok(piece) = frame.map_err(|error| WireError::broken(&error))?.into_data() else { continue };
                length = length.saturating_add(piece.len());
                if length > self.limit {
                    // The rest is thrown away, up to twice the limit, so that the sender reads the reply.
                    whole = Vec::new();
                    if length / 2 > self.limit {
                        return Err(WireError::too_large(self.limit).closing());
                    }
                    continue;
                }
                reserved.grow(piece.len()).map_err(WireError::closing)?;
                // Most requests by name arrive in one piece, and are not copied.
                if whole.is_empty() && body.is_end_stream() {
                    return Ok(ReceivedBody { bytes: piece, reserved });
                }
                whole.extend_from_slice(&piece);
            }
            if length > self.limit {
                return Err(WireError::too_large(self.limit));
            }
            Ok(ReceivedBody { bytes: whole.into(), reserved })
        };
        let read = timeout(self.timeout, reading).await;
        read.unwrap_or_else(|_| Err(WireError::too_slow(self.timeout.as_secs_f64())))
    }
}
