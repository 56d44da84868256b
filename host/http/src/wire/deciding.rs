//! Decides about a body, on this replica.

use std::sync::Arc;

use plimsoll_core::Gateway;
use tokio::task::spawn_blocking;

use super::{Wire, body::ReceivedBody, inline, wire_request::WireRequest};
use crate::{
    RequestCache, answer::RequestOrigin, error::WireError, extender_verb::ExtenderVerb, memory::MemoryReservation,
    reply::ExtenderReply,
};

/// Bytes up to which a body is decided on the async thread. For longer ones a thread switch costs less than parsing.
const SHORT: usize = 256 << 10;

/// The threads that a decision runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    /// That of the connections.
    Async,
    /// Those for work that takes long.
    Blocking,
}

// === impl Wire ===

impl Wire {
    /// Answers a request of any verb but bind. Guests compute, and 100 MB of JSON take long to parse.
    pub(super) async fn decide(
        &self,
        request: &WireRequest<'_>,
        group: &str,
        verb: ExtenderVerb,
        body: ReceivedBody,
        origin: RequestOrigin,
    ) -> (ExtenderReply, Option<MemoryReservation>) {
        let threads = if body.bytes.len() <= SHORT { Threads::Async } else { Threads::Blocking };
        let name = group.to_owned();
        let decide = move |gateway: &Gateway, cache: &RequestCache| {
            let ReceivedBody { bytes, mut reserved } = body;
            let reply = verb.answer((gateway, cache), &name, &bytes, origin, &mut reserved);
            // From here on only the reply is held.
            drop(bytes);
            reserved.shrink_to(reply.body.len());
            (reply, Some(reserved))
        };
        let decided = self.run(request, group, verb, threads, decide).await;
        decided.unwrap_or_else(|error| (verb.error(error), None))
    }

    /// Runs a decision with a permit, outside of the connection's task.
    ///
    /// # Errors
    /// If there is no permit in time, or the decision panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        request: &WireRequest<'_>,
        group: &str,
        verb: ExtenderVerb,
        threads: Threads,
        decide: impl FnOnce(&Gateway, &RequestCache) -> T + Send + 'static,
    ) -> Result<T, WireError> {
        let deadline = self.gateway.deadline(request.received);
        let permit = self.concurrency.take(verb, group, |group| self.knows(group), deadline).await?;
        let (gateway, cache, id) = (Arc::clone(&self.gateway), Arc::clone(&self.cache), request.id.clone());
        let decide = move || {
            // The permit is held here: if the caller leaves, it is not released before the decision ends.
            let _permit = permit;
            id.scope(|| decide(&gateway, &cache))
        };
        let decision = match threads {
            Threads::Async => inline::spawn(decide),
            Threads::Blocking => spawn_blocking(decide),
        };
        decision.await.map_err(|panic| WireError::internal(format!("the decision failed: {panic}")))
    }
}
