//! The requests for lists and watches of one resource.

use std::time::Duration;

use bytes::Bytes;
use http::Request as HttpRequest;
use kube::{
    Client,
    api::{ListParams, WatchParams},
    client::Body,
    core::{Request, request},
};

use super::{failure::WatchFailure, lines::collect, resource::Resource};
use crate::{backoff::random, clock::timeout};

/// The time in which the API server must begin an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Seconds after which the API server ends a watch, plus up to a quarter at random.
const WATCH_SECONDS: f64 = 240.0;

/// Requests one resource.
pub(super) struct ResourceClient {
    client: Client,
    resource: Resource,
}

// === impl ResourceClient ===

impl ResourceClient {
    pub(super) fn new(client: Client, resource: Resource) -> Self {
        Self { client, resource }
    }

    /// A page of a list, with at most this many objects; `token` continues a list.
    pub(super) async fn page(&self, limit: u32, token: Option<String>) -> Result<Bytes, WatchFailure> {
        let field_selector = self.resource.selector();
        let params = ListParams { field_selector, limit: Some(limit), continue_token: token, ..ListParams::default() };
        let body = self.send(Request::new(self.resource.path()).list(&params)).await?;
        collect(body, ANSWER_TIMEOUT).await
    }

    /// The events after this version.
    pub(super) async fn watch(&self, version: &str) -> Result<Body, WatchFailure> {
        let seconds = WATCH_SECONDS.mul_add(0.25 * random(), WATCH_SECONDS) as u32;
        let field_selector = self.resource.selector();
        let params = WatchParams { field_selector, timeout: Some(seconds), ..WatchParams::default() };
        self.send(Request::new(self.resource.path()).watch(&params, version)).await
    }

    /// Sends a request; the body of an answer with status 200.
    async fn send(&self, request: Result<HttpRequest<Vec<u8>>, request::Error>) -> Result<Body, WatchFailure> {
        let request = request.map_err(|error| WatchFailure::Malformed(error.to_string()))?;
        let answer = timeout(ANSWER_TIMEOUT, self.client.send(request.map(Body::from))).await;
        let answer = answer.map_err(|_| WatchFailure::Silent(ANSWER_TIMEOUT))?;
        let answer = answer.map_err(|error| match error {
            kube::Error::Service(error) => WatchFailure::broken(error.as_ref()),
            error => WatchFailure::broken(&error),
        })?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer.into_body());
        }
        let text = collect(answer.into_body(), ANSWER_TIMEOUT).await?;
        Err(WatchFailure::refused(status.as_u16(), &text))
    }
}
