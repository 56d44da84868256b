//! The head of one request.

use std::time::Instant;

use hyper::{Method, http::request::Parts};
use plimsoll_core::{DecideError, RequestId};

use super::log::request_id;
use crate::{error::WireError, extender_verb::ExtenderVerb};

/// The head of a request.
pub(super) struct WireRequest<'r> {
    pub(super) received: Instant,
    pub(super) id: RequestId,
    pub(super) parts: &'r Parts,
    /// The group and verb of the path.
    pub(super) target: Option<(&'r str, ExtenderVerb)>,
    /// Whether the group exists. Other names must not reach metrics and permits: a client could invent any number.
    group_exists: bool,
}

// === impl WireRequest ===

impl<'r> WireRequest<'r> {
    /// The head of a request; `exists` tells which groups do.
    pub(super) fn of(parts: &'r Parts, exists: impl FnOnce(&str) -> bool) -> Self {
        let target = ExtenderVerb::from_path(parts.uri.path());
        let group_exists = target.is_some_and(|(group, _)| exists(group));
        Self { received: Instant::now(), id: request_id(parts), parts, target, group_exists }
    }

    /// The group, for metrics and the log; none if there is no such group.
    pub(super) fn known_group(&self) -> Option<&'r str> {
        self.target.filter(|_| self.group_exists).map(|(group, _)| group)
    }

    /// The group and verb of a POST. An unknown group is refused by [`Self::check_group`], in the way of its verb.
    pub(super) fn route(&self) -> Result<(&'r str, ExtenderVerb), WireError> {
        match self.target {
            Some((_, verb)) if self.parts.method != Method::POST => Err(WireError::method(verb.segment())),
            Some(target) => Ok(target),
            None => Err(WireError::unknown_path()),
        }
    }

    /// Refuses a group that does not exist.
    pub(super) fn check_group(&self, group: &str) -> Result<(), WireError> {
        if self.group_exists { Ok(()) } else { Err(DecideError::UnknownGroup(group.to_owned()).into()) }
    }
}
