//! Binds the pod of a body: by this replica, or by the one that leads.

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_core::{Announcement, Gateway, PodId};
use tokio::time::timeout_at;

use super::{
    Wire, WireRequest,
    announcing::{self, BindCall},
    body::ReceivedBody,
};
use crate::{
    answer::{Handling, RequestOrigin, answer_bind},
    decode,
    error::WireError,
    forward::{FORWARDED, ForwardError},
    memory::MemoryReservation,
    reply::ExtenderReply,
    request_cache::RequestCache,
    verb::ExtenderVerb,
};

// === impl Wire ===

impl Wire {
    /// Binds, or forwards the bind to the replica that leads.
    pub(super) async fn bind(
        &self,
        request: &WireRequest<'_>,
        group: &str,
        ReceivedBody { bytes, reserved }: ReceivedBody,
        origin: RequestOrigin,
    ) -> (ExtenderReply, Option<MemoryReservation>) {
        // Before it waits for a permit: the next filter counts the pod already.
        let BindCall { query, announcement } = BindCall::announce(&self.gateway, &bytes, origin);
        let (name, asked) = (group.to_owned(), query.as_ref().ok().map(Arc::clone));
        // The closure has the announcement: if the caller leaves, the pod counts until the decision ends.
        let bind = move |gateway: &Gateway, _: &RequestCache| (answer_bind(gateway, &name, query), announcement);
        let reply = match self.run(request, group, ExtenderVerb::Bind, false, bind).await {
            Ok((Handling::Reply(reply), _)) => reply,
            Ok((Handling::Forward(peer), announcement)) => {
                let reply = self.forward(request, group, &peer, &bytes, announcement).await;
                reply.unwrap_or_else(|why| {
                    let pod = asked.as_deref().map(PodId::of_bind);
                    ExtenderVerb::Bind.error(WireError::not_forwarded(&peer, why).about(pod))
                })
            }
            Err(error) => ExtenderVerb::Bind.error(error),
        };
        (reply, Some(reserved))
    }

    /// Forwards a bind to the replica that leads. The pod counts until the watch shows it, that replica refuses it, or
    /// it turns out that nothing was sent.
    async fn forward(
        &self,
        request: &WireRequest<'_>,
        group: &str,
        peer: &str,
        body: &Bytes,
        announcement: Option<Announcement>,
    ) -> Result<ExtenderReply, String> {
        if request.parts.headers.contains_key(FORWARDED) {
            return Err("another replica forwarded it to this one, which does not bind".to_owned());
        }
        let path = if group.is_empty() { "/bind".to_owned() } else { format!("/{group}/bind") };
        let kept = announcing::keep_until_shown(announcement);
        let sent = self.peers.forward(peer, &path, body.clone(), &request.id);
        let reply = timeout_at(self.gateway.deadline(request.received).into(), sent).await;
        let reply = match reply.unwrap_or_else(|_| Err(ForwardError::NoReply("it has not answered in time".to_owned())))
        {
            Ok(reply) => reply,
            Err(ForwardError::NotSent(why)) => {
                kept.end();
                return Err(why);
            }
            Err(ForwardError::NoReply(why)) => return Err(why),
        };
        let error = decode::binding_result(&reply).map_err(|error| error.inside)?;
        if error.is_some() {
            kept.end();
        }
        Ok(ExtenderReply::of_peer(reply, error))
    }
}
