//! Forwards a bind, or a filter, to the replica that leads.

#[cfg(test)]
mod tests;

use std::{io, pin::Pin, sync::Arc, time::Duration};

use axum::http::{Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use plimsoll_core::RequestId;
use plimsoll_system::error_chain;
use tokio::{net::TcpStream, time::timeout};

use crate::{Tls, tls::Duplex};

/// Marks a request that another replica has forwarded; it is not forwarded again.
pub const FORWARDED: &str = "plimsoll-forwarded";

/// The header by which a client, or a replica that forwards, names its request.
pub(crate) const REQUEST_ID: &str = "x-request-id";

/// Maximum bytes of a replica's reply: an `ExtenderFilterResult` has a reason for each node that is rejected.
pub const MAX_FORWARDED_REPLY: usize = 16 << 20;

/// A request to another replica, and the body of its reply.
pub type Forwarding<'f> = Pin<Box<dyn Future<Output = Result<Bytes, ForwardError>> + Send + 'f>>;

/// Why another replica gave no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// Nothing was sent: that replica does not bind the pod.
    #[error("{0}")]
    NotSent(String),
    /// It was sent, and that replica may have bound the pod.
    #[error("{0}")]
    NoReply(String),
}

/// Sends binds to the replica that binds.
pub trait Forward: Send + Sync {
    /// Sends `POST {peer}{path}` with this body, the header [`FORWARDED`] and the ID of the request. The caller drops
    /// the future at its deadline.
    ///
    /// A reply is the body of a status 200, of at most [`MAX_FORWARDED_REPLY`] bytes. Anything else is an error.
    fn forward<'f>(&'f self, peer: &'f str, path: &'f str, body: Bytes, id: &'f RequestId) -> Forwarding<'f>;
}

/// Timeout of connect and TLS handshake; replicas are in one cluster.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The other replicas: over TLS if the extender wire speaks it, with the same certificates.
pub struct Peers {
    tls: Option<Arc<Tls>>,
}

// === impl Peers ===

impl Peers {
    /// No connection is made yet. Each bind that is forwarded has its own.
    pub fn new(tls: Option<Arc<Tls>>) -> Self {
        Self { tls }
    }

    async fn post(&self, peer: &str, path: &str, body: Bytes, id: &RequestId) -> Result<Bytes, ForwardError> {
        let url = format!("{}{path}", peer.trim_end_matches('/'));
        let uri: Uri = url.parse().map_err(|error| ForwardError::NotSent(format!("{url} is no URL: {error}")))?;
        let request = Request::post(uri.path())
            .header(header::HOST, uri.authority().map_or("", |authority| authority.as_str()))
            .header(header::CONTENT_TYPE, "application/json")
            .header(FORWARDED, "1")
            .header(REQUEST_ID, id.to_string())
            .body(Full::new(body))
            .map_err(|error| ForwardError::NotSent(error.to_string()))?;
        let connected = timeout(CONNECT_TIMEOUT, self.connect(&uri)).await.unwrap_or_else(|late| Err(late.into()));
        let stream = connected.map_err(|error| ForwardError::NotSent(format!("{url}: {error}")))?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| ForwardError::NotSent(error_chain(&error)))?;
        // It ends with the sender; an error is the request's, too.
        tokio::spawn(connection);
        let reply = sender.send_request(request).await.map_err(|error| ForwardError::NoReply(error_chain(&error)))?;
        let status = reply.status();
        if status != StatusCode::OK {
            return Err(ForwardError::NoReply(format!("its reply has status {status}")));
        }
        let body = Limited::new(reply.into_body(), MAX_FORWARDED_REPLY).collect().await;
        let unreadable = |error| ForwardError::NoReply(format!("its reply cannot be read: {error}"));
        Ok(body.map_err(unreadable)?.to_bytes())
    }

    async fn connect(&self, uri: &Uri) -> io::Result<Box<dyn Duplex>> {
        let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
        let host = uri.host().ok_or_else(|| wrong("it has no host"))?.trim_matches(['[', ']']);
        let port = default_port(uri.scheme_str(), self.tls.is_some()).map_err(wrong)?;
        let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(port))).await?;
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            Some(tls) => Box::new(tls.connect(stream).await?),
            None => Box::new(stream),
        })
    }
}

impl Forward for Peers {
    fn forward<'f>(&'f self, peer: &'f str, path: &'f str, body: Bytes, id: &'f RequestId) -> Forwarding<'f> {
        Box::pin(self.post(peer, path, body, id))
    }
}

/// The default port of a URL's scheme. A replica with a certificate never speaks plain HTTP, whatever the Lease says:
/// the bind could reach an impostor.
fn default_port(scheme: Option<&str>, has_tls: bool) -> Result<u16, &'static str> {
    match (scheme, has_tls) {
        (Some("http"), false) => Ok(80),
        (Some("https"), true) => Ok(443),
        (Some("http"), true) => Err("this replica has TLS and sends no bind in the clear"),
        (Some("https"), false) => Err("this replica has no certificate for https"),
        _ => Err("it is neither http nor https"),
    }
}
