//! A bind that reached a replica whose turn it is not: the replica that binds gets it.

use std::{future::Future, pin::Pin, time::Instant};

use bytes::Bytes;

/// The header of a request that comes from another replica; it is not sent on once more.
pub const FORWARDED: &str = "plimsoll-forwarded";

/// The most bytes that a replica's reply may have: an `ExtenderBindingResult` holds one short text.
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

/// There is one replica alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPeers;

impl Forward for NoPeers {
    fn forward<'f>(&'f self, _: &'f str, _: &'f str, _: Bytes, _: Instant) -> Forwarding<'f> {
        Box::pin(async { Err("this replica has no way to others".to_owned()) })
    }
}
