//! Binds the pod of a body: by this replica, or by the one that leads.

use std::sync::Arc;

use bytes::Bytes;
use plimsoll_core::{BindQuery, Gateway, PodId};
use tokio::time::timeout_at;

use super::{Wire, WireRequest, body::ReceivedBody};
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
        let query = decode::binding_args(&bytes, origin.received).map(|query| Arc::new(query.into_owned()));
        let (name, asked) = (group.to_owned(), query.as_ref().ok().map(Arc::clone));
        let bind = move |gateway: &Gateway, _: &RequestCache| answer_bind(gateway, &name, query);
        let reply = match self.run(request, group, ExtenderVerb::Bind, false, bind).await {
            Ok(Handling::Reply(reply)) => reply,
            Ok(Handling::Forward(peer)) => {
                let reply = self.forward(request, group, &peer, &bytes, asked.as_deref()).await;
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
        query: Option<&BindQuery<'_>>,
    ) -> Result<ExtenderReply, String> {
        let not_bound = || query.into_iter().for_each(|query| self.gateway.not_forwarded(query));
        if request.parts.headers.contains_key(FORWARDED) {
            not_bound();
            return Err("another replica forwarded it to this one, which does not bind".to_owned());
        }
        let path = if group.is_empty() { "/bind".to_owned() } else { format!("/{group}/bind") };
        let sent = self.peers.forward(peer, &path, body.clone(), &request.id);
        let reply = timeout_at(self.gateway.deadline(request.received).into(), sent).await;
        let reply = match reply.unwrap_or_else(|_| Err(ForwardError::NoReply("it has not answered in time".to_owned())))
        {
            Ok(reply) => reply,
            Err(ForwardError::NotSent(why)) => {
                not_bound();
                return Err(why);
            }
            Err(ForwardError::NoReply(why)) => return Err(why),
        };
        let error = decode::binding_result(&reply).map_err(|error| error.inside)?;
        if error.is_some() {
            not_bound();
        }
        Ok(ExtenderReply::of_peer(reply, error))
    }
}
