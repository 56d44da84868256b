//! An API server with one Lease and some pods; what becomes of a Binding is up to the test.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Instant,
};

use plimsoll_cluster::{ApiServer, AssumeCache, Ticket};
use plimsoll_core::{NotReserved, Pod, Slot};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// What the next Binding meets; after those, each is carried out and answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    /// It is carried out, and nobody hears of it.
    LostAnswer,
    /// It never arrives.
    Lost,
    /// It is refused with this status.
    Refused(u16),
}

#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) lease: Option<Value>,
    pub(crate) pods: BTreeMap<String, Value>,
    pub(crate) fates: VecDeque<Fate>,
    /// The query and body of every Binding that arrived.
    pub(crate) bindings: Vec<(String, Value)>,
    /// Whether the Lease can be written.
    pub(crate) lease_is_stuck: bool,
    version: u64,
}

pub(crate) struct LeaseApi {
    pub(crate) objects: Arc<Mutex<Objects>>,
    kubeconfig: PathBuf,
    _directory: TempDir,
}

/// What a binder did to the view; a list is complete when the test says so.
pub(crate) struct Notes {
    /// As they were reserved, and as they were read later.
    pub(crate) shown: Mutex<Vec<Arc<Pod>>>,
    /// The UIDs of those that were not bound.
    pub(crate) released: Mutex<Vec<String>>,
    pub(crate) lists: watch::Sender<u64>,
    pub(crate) allowed: watch::Sender<u64>,
}

// === impl LeaseApi ===

impl LeaseApi {
    /// With a Lease that nobody holds, and a pod `ml/p` in version 1.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        let config = json!({
            "clusters": [{"name": "fake", "cluster": {"server": format!("http://{}", listener.local_addr().unwrap())}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "nobody"}}],
            "users": [{"name": "nobody", "user": {}}],
            "current-context": "fake",
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let pod = json!({
            "metadata": {"name": "p", "namespace": "ml", "uid": "u1", "resourceVersion": "1", "labels": {"app": "p"}},
            "spec": {"containers": []},
        });
        let objects = Objects {
            lease: Some(json!({"metadata": {"name": "plimsoll", "resourceVersion": "0"}, "spec": {}})),
            pods: BTreeMap::from([("p".to_owned(), pod)]),
            ..Objects::default()
        };
        let objects = Arc::new(Mutex::new(objects));
        let shared = Arc::clone(&objects);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { objects, kubeconfig, _directory: directory }
    }

    pub(crate) fn connect(&self) -> ApiServer {
        ApiServer::connect(Some(&self.kubeconfig)).unwrap()
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Objects) -> T) -> T {
        change(&mut self.objects.lock().unwrap())
    }
}

// === impl Notes ===

impl Notes {
    pub(crate) fn new(lists: u64) -> Arc<Self> {
        let (shown, released) = (Mutex::default(), Mutex::default());
        Arc::new(Self { shown, released, lists: watch::Sender::new(0), allowed: watch::Sender::new(lists) })
    }

    pub(crate) fn last_shown(&self) -> Option<Arc<Pod>> {
        self.shown.lock().unwrap().last().cloned()
    }
}

impl AssumeCache for Notes {
    fn reserve(&self, pod: Arc<Pod>, _: Option<&Slot>) -> Result<Ticket, NotReserved> {
        let mut shown = self.shown.lock().unwrap();
        shown.push(Arc::clone(&pod));
        Ok(Ticket::new(pod.uid(), shown.len() as u64))
    }

    fn conclude(&self, _: &Ticket, pod: Option<Arc<Pod>>, _: Instant) {
        self.shown.lock().unwrap().extend(pod);
    }

    fn release(&self, ticket: &Ticket) {
        self.released.lock().unwrap().push(ticket.uid().to_owned());
    }

    fn observe(&self, _: &Pod, _: Instant) {}

    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut number = 0;
            self.lists.send_modify(|lists| {
                *lists += 1;
                number = *lists;
            });
            self.allowed.subscribe().wait_for(|allowed| *allowed >= number).await.unwrap();
        })
    }
}

