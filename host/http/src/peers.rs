//! The HTTP client for calls to other replicas.

mod connector;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use axum::http::{Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::{
    client::{self, legacy::Client},
    rt::{TokioExecutor, TokioTimer},
};
use plimsoll_core::RequestId;
use plimsoll_system::error_chain;

use self::connector::Connector;
use crate::{
    Tls,
    forward::{FORWARDED, Forward, ForwardError, Forwarding, MAX_FORWARDED_REPLY, REQUEST_ID},
};

/// Idle timeout of pooled connections; shorter than the server's keep-alive.
const IDLE: Duration = Duration::from_mins(1);

/// The other replicas: over TLS if the extender wire speaks it, with the same certificates.
pub struct Peers {
    client: Client<Connector, Full<Bytes>>,
}

// === impl Peers ===

impl Peers {
    /// No connection is made yet.
    pub fn new(tls: Option<Arc<Tls>>) -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new());
        Self { client: builder.build(Connector::new(tls)) }
    }

    async fn post(&self, peer: &str, path: &str, body: Bytes, id: &RequestId) -> Result<Bytes, ForwardError> {
        let url = format!("{}{path}", peer.trim_end_matches('/'));
        let no_url = |error| ForwardError::NotSent(format!("{url} is no URL: {error}"));
        let uri: Uri = url.parse().map_err(no_url)?;
        let request = Request::post(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .header(FORWARDED, "1")
            .header(REQUEST_ID, id.to_string())
            .body(Full::new(body))
            .map_err(|error| ForwardError::NotSent(error.to_string()))?;
        let failed = |error: client::legacy::Error| {
            let why = error_chain(&error);
            if error.is_connect() { ForwardError::NotSent(why) } else { ForwardError::NoReply(why) }
        };
        let reply = self.client.request(request).await.map_err(failed)?;
        let status = reply.status();
        if status != StatusCode::OK {
            return Err(ForwardError::NoReply(format!("its reply has status {status}")));
        }
        let body = Limited::new(reply.into_body(), MAX_FORWARDED_REPLY).collect().await;
        let unreadable = |error| ForwardError::NoReply(format!("its reply cannot be read: {error}"));
        Ok(body.map_err(unreadable)?.to_bytes())
    }
}

impl Forward for Peers {
    fn forward<'f>(&'f self, peer: &'f str, path: &'f str, body: Bytes, id: &'f RequestId) -> Forwarding<'f> {
        Box::pin(self.post(peer, path, body, id))
    }
}
