//! The wire listener: takes a request apart, has it decided off the async threads, hands the reply over.

mod body;
mod handover;

use std::{
    future::Future,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};
use plimsoll_core::Gateway;
use tokio::{net::TcpListener, sync::Semaphore};

use self::{
    body::{Intake, Taken},
    handover::{Handover, Leftovers},
};
use crate::{
    WireConfig,
    answer::{Answer, Call},
    error::WireError,
    server::{self, Bounds},
};

/// The group and verb that a [`WireObserver`] hears where the URL names none that exists.
pub const NONE: &str = "-";

/// Hears of every reply, on the request path: it must be quick.
pub trait WireObserver: Send + Sync {
    /// A request was answered. `failed`: there was no decision, whatever the status.
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, nodes: usize, elapsed: Duration);

    /// Work for after a reply was dropped, since too much of it is waiting.
    fn left_undone(&self) {}
}

/// What every request shares.
struct Wire {
    gateway: Arc<Gateway>,
    observer: Arc<dyn WireObserver>,
    intake: Intake,
    decisions: Arc<Semaphore>,
    leftovers: Arc<Leftovers>,
}

/// Serves the extender wire until `shutdown`, then finishes what is in flight.
///
/// # Errors
/// If the listener's address cannot be read; single connections fail on their own.
pub async fn serve_wire(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    observer: Arc<dyn WireObserver>,
    config: WireConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let wire = Wire {
        gateway,
        intake: Intake::new(&config),
        decisions: Arc::new(Semaphore::new(config.max_decisions.clamp(1, Semaphore::MAX_PERMITS))),
        leftovers: Arc::new(Leftovers::new(config.max_decisions, Arc::clone(&observer))),
        observer,
    };
    let router = Router::new().fallback(handle).with_state(Arc::new(wire));
    server::serve(listener, router, Bounds::of_wire(&config), config.tls, shutdown).await
}

async fn handle(State(wire): State<Arc<Wire>>, request: Request) -> Response {
    let received = Instant::now();
    let (parts, body) = request.into_parts();
    let path = Call::from_path(parts.uri.path());
    let answer = match path {
        Some((_, call)) if parts.method != Method::POST => Answer::plain_error(WireError::method(call.as_str())),
        Some((group, call)) => match wire.intake.read(body).await {
            Ok(taken) => wire.decide(call, group, taken, received).await,
            Err(error) => call.error(error),
        },
        None => Answer::plain_error(WireError::unknown_path()),
    };
    wire.report(path, &answer, received.elapsed());
    wire.respond(answer, &parts)
}

// === impl Wire ===

impl Wire {
    /// Decides on a blocking thread: guests compute, and 100 MB of JSON take their time.
    async fn decide(&self, call: Call, group: &str, taken: Taken, received: Instant) -> Answer {
        let Ok(permit) = Arc::clone(&self.decisions).acquire_owned().await else {
            return call.error(WireError::internal("no decisions are made any more"));
        };
        let (gateway, group) = (Arc::clone(&self.gateway), group.to_owned());
        let decision = tokio::task::spawn_blocking(move || {
            // Held here: a caller that leaves does not make room before its decision is through.
            let _permit = permit;
            call.answer(&gateway, &group, &taken.bytes, received)
        });
        decision.await.unwrap_or_else(|panic| call.error(WireError::internal(format!("the decision failed: {panic}"))))
    }

    fn report(&self, path: Option<(&str, Call)>, answer: &Answer, elapsed: Duration) {
        // A hostile URL must not make up names of groups.
        let known = |group: &str| group.is_empty() || self.gateway.roster().group(group).is_some();
        let (group, verb) =
            path.map_or((NONE, NONE), |(group, call)| (if known(group) { group } else { NONE }, call.as_str()));
        let failed = answer.error.is_some();
        if let Some(error) = &answer.error {
            tracing::warn!(group, verb, status = answer.status, error, "no decision");
        }
        let tell = || self.observer.answered(group, verb, answer.status, failed, answer.nodes, elapsed);
        if catch_unwind(AssertUnwindSafe(tell)).is_err() {
            tracing::error!("the observer panicked");
        }
    }

    fn respond(&self, answer: Answer, parts: &Parts) -> Response {
        let leftover = Leftovers::hold(&self.leftovers, answer.after);
        let mut response = Response::new(axum::body::Body::new(Handover::new(answer.pieces, leftover)));
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if answer.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if answer.close && parts.version < axum::http::Version::HTTP_2 {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
