//! Reads pods and binds them at the API server, while this process leads.
//!
//! ```text
//!  Leadership ──> ready (fenced client, fresh list) ──> turn
//!  Gateway::bind ──> pod (read) ──> bind (write) ──> assumed until the watch shows it
//!                                     └── no answer: waits until nothing is under way, and reads
//! ```

mod ready;
mod write;

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use kube::{Client, core::Request};
use plimsoll_core::{BindError, Binder, Binding, Pod, Turn};
use tokio::{
    runtime::Handle,
    task::JoinHandle,
    time::{sleep_until, timeout_at},
};

use self::{
    ready::{Ready, keep_ready},
    write::{Attempt, attempt, substance},
};
use crate::{
    ApiServer, ClusterWatch,
    lease::{Leadership, Standing},
};

/// The gateway's view of the cluster, as far as a binder changes it.
pub trait Ledger: Send + Sync {
    /// Shows a pod on its node at once, and until the watch does, or until it is forgotten.
    fn assume(&self, pod: Arc<Pod>);

    /// Takes back what was assumed of the pod with this UID.
    fn forget(&self, uid: &str);

    /// Lists nodes and pods anew; done when the gateway's view is at least as new as the moment of the call.
    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// How long the read may take that tells what became of a write.
const LAST_READ: Duration = Duration::from_secs(1);

/// Binds for the gateway that leads. Must not be used on a runtime's own threads: it blocks.
pub struct ApiBinder {
    runtime: Handle,
    reader: Client,
    ledger: Arc<dyn Ledger>,
    leadership: Arc<Leadership>,
    ready: Arc<ArcSwapOption<Ready>>,
    readying: JoinHandle<()>,
    request_timeout: Duration,
}

// === impl ApiBinder ===

impl ApiBinder {
    /// Binds whenever `leadership` is ours and `ledger` has listed afresh since. `request_timeout` is the
    /// gateway's: a request that is older than the list is not bound. Must be called within a runtime.
    pub fn start(
        api: &ApiServer,
        ledger: Arc<dyn Ledger>,
        leadership: Arc<Leadership>,
        request_timeout: Duration,
    ) -> Self {
        let ready = Arc::default();
        let reader = api.client().clone();
        let readying = keep_ready(api.config().clone(), Arc::clone(&ledger), leadership.changes(), Arc::clone(&ready));
        let readying = tokio::spawn(readying);
        Self { runtime: Handle::current(), reader, ledger, leadership, ready, readying, request_timeout }
    }

    /// What this term needs for its writes, if it may write.
    fn ready(&self) -> Result<Arc<Ready>, BindError> {
        let not = |why: &str| BindError::NotLeader(why.to_owned());
        let Standing::Leads(term) = self.leadership.standing() else {
            return Err(not("this gateway leads no more"));
        };
        if !term.may_write() {
            return Err(not("this gateway could not renew its Lease in time"));
        }
        let ready = self.ready.load_full().filter(|ready| ready.term.number() == term.number());
        ready.ok_or_else(|| not("this gateway has just begun to lead and lists the cluster"))
    }

    async fn write(&self, pod: &Arc<Pod>, binding: &Binding, deadline: Instant) -> Result<(), BindError> {
        let ready = self.ready()?;
        if deadline.checked_sub(self.request_timeout).is_none_or(|received| received < ready.since) {
            let why = "this gateway began to lead after the request had come in";
            return Err(BindError::NotLeader(why.to_owned()));
        }
        let first = attempt(&ready, pod, binding, deadline).await;
        let Attempt::Refused(reason) = first else { return self.conclude(&ready, first, pod, binding).await };
        // Bound by somebody, or only changed, as when its status was written: see which.
        let now = self.read(&binding.namespace, &binding.name, deadline).await?;
        if is_bound(&now, binding) {
            self.ledger.assume(as_placed(&now, binding));
            return Ok(());
        }
        if now.uid() != &*binding.uid || now.node().is_some() || substance(&now) != substance(pod) {
            return Err(BindError::Conflict(reason));
        }
        let second = attempt(&ready, &now, binding, deadline).await;
        self.conclude(&ready, second, &now, binding).await
    }

    async fn conclude(&self, ready: &Ready, attempt: Attempt, pod: &Pod, binding: &Binding) -> Result<(), BindError> {
        match attempt {
            Attempt::Written => {
                self.ledger.assume(Arc::new(pod.placed_on(&binding.node, &binding.annotations)));
                Ok(())
            }
            Attempt::Refused(reason) => Err(BindError::Conflict(reason)),
            Attempt::NotWritten(error) => Err(error),
            Attempt::Unknown(why) => self.find_out(ready, pod, binding, why).await,
        }
    }