async fn serve(stream: TcpStream, objects: Arc<Mutex<Objects>>) {
    let (read, mut write) = stream.into_split();
    let mut reader = BufReader::new(read);
    loop {
        let (mut head, mut line) = (Vec::new(), String::new());
        while reader.read_line(&mut line).await.is_ok_and(|read| read > 2) {
            head.push(std::mem::take(&mut line).trim().to_owned());
        }
        let Some((method, target)) = head.first().and_then(|first| {
            let mut words = first.split(' ');
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        }) else {
            return;
        };
        let length = |line: &String| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok();
        let mut body = vec![0; head.iter().find_map(length).unwrap_or(0)];
        if reader.read_exact(&mut body).await.is_err() {
            return;
        }
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let reply = objects.lock().unwrap().answer(&method, &target, body);
        let Some((status, body)) = reply else { return std::future::pending().await };
        let body = body.to_string();
        let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        if write.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

// === impl Objects ===

impl Objects {
    /// None: there is no answer.
    fn answer(&mut self, method: &str, target: &str, body: Value) -> Option<(u16, Value)> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        match (method, segments.as_slice()) {
            // It is open, and says nothing.
            ("GET", ["api", "v1", "nodes" | "pods"]) if query.contains("watch=true") => None,
            ("GET", ["api", "v1", "nodes"]) => {
                let nodes: Vec<Value> = ["n0", "n1"].map(|name| json!({"metadata": {"name": name}})).into();
                Some((200, json!({"metadata": {"resourceVersion": "1"}, "items": nodes})))
            }
            ("GET", ["api", "v1", "pods"]) => {
                let bound = self.pods.values().filter(|pod| pod["spec"]["nodeName"].is_string());
                Some((200, json!({"metadata": {"resourceVersion": "1"}, "items": bound.collect::<Vec<_>>()})))
            }
            ("GET", ["apis", "coordination.k8s.io", .., "plimsoll"]) => {
                Some(self.lease.clone().map_or_else(|| refusal(404, "no such lease"), |lease| (200, lease)))
            }
            ("PUT", ["apis", "coordination.k8s.io", .., "plimsoll"]) => Some(self.write_lease(body)),
            ("GET", ["api", "v1", "namespaces", "ml", "pods", name]) => {
                Some(self.pods.get(*name).cloned().map_or_else(|| refusal(404, "no such pod"), |pod| (200, pod)))
            }
            ("POST", ["api", "v1", "namespaces", "ml", "pods", name, "binding"]) => {
                self.bindings.push((query.to_owned(), body.clone()));
                match self.fates.pop_front() {
                    Some(Fate::Lost) => None,
                    Some(Fate::Refused(status)) => Some(refusal(status, "as the test wants")),
                    Some(Fate::LostAnswer) => {
                        assert_eq!(self.bind(name, &body).0, 201);
                        None
                    }
                    None => Some(self.bind(name, &body)),
                }
            }
            _ => Some(refusal(404, target)),
        }
    }

    fn write_lease(&mut self, mut lease: Value) -> (u16, Value) {
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        if self.lease_is_stuck {
            return refusal(500, "the store is down");
        }
        if self.lease.as_ref().map(version) != Some(version(&lease)) {
            return refusal(409, "the object has been modified");
        }
        self.version += 1;
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lease = Some(lease.clone());
        (200, lease)
    }

    /// As the real one does it: `pkg/registry/core/pod/storage/storage.go`.
    fn bind(&mut self, name: &str, binding: &Value) -> (u16, Value) {
        let Some(pod) = self.pods.get_mut(name) else { return refusal(404, "no such pod") };
        for key in ["uid", "resourceVersion"] {
            if binding["metadata"][key] != pod["metadata"][key] {
                return refusal(409, "precondition failed");
            }
        }
        if !pod["spec"]["nodeName"].is_null() {
            return refusal(409, &format!("pod {name} is already assigned"));
        }
        pod["spec"]["nodeName"] = binding["target"]["name"].clone();
        pod["metadata"]["annotations"] = binding["metadata"]["annotations"].clone();
        pod["metadata"]["resourceVersion"] = "9".into();
        (201, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    }
}

fn refusal(status: u16, message: &str) -> (u16, Value) {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": "X", "code": status});
    (status, body)
}
