//! Why a request has no decision: a short text for the scheduler and a full one for our log.

use std::error::Error;

use axum::http::StatusCode;
use plimsoll_core::{DecideError, ObjectError, PodId};

use crate::access::Denial;

/// Maximum bytes of an error's text in a reply.
const MAX_OUTSIDE_BYTES: usize = 512;
/// Maximum bytes of an error's text in the log.
const MAX_INSIDE_BYTES: usize = 4096;

/// A request that ends without a decision.
///
/// Only the constructors pick a status. Verbs whose reply has an error field answer 200 all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{inside}")]
pub(crate) struct WireError {
    /// The status for verbs that have no error field.
    pub(crate) status: StatusCode,
    /// Short text for the scheduler's events.
    pub(crate) outside: String,
    /// The full text, for our log.
    pub(crate) inside: String,
    /// The pod that the request was about, as far as it could be read.
    pub(crate) pod: Option<Box<LoggedPod>>,
    /// Whether request bytes may be left on the connection, so that it cannot be used again.
    pub(crate) close: bool,
    /// Whether this is normal operation that the observer has reported already, so that it is not logged as an error.
    pub(crate) is_routine: bool,
}

/// A pod by its name and UID, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedPod {
    /// `namespace/name`.
    pub(crate) name: String,
    pub(crate) uid: String,
}

// === impl WireError ===

impl WireError {
    fn new(status: StatusCode, text: impl Into<String>) -> Self {
        let inside = bounded(text.into(), MAX_INSIDE_BYTES);
        Self {
            status,
            outside: bounded(inside.clone(), MAX_OUTSIDE_BYTES),
            inside,
            pod: None,
            close: false,
            is_routine: false,
        }
    }

    /// The same, about a pod.
    pub(crate) fn about(self, pod: Option<PodId<'_>>) -> Self {
        let logged = |pod: PodId<'_>| Box::new(LoggedPod { name: pod.to_string(), uid: pod.uid().to_owned() });
        Self { pod: pod.map(logged), ..self }
    }

    /// The request is malformed.
    pub(crate) fn malformed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// The URL is not one of the wire's.
    pub(crate) fn unknown_path() -> Self {
        let text = "plimsoll answers POST /filter, /prioritize (also -fine, -fine-by-name and -fine-spread), /preempt (also -pod-groups) and /bind, and the same below /GROUP";
        Self::new(StatusCode::NOT_FOUND, text)
    }

    /// The URL is right, the method is not.
    pub(crate) fn method(verb: &str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("{verb} accepts only POST"))
    }

    /// The client may not bind.
    pub(crate) fn denied(denial: &Denial) -> Self {
        Self::new(StatusCode::FORBIDDEN, denial.to_string())
    }

    /// The bind could not be forwarded to the replica that binds.
    pub(crate) fn not_forwarded(verb: &str, peer: &str, why: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, format!("the {verb} cannot be forwarded to the replica at {peer}: {why}"))
    }

    /// The body is larger than it may be.
    pub(crate) fn too_large(limit: usize) -> Self {
        let text =
            format!("the request is larger than {limit} bytes: raise --body-limit, or set nodeCacheCapable: true");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    }

    /// The body did not arrive in time.
    pub(crate) fn too_slow(seconds: f64) -> Self {
        let text = format!("the request did not arrive within {seconds} s");
        Self::new(StatusCode::REQUEST_TIMEOUT, text).closing()
    }

    /// The memory budget is used up by this and other requests.
    pub(crate) fn overloaded() -> Self {
        let text =
            "too many large requests are under way: try again, raise --wire-memory, or set nodeCacheCapable: true";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// The same, with bytes of the body left on the connection.
    pub(crate) fn closing(self) -> Self {
        Self { close: true, ..self }
    }

    /// A list or an object exceeds its limit; the whole body was read.
    pub(crate) fn beyond(text: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    }

    /// The deadline passed while the request waited for a permit.
    pub(crate) fn queue_timeout() -> Self {
        let text = "the request's time was over before its turn: too many are being decided at once";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// The connection failed while the body was read.
    pub(crate) fn broken(error: &dyn Error) -> Self {
        // hyper only says that it could not read the body; its source says why.
        let text = format!("the request broke off: {}", error.source().unwrap_or(error));
        Self::new(StatusCode::BAD_REQUEST, text).closing()
    }

    /// plimsoll itself failed.
    pub(crate) fn internal(inside: impl Into<String>) -> Self {
        let outside = "plimsoll failed on this request; its log says why".to_owned();
        Self { outside, ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, inside) }
    }
}

impl From<DecideError> for WireError {
    fn from(error: DecideError) -> Self {
        let text = error.to_string();
        match error {
            DecideError::UnknownGroup(_) | DecideError::UnknownNode(_) | DecideError::UnknownPolicy(_) => {
                Self::new(StatusCode::NOT_FOUND, text)
            }
            DecideError::Unbound(unbound) => {
                let is_routine = unbound.is_routine();
                Self { is_routine, ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, text) }
            }
            DecideError::NoCluster | DecideError::Elsewhere(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, text),
            DecideError::NoPlaces(_) => Self { is_routine: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, text) },
            DecideError::Object(_) => Self::malformed(text),
            DecideError::Policy { policy, verb, fault } => {
                // The fault's message is added where the pod is known, so that it stays the same for a pod.
                let outside = format!("policy {policy} failed to {verb}: {}", fault.kind);
                Self { outside, ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, text) }
            }
        }
    }
}

impl From<ObjectError> for WireError {
    fn from(error: ObjectError) -> Self {
        Self::malformed(error.to_string())
    }
}

fn bounded(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push('…');
    }
    text
}