    /// What became of a write without an answer. Until that is known nobody else may be bound to the node, so
    /// this may take longer than the request's time: until nothing can be under way any more.
    async fn find_out(&self, ready: &Ready, pod: &Pod, binding: &Binding, why: String) -> Result<(), BindError> {
        let settled = ready.term.doubt(Instant::now());
        let perhaps = Arc::new(pod.placed_on(&binding.node, &binding.annotations));
        self.ledger.assume(Arc::clone(&perhaps));
        // The answer alone may have been lost.
        let mut now = self.read(&binding.namespace, &binding.name, settled).await;
        if !now.as_ref().is_ok_and(|now| is_bound(now, binding)) {
            sleep_until(settled.into()).await;
            now = self.read(&binding.namespace, &binding.name, settled + LAST_READ).await;
        }
        match now {
            Ok(now) if is_bound(&now, binding) => {
                self.ledger.assume(as_placed(&now, binding));
                Ok(())
            }
            Ok(_) | Err(BindError::NoPod) => {
                self.ledger.forget(&binding.uid);
                Err(BindError::Api(format!("the pod was not bound: {why}")))
            }
            Err(_) => {
                // The next list tells.
                self.ledger.assume(perhaps);
                let (pod, node) = (format!("{}/{}", binding.namespace, binding.name), &*binding.node);
                tracing::warn!(pod, node, why, "nobody knows yet whether the pod was bound");
                Err(BindError::Timeout(why))
            }
        }
    }

    async fn read(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        match timeout_at(deadline.into(), read_pod(&self.reader, namespace, name)).await {
            Ok(result) => result,
            Err(_) => Err(BindError::Timeout("the pod could not be read".to_owned())),
        }
    }
}

impl Binder for ApiBinder {
    fn turn(&self) -> Turn {
        match self.leadership.standing() {
            Standing::Leads(_) => match self.ready() {
                Ok(_) => Turn::Mine,
                Err(error) => Turn::Nobody(error.to_string()),
            },
            Standing::Follows { url: Some(url), .. } => Turn::Peer(url),
            Standing::Follows { holder, url: None } => {
                Turn::Nobody(format!("{holder} holds the Lease and does not say where it can be reached"))
            }
            Standing::Vacant(why) => Turn::Nobody(why.as_ref().to_owned()),
        }
    }

    fn pod(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        self.runtime.block_on(self.read(namespace, name, deadline))
    }

    fn bind(&self, pod: &Arc<Pod>, binding: &Binding, deadline: Instant) -> Result<(), BindError> {
        self.runtime.block_on(self.write(pod, binding, deadline))
    }
}

impl Ledger for ClusterWatch {
    fn assume(&self, pod: Arc<Pod>) {
        Self::assume(self, pod);
    }

    fn forget(&self, uid: &str) {
        Self::forget(self, uid);
    }

    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Self::relist(self))
    }
}

impl Drop for ApiBinder {
    fn drop(&mut self) {
        self.readying.abort();
    }
}

/// Reads a pod as it is now: a read without a resource version sees every write before it.
async fn read_pod(client: &Client, namespace: &str, name: &str) -> Result<Arc<Pod>, BindError> {
    let request = Request::new(pods(namespace, name)?).get(name, &kube::api::GetParams::default());
    let request = request.map_err(|error| BindError::Api(error.to_string()))?;
    let text = match client.request_text(request).await {
        Ok(text) => text,
        Err(kube::Error::Api(status)) if status.code == 404 => return Err(BindError::NoPod),
        Err(error) => return Err(BindError::Api(write::text(&error))),
    };
    let pod = Pod::from_json(Bytes::from(text)).map_err(|error| BindError::Api(error.to_string()))?;
    Ok(Arc::new(pod))
}

/// The path of the pods of a namespace; what comes over the wire must not lead elsewhere.
fn pods(namespace: &str, name: &str) -> Result<String, BindError> {
    let is_plain = |text: &str| {
        let may = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        (1..=253).contains(&text.len()) && text.chars().all(may) && !text.starts_with('.')
    };
    if is_plain(namespace) && is_plain(name) {
        Ok(format!("/api/v1/namespaces/{namespace}/pods"))
    } else {
        Err(BindError::NoPod)
    }
}

fn is_bound(now: &Pod, binding: &Binding) -> bool {
    now.uid() == &*binding.uid && now.node() == Some(&*binding.node)
}

/// As the watch will show it, with the annotations that it really has.
fn as_placed(now: &Pod, binding: &Binding) -> Arc<Pod> {
    Arc::new(now.placed_on(&binding.node, &BTreeMap::new()))
}
