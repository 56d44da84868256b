//! One POST of a Binding, and its outcome.

use std::{sync::Arc, time::Instant};

use http::{Request, header::CONTENT_TYPE};
use hyper_util::client::legacy::Error as HttpError;
use kube::{Client, Error};
use plimsoll_core::{BindError, Binding, Pod};
use serde_json::json;

use crate::{api::version_of, clock, term::Term};

/// Kubernetes 1.35 switched `PodTopologyLabelsAdmission` on: the API server copies the labels of a Binding to the pod.
/// Before it labels are dropped without a word, so a policy that counts by them would count wrong.
const LABELS_MINOR: u32 = 35;

/// A term that may write.
pub(super) struct Ready {
    pub(super) term: Arc<Term>,
    /// Its connections end with the term.
    pub(super) client: Client,
    /// When the list of this term had ended.
    pub(super) since: Instant,
}

/// The outcome of a write.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    /// The API server has confirmed it.
    Written,
    /// The API server answered 409: the pod is bound, or has changed.
    Refused(String),
    /// It was not written.
    NotWritten(BindError),
    /// It may have been written, or may still be written.
    Unknown(String),
}

/// Sends the Binding once, for the pod as it was read.
pub(super) async fn attempt(ready: &Ready, pod: &Arc<Pod>, binding: &Binding, deadline: Instant) -> WriteOutcome {
    let request = match request(ready, pod, binding) {
        Ok(request) => request,
        Err(error) => {
            return WriteOutcome::NotWritten(BindError::Api(format!("the binding makes no request: {error}")));
        }
    };
    let left = || deadline.saturating_duration_since(clock::now()).min(ready.term.timings().settle());
    if !binding.labels.is_empty() {
        match clock::timeout(left(), check_labels(ready)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return WriteOutcome::NotWritten(error),
            Err(_) => return WriteOutcome::NotWritten(BindError::Timeout("its version was not read".to_owned())),
        }
    }
    let left = left();
    if left.is_zero() {
        return WriteOutcome::NotWritten(BindError::Timeout("there was no time left to write the binding".to_owned()));
    }
    if !ready.term.may_write() {
        return WriteOutcome::NotWritten(BindError::NotLeader("this gateway leads no more".to_owned()));
    }
    match clock::timeout(left, ready.client.request_text(request)).await {
        Ok(Ok(_)) => WriteOutcome::Written,
        Ok(Err(error)) => failed(&error),
        Err(_) => WriteOutcome::Unknown(format!("no answer to the binding within {left:.0?}")),
    }
}

/// The outcome of a write that the client reports as failed.
fn failed(error: &Error) -> WriteOutcome {
    match error {
        Error::Api(status) => match status.code {
            409 => WriteOutcome::Refused(status.message.clone()),
            404 => WriteOutcome::NotWritten(BindError::NoPod),
            400..500 => WriteOutcome::NotWritten(BindError::Api(text(error))),
            // A server that reports a timeout may still have its store carry out the write.
            _ => WriteOutcome::Unknown(text(error)),
        },
        // There was no connection to write to.
        Error::Service(cause) if cause.downcast_ref().is_some_and(HttpError::is_connect) => {
            WriteOutcome::NotWritten(BindError::Api(text(error)))
        }
        _ => WriteOutcome::Unknown(text(error)),
    }
}

/// An error of the client with its causes.
pub(super) fn text(error: &Error) -> String {
    if let Error::Api(status) = error {
        return format!("{} ({})", status.message, status.code);
    }
    crate::api::error_text(error)
}

/// `POST pods/{name}/binding`. The pod must have the UID and the version that were read: a write that was
/// frozen on its way fails if anything happened to the pod since.
fn request(ready: &Ready, pod: &Pod, binding: &Binding) -> http::Result<Request<Vec<u8>>> {
    let version = pod.field("/metadata/resourceVersion").and_then(|text| serde_json::from_str::<String>(text).ok());
    let body = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": binding.name,
            "namespace": binding.namespace,
            "uid": binding.uid,
            "resourceVersion": version.unwrap_or_default(),
            "annotations": binding.annotations,
            "labels": binding.labels,
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node},
    });
    // The API server stops working at it then (`timeout`: k8s.io/apiserver, filters/request_deadline.go).
    let (path, timeout) = (pods_path(&binding.namespace), ready.term.timings().handling().as_millis());
    let request = Request::post(format!("{path}/{}/binding?timeout={timeout}ms", binding.name));
    request.header(CONTENT_TYPE, "application/json").body(body.to_string().into_bytes())
}

/// The path of the pods of a namespace. The border has checked its name and the pod's: see [`plimsoll_core::BindQuery`].
pub(super) fn pods_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// Asks the API server for its version: an old one drops labels.
async fn check_labels(ready: &Ready) -> Result<(), BindError> {
    let version = version_of(&ready.client).await;
    let (major, minor) =
        version.map_err(|error| BindError::Api(format!("its version is not known: {}", text(&error))))?;
    if (major, minor) >= (1, LABELS_MINOR) {
        return Ok(());
    }
    Err(BindError::Api(format!(
        "version {major}.{minor} drops the labels of a Binding, and a policy gives the pod labels: that needs 1.{LABELS_MINOR}"
    )))
}
