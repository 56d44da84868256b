//! The API server: JSON over HTTP, and a watch of all pods.

use std::{
    collections::HashMap,
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures_util::{AsyncBufReadExt, StreamExt, TryStreamExt, stream};
use hyper::{Method, Request};
use kube::Client;
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};

/// The number of requests that are sent at once.
const AT_ONCE: usize = 32;

/// What the watch has shown of a pod; no two pods have the same name.
#[derive(Default)]
pub(crate) struct Pod {
    created: Option<Instant>,
    /// The time from its creation until the watch showed it on a node.
    pub(crate) waited: Option<Duration>,
    pub(crate) node: String,
    nominated: String,
    /// Times that it was nominated.
    pub(crate) nominations: u64,
    /// Why it waits, as kube-scheduler says.
    pub(crate) message: String,
    /// Times that this text changed.
    pub(crate) messages: usize,
    /// Whether somebody else than this program deleted it.
    pub(crate) is_evicted: bool,
    /// Whether its node was told as one that lost its pod.
    is_told: bool,
    is_ours_to_delete: bool,
}

pub(crate) type Pods = HashMap<String, Pod>;

/// A client, and the pods.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    pods: Arc<watch::Sender<Pods>>,
}

/// Work in the background, until it is dropped.
pub(crate) struct Task(tokio::task::JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

// === impl Task ===

impl Task {
    /// Starts work that nobody waits for; what it fails with is told.
    pub(crate) fn spawn(work: impl Future<Output = Result<()>> + Send + 'static) -> Self {
        let told = async { work.await.unwrap_or_else(|error| tell(&error)) };
        Self(tokio::spawn(told))
    }
}

// === impl Api ===

impl Api {
    /// Watches all pods, until the task is dropped.
    pub(crate) fn new(client: Client) -> (Self, Task) {
        let api = Self { client, pods: Arc::default() };
        let watching = api.clone();
        let task = Task::spawn(async move { watching.follow().await.context("the watch of pods ended") });
        (api, task)
    }

    /// Follows the pods, with another watch where the API server ends one: it does so if events come too fast.
    async fn follow(&self) -> Result<()> {
        let mut version = String::new();
        loop {
            let watch = format!("/api/v1/pods?watch=1&resourceVersion={version}");
            // The client's own watches are not compressed either.
            let watch = Request::get(watch).header("accept-encoding", "identity");
            let mut lines = self.client.request_stream(watch.body(vec![])?).await?.lines();
            while let Some(line) = lines.try_next().await? {
                let event: Value = serde_json::from_str(&line)?;
                let (kind, pod) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
                ensure!(kind != "ERROR", "{event}");
                pod["metadata"]["resourceVersion"].as_str().unwrap_or_default().clone_into(&mut version);
                // The program registers a pod before it creates it.
                self.pods.send_modify(|pods| pods.get_mut(name(pod)).into_iter().for_each(|seen| seen.see(kind, pod)));
            }
        }
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        let body = if body.is_null() { vec![] } else { serde_json::to_vec(body)? };
        self.client.request(request.body(body)?).await.with_context(|| path.to_owned())
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.call(Method::GET, path, &Value::Null).await
    }

    pub(crate) async fn patch(&self, path: &str, changes: &Value) -> Result<()> {
        self.call(Method::PATCH, path, changes).await.map(drop)
    }

    /// Creates objects at once; `path` is that of the collection.
    pub(crate) async fn create(&self, path: &str, objects: impl IntoIterator<Item = Value>) -> Result<()> {
        let create = |object: Value| async move { self.call(Method::POST, path, &object).await.map(drop) };
        stream::iter(objects).map(create).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Creates pods at once, as an object in its namespace each.
    pub(crate) async fn create_pods(&self, pods: impl IntoIterator<Item = Value>) -> Result<()> {
        let create = |pod: Value| async move {
            let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
            let created = Pod { created: Some(Instant::now()), ..Pod::default() };
            self.pods.send_modify(|pods| drop(pods.insert(name(&pod).to_owned(), created)));
            self.call(Method::POST, &pods_of(namespace), &pod).await.map(drop)
        };
        stream::iter(pods).map(create).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Deletes a pod, which may be gone already.
    pub(crate) async fn delete_pod(&self, namespace: &str, name: &str) {
        let mark = |pods: &mut Pods| pods.get_mut(name).into_iter().for_each(|pod| pod.is_ours_to_delete = true);
        self.pods.send_modify(mark);
        let _ = self.call(Method::DELETE, &format!("{}/{name}", pods_of(namespace)), &Value::Null).await;
    }

    /// Deletes all pods of a namespace.
    pub(crate) async fn delete_pods(&self, namespace: &str) -> Result<()> {
        self.pods.send_modify(|pods| pods.values_mut().for_each(|pod| pod.is_ours_to_delete = true));
        self.call(Method::DELETE, &pods_of(namespace), &Value::Null).await.map(drop)
    }

    /// Waits until the pods are so, and tells whether they are.
    pub(crate) async fn until(&self, limit: Duration, mut are_so: impl FnMut(&Pods) -> bool) -> bool {
        let mut pods = self.pods.subscribe();
        timeout(limit, pods.wait_for(|pods| are_so(pods))).await.is_ok_and(|waited| waited.is_ok())
    }

    /// Waits until a pod is bound, and tells how long it waited.
    pub(crate) async fn waited(&self, pod: &str, limit: Duration) -> Option<Duration> {
        self.until(limit, |pods| pods.get(pod).is_some_and(|pod| pod.waited.is_some())).await;
        self.read(|pods| pods.get(pod)?.waited)
    }

    /// The nodes that pods were evicted from; each is told once.
    pub(crate) fn take_emptied(&self) -> Vec<String> {
        let mut nodes = vec![];
        let take = |pods: &mut Pods| {
            for pod in pods.values_mut().filter(|pod| pod.is_evicted && !pod.is_told) {
                pod.is_told = true;
                nodes.push(pod.node.clone());
            }
        };
        self.pods.send_modify(take);
        nodes
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Pods) -> T) -> T {
        read(&self.pods.borrow())
    }

    /// Creates so many pods a second, `other-0` and so on, until the task is dropped.
    pub(crate) fn stream(&self, per_second: u32, pod: impl Fn(&str) -> Value + Send + 'static) -> Task {
        let api = self.clone();
        Task::spawn(async move {
            if per_second == 0 {
                return Ok(());
            }
            let mut ticks = interval(Duration::from_secs(1) / per_second);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            for number in 0.. {
                ticks.tick().await;
                let (api, pod) = (api.clone(), pod(&format!("other-{number}")));
                tokio::spawn(async move { api.create_pods([pod]).await.unwrap_or_else(|error| tell(&error)) });
            }
            Ok(())
        })
    }
}

// === impl Pod ===

impl Pod {
    fn see(&mut self, kind: &str, pod: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.node = text(&pod["spec"]["nodeName"]);
        if !self.node.is_empty() {
            self.waited = self.waited.or_else(|| Some(self.created?.elapsed()));
        }
        let nominated = text(&pod["status"]["nominatedNodeName"]);
        self.nominations += u64::from(!nominated.is_empty() && nominated != self.nominated);
        self.nominated = nominated;
        let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        let mut conditions = conditions.filter(|condition| condition["type"] == "PodScheduled");
        let message = conditions.next().map(|condition| text(&condition["message"])).unwrap_or_default();
        if !message.is_empty() && message != self.message {
            self.messages += 1;
            self.message = message;
        }
        self.is_evicted |= kind == "DELETED" && !self.is_ours_to_delete;
    }
}

fn tell(error: &anyhow::Error) {
    // There is nobody else to tell.
    let _ = writeln!(std::io::stderr(), "{error:#}");
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn pods_of(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}
