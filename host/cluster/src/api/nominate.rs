//! Writes `status.nominatedNodeName` of a pod.

use http::{Request, header::CONTENT_TYPE};
use kube::Error;
use plimsoll_core::{FIELD_MANAGER, Pod};
use serde_json::json;

use super::{ApiServer, error_text};

/// Why a pod was not nominated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NominateError {
    /// The pod is gone, has a node, or has another nomination than it had.
    #[error("the pod is gone, or has changed")]
    Changed,
    /// The account may not patch the status of pods.
    #[error("{0}")]
    Forbidden(String),
    /// Anything else: it may have been written all the same.
    #[error("{0}")]
    Other(String),
}

// === impl ApiServer ===

impl ApiServer {
    /// Nominates a pod for a node, or for none, if it has no node and the nomination that it `was` seen with. It sets no
    /// deadline.
    ///
    /// # Errors
    /// Says why it has not been written, or that nobody knows.
    pub async fn nominate(&self, pod: &Pod, was: Option<&str>, node: Option<&str>) -> Result<(), NominateError> {
        if ![pod.namespace(), pod.name()].into_iter().all(is_name) {
            return Err(NominateError::Other("the pod has no name that Kubernetes takes".to_owned()));
        }
        let request = request(pod, was, node).map_err(|error| NominateError::Other(error.to_string()))?;
        let Err(error) = self.client.request_text(request).await else { return Ok(()) };
        Err(match &error {
            Error::Api(status) if matches!(status.code, 404 | 409 | 422) => NominateError::Changed,
            Error::Api(status) if status.code == 403 => NominateError::Forbidden(error_text(&error)),
            _ => NominateError::Other(error_text(&error)),
        })
    }
}

/// Whether a text can be a segment of a URL's path: the pod may be as a client described it.
fn is_name(text: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_alphanumeric();
    text.as_bytes().first().is_some_and(is_alphanumeric)
        && text.bytes().all(|byte| is_alphanumeric(&byte) || b"-.".contains(&byte))
}

/// A JSON patch, whose tests the API server makes in one step with the write: `null` stands for an absent field too.
fn request(pod: &Pod, was: Option<&str>, node: Option<&str>) -> http::Result<Request<Vec<u8>>> {
    const PATH: &str = "/status/nominatedNodeName";
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": pod.uid()}),
        json!({"op": "test", "path": "/spec/nodeName", "value": null}),
        json!({"op": "test", "path": PATH, "value": was}),
    ];
    match node {
        // It replaces what is there.
        Some(node) => patch.push(json!({"op": "add", "path": PATH, "value": node})),
        None if was.is_some() => patch.push(json!({"op": "remove", "path": PATH})),
        None => {}
    }
    let (namespace, name) = (pod.namespace(), pod.name());
    let target = format!("/api/v1/namespaces/{namespace}/pods/{name}/status?fieldManager={FIELD_MANAGER}");
    let request = Request::patch(target).header(CONTENT_TYPE, "application/json-patch+json");
    request.body(json!(patch).to_string().into_bytes())
}
