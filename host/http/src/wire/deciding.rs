//! The way from a body to its reply: a decision of this replica, or the reply of the one that binds.

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_core::{Announcement, PodId};
use tokio::{task::spawn_blocking, time::timeout_at};

use super::{
    Wire,
    announcing::{self, BindCall},
    body::ReceivedBody,
    call::Call,
    inline,
};
use crate::{
    FORWARDED,
    answer::{Arrival, Handling, answer_bind},
    decode,
    error::WireError,
    extender_verb::ExtenderVerb,
    memory::MemoryReservation,
    reply::ExtenderReply,
};

/// Bytes up to which a body is decided on the async thread. For longer ones a thread switch costs less than parsing.
const SHORT: usize = 256 << 10;

// === impl Wire ===

impl Wire {
    /// Decides about a request that was admitted, or forwards a bind to the replica that leads.
    pub(super) async fn decide_or_forward(
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
}
