//! The interface between a listener and the requests that it answers.

use std::{error::Error, future::Future, sync::Arc};

use bytes::Bytes;
use hyper::{
    Request, Response,
    body::{Body, Incoming},
};

use super::request_body::RequestBody;
use crate::access::Client;

/// Answers the requests of a listener; each connection has a clone.
pub(crate) trait Service: Clone + Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static;

    /// Answers a request. Its body counts as awaited until it is dropped.
    fn answer(
        self,
        request: Request<RequestBody>,
        client: Arc<Client>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// The reply if too many requests are in flight; the body is not read.
    fn refuse(self, request: Request<Incoming>) -> Response<Self::Body>;
}
