//! Forwards a bind to the replica that leads.

use std::{future::Future, pin::Pin, time::Instant};

use bytes::Bytes;

/// Marks a request that another replica has forwarded; it is not forwarded again.
pub const FORWARDED: &str = "plimsoll-forwarded";

/// Maximum bytes of a replica's reply: an `ExtenderBindingResult` holds one short text.
pub const MAX_FORWARDED_REPLY: usize = 64 << 10;

/// A request on its way to another replica, and the body of its reply.
pub type Forwarding<'f> = Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send + 'f>>;

/// Sends binds to the replica that binds.
pub trait Forward: Send + Sync {
    /// Sends `POST {peer}{path}` with this body and the header [`FORWARDED`]; it is dropped at the deadline.
    ///
    /// A reply is the body of a status 200, of at most [`MAX_FORWARDED_REPLY`] bytes. Anything else is an
    /// error, which says why.
    fn forward<'f>(&'f self, peer: &'f str, path: &'f str, body: Bytes, deadline: Instant) -> Forwarding<'f>;
}

/// No other replica can be reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPeers;

impl Forward for NoPeers {
    fn forward<'f>(&'f self, _: &'f str, _: &'f str, _: Bytes, _: Instant) -> Forwarding<'f> {
        Box::pin(async { Err("this replica has no way to others".to_owned()) })
    }
}
