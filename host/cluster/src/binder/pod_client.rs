//! The access of binds to pods: reads at any time, writes while this gateway leads.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use kube::{Client, core::Request};
use plimsoll_core::{BindError, Pod};
use tokio::runtime::Handle;

use super::{
    assume_cache::AssumeCache,
    ready::Ready,
    write::{pods_path, text},
};
use crate::{
    clock,
    lease::{Leadership, LeadershipState},
};

/// Reads pods, and has the connections that may write in this term.
pub(super) struct PodClient {
    pub(super) runtime: Handle,
    pub(super) reader: Client,
    pub(super) assume_cache: Arc<dyn AssumeCache>,
    pub(super) leadership: Arc<Leadership>,
    pub(super) ready: Arc<ArcSwapOption<Ready>>,
    pub(super) request_timeout: Duration,
}

// === impl PodClient ===

impl PodClient {
    /// Returns the connections of this term, if it may write.
    pub(super) fn ready(&self) -> Result<Arc<Ready>, BindError> {
        let not = |why: &str| BindError::NotLeader(why.to_owned());
        let LeadershipState::Leads(term) = self.leadership.leadership_state() else {
            return Err(not("this gateway leads no more"));
        };
        if !term.may_write() {
            return Err(not("this gateway could not renew its Lease in time"));
        }
        let ready = self.ready.load_full().filter(|ready| ready.term.number() == term.number());
        ready.ok_or_else(|| not("this gateway has just begun to lead and lists the cluster"))
    }

    /// Returns the connections of this term, for a request whose time is over at the deadline.
    pub(super) fn ready_for(&self, deadline: Instant) -> Result<Arc<Ready>, BindError> {
        let ready = self.ready()?;
        if deadline.checked_sub(self.request_timeout).is_none_or(|received| received < ready.since) {
            let why = "this gateway began to lead after the request had come in";
            return Err(BindError::NotLeader(why.to_owned()));
        }
        Ok(ready)
    }

    /// Reads a pod; the result also settles earlier binds of it whose outcome is unknown.
    pub(super) async fn read(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        let began = clock::now();
        match clock::timeout_at(deadline, read_pod(&self.reader, namespace, name)).await {
            Ok(Ok(pod)) => {
                self.assume_cache.observe(&pod, began);
                Ok(pod)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(BindError::Timeout("the pod could not be read".to_owned())),
        }
    }
}

/// Reads a pod as it is now: a read without a resource version sees every write before it.
async fn read_pod(client: &Client, namespace: &str, name: &str) -> Result<Arc<Pod>, BindError> {
    let request = Request::new(pods_path(namespace)).get(name, &kube::api::GetParams::default());
    let request = request.map_err(|error| BindError::Api(error.to_string()))?;
    let text = match client.request_text(request).await {
        Ok(text) => text,
        Err(kube::Error::Api(status)) if status.code == 404 => return Err(BindError::NoPod),
        Err(error) => return Err(BindError::Api(text(&error))),
    };
    let pod = Pod::from_json(Bytes::from(text)).map_err(|error| BindError::Api(error.to_string()))?;
    Ok(Arc::new(pod))
}
