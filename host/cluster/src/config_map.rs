//! One ConfigMap, read once.

use std::{borrow::Cow, collections::BTreeMap};

use http_body_util::{BodyExt, Limited};
use kube::{
    api::GetParams,
    client::Body,
    core::{Request, Status},
};
use serde::Deserialize;

use crate::{ApiServer, api::error_text};

/// Maximum bytes of an answer: etcd stores no object of more than 1.5 MB, and its text may be a few times that.
const MAX_ANSWER: usize = 8 << 20;

#[derive(Deserialize)]
struct ConfigMap {
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
}

// === impl ApiServer ===

impl ApiServer {
    /// Reads the entries of a ConfigMap; binary ones are left out. It sets no deadline.
    ///
    /// # Errors
    /// Says why there are none, in the words of the API server if it refuses.
    pub async fn config_map(&self, namespace: &str, name: &str) -> Result<BTreeMap<String, String>, String> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let request = Request::new(path).get(name, &GetParams::default()).map_err(|error| error.to_string())?;
        let answer = self.client().send(request.map(Body::from)).await.map_err(|error| error_text(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body
            .map_err(|error| format!("the answer of the API server broke off or is too large: {error}"))?
            .to_bytes();
        if !status.is_success() {
            let message = serde_json::from_slice(&body)
                .map_or(Cow::Borrowed("it does not say why"), |status: Status| {
                    Cow::Owned(plimsoll_core::excerpt(&status.message, 300))
                });
            return Err(format!("the API server answered {}: {message}", status.as_u16()));
        }
        let read: Result<ConfigMap, _> = serde_json::from_slice(&body);
        read.map(|map| map.data.unwrap_or_default())
            .map_err(|error| format!("the API server's answer is not a ConfigMap: {error}"))
    }
}
