//! The head of one request.

use std::time::Instant;

use hyper::{Method, http::request::Parts};
use plimsoll_core::RequestId;

use super::log::request_id;
use crate::{error::WireError, extender_verb::ExtenderVerb};

/// The head of a request.
pub(super) struct WireRequest<'r> {
    pub(super) received: Instant,
    pub(super) id: RequestId,
    pub(super) parts: &'r Parts,
    /// The group and verb of the path.
    pub(super) target: Option<(&'r str, ExtenderVerb)>,
}

// === impl WireRequest ===

impl<'r> WireRequest<'r> {
    pub(super) fn of(parts: &'r Parts) -> Self {
        let target = ExtenderVerb::from_path(parts.uri.path());
        Self { received: Instant::now(), id: request_id(parts), parts, target }
    }

    /// The group and verb of a POST.
    pub(super) fn route(&self) -> Result<(&'r str, ExtenderVerb), WireError> {
        match self.target {
            Some((_, verb)) if self.parts.method != Method::POST => Err(WireError::method(verb.segment())),
            Some(target) => Ok(target),
            None => Err(WireError::unknown_path()),
        }
    }
}
