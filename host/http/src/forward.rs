//! Forwards a bind to the replica that leads.

use std::{future::Future, pin::Pin};

use bytes::Bytes;
use plimsoll_core::RequestId;

/// Marks a request that another replica has forwarded; it is not forwarded again.
pub const FORWARDED: &str = "plimsoll-forwarded";

/// The header by which a client, or a replica that forwards, names its request.
pub(crate) const REQUEST_ID: &str = "x-request-id";

/// Maximum bytes of a replica's reply: an `ExtenderBindingResult` holds one short text.
pub const MAX_FORWARDED_REPLY: usize = 64 << 10;

/// A request to another replica, and the body of its reply.
pub type Forwarding<'f> = Pin<Box<dyn Future<Output = Result<Bytes, ForwardError>> + Send + 'f>>;

/// Why another replica gave no reply to a bind.
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

/// No other replica can be reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPeers;

impl Forward for NoPeers {
    fn forward<'f>(&'f self, _: &'f str, _: &'f str, _: Bytes, _: &'f RequestId) -> Forwarding<'f> {
        Box::pin(async { Err(ForwardError::NotSent("this replica has no way to others".to_owned())) })
    }
}
