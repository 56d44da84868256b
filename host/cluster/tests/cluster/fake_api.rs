//! An API server that does what a test says: lists in pages, and watches that the test itself feeds.
#![expect(
    clippy::disallowed_methods,
    reason = "the simulation has no part in what a test outside of the crate waits for"
)]

use std::{
    collections::VecDeque,
    io::{self, Write},
    net::TcpStream,
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::Duration,
};

use plimsoll_cluster::{ApiServer, ClusterWatch, Credentials};
use plimsoll_core::Cluster;
use plimsoll_harness::{
    TempDir,
    http::{self, Request},
    tempdir, write_kubeconfig,
};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

/// Objects of a page, whatever the limit.
const PAGE: usize = 2;

/// A test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct FakeApi {
    pub(crate) world: Arc<Mutex<World>>,
    watches: mpsc::UnboundedReceiver<WatchCall>,
    /// Open, but of no interest to the test.
    others: Vec<WatchCall>,
    directory: TempDir,
}

/// The content of the lists.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) nodes: Vec<Value>,
    pub(crate) pods: Vec<Value>,
    pub(crate) version: u64,
    /// Answers of the next requests instead of lists and watches: path, status and body.
    pub(crate) refusals: VecDeque<(&'static str, u16, String)>,
    /// The path and query of every request.
    pub(crate) requests: Vec<String>,
}

/// A watch that is open as long as the test keeps it.
pub(crate) struct WatchCall {
    pub(crate) target: String,
    feed: mpsc::UnboundedSender<String>,
}

/// A cluster that is followed, and the part of it that is in force.
pub(crate) struct Followed {
    pub(crate) watch: ClusterWatch,
    published: watch::Receiver<Arc<Cluster>>,
}

// === impl FakeApi ===

impl FakeApi {
    pub(crate) fn start(nodes: Vec<Value>, pods: Vec<Value>) -> Self {
        let world = Arc::new(Mutex::new(World { nodes, pods, version: 100, ..World::default() }));
        let (opened, watches) = mpsc::unbounded_channel();
        let shared = Arc::clone(&world);
        let address = http::serve(move |request, stream| {
            let reply = shared.lock().unwrap().answer(request);
            match reply {
                Some((status, body)) => http::reply(stream, status, &body),
                None => feed(request, stream, &opened),
            }
        });
        let directory = tempdir().unwrap();
        write_kubeconfig(&directory.path().join("kubeconfig"), address.unwrap()).unwrap();
        Self { world, watches, others: Vec::new(), directory }
    }

    pub(crate) fn follow(&self, max_staleness: Duration) -> Followed {
        let api = ApiServer::connect(&Credentials::File(self.directory.path().join("kubeconfig")), None).unwrap();
        let (sender, published) = watch::channel(Arc::default());
        let watch = ClusterWatch::start(&api, max_staleness, move |cluster| drop(sender.send_replace(cluster)));
        Followed { watch, published }
    }

    /// The next watch that is opened on a resource; others are kept open, and said nothing to.
    pub(crate) async fn watch(&mut self, resource: &str) -> WatchCall {
        let next = async {
            loop {
                let call = self.watches.recv().await.unwrap();
                if call.target.contains(resource) {
                    return call;
                }
                self.others.push(call);
            }
        };
        timeout(PATIENCE, next).await.expect("a watch is opened")
    }

    pub(crate) fn refuse(&self, path: &'static str, status: u16, body: &Value) {
        self.world.lock().unwrap().refusals.push_back((path, status, body.to_string()));
    }

    /// The number of lists of a resource that were read, pages counted one by one.
    pub(crate) fn pages(&self, resource: &str) -> usize {
        let is_page = |target: &&String| target.contains(resource) && !target.contains("watch=true");
        self.world.lock().unwrap().requests.iter().filter(is_page).count()
    }
}

// === impl WatchCall ===

impl WatchCall {
    pub(crate) fn event(&self, kind: &str, object: &Value) {
        self.raw(&format!("{}\n", json!({"type": kind, "object": object})));
    }

    pub(crate) fn bookmark(&self, version: u64) {
        self.event("BOOKMARK", &json!({"kind": "Pod", "metadata": {"resourceVersion": version.to_string()}}));
    }

    pub(crate) fn raw(&self, text: &str) {
        self.feed.send(text.to_owned()).unwrap();
    }

    /// The version from which it goes on.
    pub(crate) fn from(&self) -> u64 {
        let at = self.target.split("resourceVersion=").nth(1).unwrap();
        at.split('&').next().unwrap().parse().unwrap()
    }
}

// === impl Followed ===

impl Followed {
    /// Waits for a cluster that fits.
    pub(crate) async fn until(&mut self, what: &str, fits: impl Fn(&Cluster) -> bool) -> Arc<Cluster> {
        let found = timeout(PATIENCE, self.published.wait_for(|cluster| fits(cluster))).await;
        let found = found.unwrap_or_else(|_| panic!("waited in vain for {what}: {:?}", self.watch.status()));
        Arc::clone(&found.unwrap())
    }

    /// The cluster that is in force now.
    pub(crate) fn now(&self) -> Arc<Cluster> {
        Arc::clone(&self.published.borrow())
    }

    /// Waits for something in the status.
    pub(crate) async fn until_status(&self, what: &str, fits: impl Fn(&plimsoll_cluster::WatchStatus) -> bool) {
        let poll = async {
            while !fits(&self.watch.status()) {
                tokio::task::yield_now().await;
            }
        };
        let found = timeout(PATIENCE, poll).await;
        assert!(found.is_ok(), "waited in vain for {what}: {:?}", self.watch.status());
    }
}

/// Sends the events that the test feeds, until it drops the watch.
fn feed(
    request: &Request,
    mut stream: &TcpStream,
    opened: &mpsc::UnboundedSender<WatchCall>,
) -> io::Result<ControlFlow<()>> {
    let (feed, mut parts) = mpsc::unbounded_channel::<String>();
    http::open_reply(stream)?;
    let _ = opened.send(WatchCall { target: request.target.clone(), feed });
    while let Some(part) = parts.blocking_recv() {
        stream.write_all(part.as_bytes())?;
    }
    Ok(ControlFlow::Break(()))
}

// === impl World ===

impl World {
    /// An answer at once; none: a watch.
    fn answer(&mut self, request: &Request) -> Option<(u16, String)> {
        if request.path() == "/api/v1/namespaces" && request.parameter("watch") != Some("true") {
            let metadata = json!({"resourceVersion": self.version.to_string()});
            return Some((200, json!({"kind": "List", "metadata": metadata, "items": []}).to_string()));
        }
        self.requests.push(request.target.clone());
        if let Some(at) = self.refusals.iter().position(|(path, ..)| request.target.contains(path)) {
            return self.refusals.remove(at).map(|(_, status, body)| (status, body));
        }
        if request.parameter("watch") == Some("true") {
            return None;
        }
        let items = if request.path() == "/api/v1/nodes" { &self.nodes } else { &self.pods };
        // The token is where the next page begins.
        let from = request.number("continue").unwrap_or(0);
        let next = if from + PAGE < items.len() { (from + PAGE).to_string() } else { String::new() };
        let page: Vec<&Value> = items.iter().skip(from).take(PAGE).collect();
        let metadata = json!({"resourceVersion": self.version.to_string(), "continue": next});
        Some((200, json!({"kind": "List", "metadata": metadata, "items": page}).to_string()))
    }
}
