//! Requests in the log: their IDs, and a line for each that got no decision.

use hyper::http::request::Parts;
use plimsoll_core::RequestId;

use crate::{forward::REQUEST_ID, reply::ExtenderReply};

/// The ID of a request in the log: the client's, or a number of ours.
pub(super) fn request_id(parts: &Parts) -> RequestId {
    let given = parts.headers.get(REQUEST_ID).and_then(|id| RequestId::given(id.as_bytes()));
    given.unwrap_or_else(RequestId::counted)
}

/// The maximum bytes of a path in the log.
const MAX_PATH: usize = 100;

pub(super) fn log_error(group: &str, verb: &str, answer: &ExtenderReply, error: &str, id: &RequestId, parts: &Parts) {
    let status = answer.status;
    if matches!(status, 404 | 405) && answer.pod.is_none() {
        // Not a scheduler's request: it must not hide one that failed.
        let path = parts.uri.path();
        let path = &path[..path.floor_char_boundary(MAX_PATH)];
        tracing::warn!(method = %parts.method, path, status, request = %id, error, "not a call of the extender protocol");
        return;
    }
    let pod = answer.pod.as_deref();
    let (pod, uid) = (pod.map(|pod| pod.name.as_str()), pod.map(|pod| pod.uid.as_str()));
    tracing::warn!(group, verb, pod, uid, request = %id, status, error, "no decision");
}
