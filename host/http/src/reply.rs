//! The reply to one request, and the work to do after it was sent.

use axum::http::StatusCode;
use bytes::Bytes;
use plimsoll_core::PostReplyWork;

use crate::{
    encode,
    error::{LoggedPod, WireError},
    verb::ExtenderVerb,
};

/// A reply, and the work to do after it was sent.
#[derive(Debug)]
pub struct ExtenderReply {
    /// The HTTP status.
    pub status: u16,
    pub(crate) body: Bytes,
    /// Nodes or candidates that the request asked about, as far as it could be read.
    pub nodes: usize,
    /// Why there is no decision, for a log.
    pub error: Option<String>,
    /// The pod without a decision, for a log.
    pub(crate) pod: Option<Box<LoggedPod>>,
    /// Work for after the reply.
    pub after: PostReplyWork,
    /// Whether the connection cannot be used again.
    pub(crate) close: bool,
    /// Whether the reason for the missing decision is logged already.
    pub(crate) is_routine: bool,
}

// === impl ExtenderReply ===

impl ExtenderReply {
    /// The body, never empty.
    pub fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// The reply of another replica to a bind.
    pub(crate) fn of_peer(body: Bytes, error: Option<String>) -> Self {
        // That replica has logged its error, with the pod.
        Self { error, is_routine: true, ..Self::decided(body, 1, PostReplyWork::default()) }
    }

    /// The reply of a URL, method or verb that has no error field.
    pub(crate) fn plain_error(error: WireError) -> Self {
        Self::failed(error.status, encode::error(&error.outside), error)
    }

    fn failed(status: StatusCode, body: Vec<u8>, error: WireError) -> Self {
        Self {
            status: status.as_u16(),
            error: Some(error.inside),
            pod: error.pod,
            close: error.close,
            is_routine: error.is_routine,
            ..Self::decided(body, 0, PostReplyWork::default())
        }
    }

    pub(crate) fn decided(body: impl Into<Bytes>, nodes: usize, after: PostReplyWork) -> Self {
        Self { status: 200, body: body.into(), nodes, error: None, pod: None, after, close: false, is_routine: false }
    }
}

// === impl ExtenderVerb ===

impl ExtenderVerb {
    /// The reply to a request that has no decision, as this call's caller can read it.
    pub(crate) fn error(self, error: WireError) -> ExtenderReply {
        // kube-scheduler throws away the body of any other status: a reason must come with 200.
        match self {
            Self::Filter => ExtenderReply::failed(StatusCode::OK, encode::filter_error(&error.outside), error),
            Self::Bind => ExtenderReply::failed(StatusCode::OK, encode::error(&error.outside), error),
            Self::Prioritize(_) | Self::Preempt => ExtenderReply::plain_error(error),
        }
    }
}
