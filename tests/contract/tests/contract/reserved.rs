//! A filter that counts waits for the bind calls of pods that were decided before, and counts those pods.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, Weak},
    time::Instant,
};

use bytes::Bytes;
use plimsoll_contract::{
    binder::Api,
    client::{Client, DEADLINE},
    rules::{Fake, Gate, member},
    server::{Server, gateway},
};
use plimsoll_core::{
    BindError, Binder, Binding, Cluster, Gateway, IsUnchanged, Leader, NotReserved, Placed, Pod, Read, RequestId,
    Reservation, Roster, Slot, Value, Verdict,
};
use plimsoll_http::{FORWARDED, Forward, ForwardError, Forwarding, WireConfig};
use serde_json::json;
use tokio::task::yield_now;

use crate::world::cluster;

const NODES: [&str; 2] = ["node-00000", "node-00001"];

/// At most one pod on each node.
fn one_per_node() -> Fake {
    Fake::default().importing("placed.count").filter(|ask, node| match ask.view.read(Read::PlacedCount(node)) {
        Ok(Value::Number(0)) => Verdict::Fits,
        _ => Verdict::Unschedulable("node has a pod".into()),
    })
}

/// An API server whose view shows the last pod that was reserved or forwarded; reads of pods wait at the gate.
struct View {
    api: Arc<Api>,
    gate: Arc<Gate>,
    gateway: OnceLock<Weak<Gateway>>,
}

impl View {
    fn show(&self, pod: Option<Pod>, is_forwarded: bool) {
        let (empty, pod) = (cluster(), pod.map(Arc::new));
        let mut slots = empty.slots().clone();
        if let Some(pod) = &pod {
            let at = empty.find(pod.node().unwrap()).unwrap() as usize;
            let placed = Some(Arc::new(Placed::new(vec![Arc::clone(pod)])));
            slots.replace(at, Slot { node: Arc::clone(&empty.slots()[at].node), placed });
        }
        let forwarded = pod.into_iter().filter(|_| is_forwarded).collect();
        let shown = Cluster::new(slots).with_forwarded(forwarded);
        self.gateway.get().and_then(Weak::upgrade).unwrap().set_cluster(Arc::new(shown));
    }
}

impl Binder for View {
    fn leader(&self) -> Leader {
        self.api.leader()
    }

    fn pod(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        self.gate.pass();
        self.api.pod(namespace, name, deadline)
    }

    fn forwarded(&self, pod: Pod) {
        self.show(Some(pod), true);
    }

    fn not_forwarded(&self, _: &str) {
        self.show(None, false);
    }

    fn reserve(
        &self,
        pod: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        self.show(Some(pod.placed_on(&binding.node, &BTreeMap::new(), &BTreeMap::new())), false);
        self.api.reserve(pod, binding, is_unchanged)
    }
}

/// A gateway that binds pods `a` and `b`, at most one on each node.
fn binding_gateway(leader: Leader) -> (Arc<Gateway>, Arc<View>) {
    let gateway = gateway(Roster::of_root(vec![member("one", one_per_node())])).with_bind_call_wait(DEADLINE);
    gateway.set_cluster(cluster());
    let api = Api::of([("default", "a", "uid-a"), ("default", "b", "uid-b")]);
    api.set_leader(leader);
    let view = Arc::new(View { api, gate: Arc::default(), gateway: OnceLock::new() });
    gateway.set_binder(Arc::clone(&view) as _);
    let gateway = Arc::new(gateway);
    view.gateway.set(Arc::downgrade(&gateway)).unwrap();
    (gateway, view)
}

fn filter_request(name: &str) -> Bytes {
    let pod = json!({"metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")}});
    json!({"Pod": pod, "NodeNames": NODES}).to_string().into()
}

fn bind_request(name: &str) -> Bytes {
    let uid = format!("uid-{name}");
    json!({"PodName": name, "PodNamespace": "default", "PodUID": uid, "Node": NODES[0]}).to_string().into()
}

/// The nodes that are left for a pod.
async fn filter(client: &mut Client, name: &str) -> Vec<String> {
    let reply = client.post("/filter", filter_request(name)).await.unwrap().json().unwrap();
    assert_eq!(reply["Error"], "", "{reply}");
    serde_json::from_value(reply["NodeNames"].clone()).unwrap()
}

/// A filter for `b` waits for the bind call of `a`; meanwhile others are answered, and the bind is not over.
async fn the_next_filter_counts_the_pod_whose_bind_call_comes_after_it() {
    let (gateway, view) = binding_gateway(Leader::ThisReplica);
    let server = Server::start(gateway, WireConfig::default()).await.unwrap();
    let [mut first, mut second] = [server.client().await.unwrap(), server.client().await.unwrap()];
    assert_eq!(filter(&mut first, "a").await, NODES);
    let waiting = tokio::spawn(async move { filter(&mut first, "b").await });
    yield_now().await;
    // The thread that serves connections is not held up.
    assert_eq!(second.get("/nowhere").await.unwrap().status, 404);
    let binding = tokio::spawn(async move { second.post("/bind", bind_request("a")).await.unwrap().text() });
    assert_eq!(waiting.await.unwrap(), NODES[1..]);
    assert!(view.gate.reached(1).await);
    assert!(view.api.bindings().is_empty(), "the pod is not even read");
    view.gate.open();
    assert_eq!(binding.await.unwrap(), r#"{"Error":""}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_next_filter_counts_the_pod_on_one_thread_for_connections() {
    the_next_filter_counts_the_pod_whose_bind_call_comes_after_it().await;
}

#[tokio::test(flavor = "current_thread")]
async fn the_next_filter_counts_the_pod_on_a_single_thread() {
    the_next_filter_counts_the_pod_whose_bind_call_comes_after_it().await;
}

/// Another replica, with its reply.
struct OtherReplica(Mutex<Result<&'static str, ForwardError>>);

impl Default for OtherReplica {
    fn default() -> Self {
        Self(Mutex::new(Ok("")))
    }
}

impl Forward for OtherReplica {
    fn forward<'f>(&'f self, _: &'f str, _: &'f str, _: Bytes, _: &'f RequestId) -> Forwarding<'f> {
        Box::pin(async { self.0.lock().unwrap().clone().map(|reply| Bytes::from_static(reply.as_bytes())) })
    }
}

/// The server of a replica that does not lead, and a client of it.
async fn standby(leader: &Arc<OtherReplica>) -> (Server, Client) {
    let (gateway, _) = binding_gateway(Leader::Peer("http://leader.example".into()));
    let server = Server::start_with_peers(gateway, Arc::clone(leader) as _, WireConfig::default()).await.unwrap();
    let client = server.client().await.unwrap();
    (server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_the_leader_has_bound_counts_and_a_refused_one_does_not() {
    let leader = Arc::<OtherReplica>::default();
    let (_server, mut client) = standby(&leader).await;
    for (reply, left) in [(r#"{"Error":"refused"}"#, &NODES[..]), (r#"{"Error":""}"#, &NODES[1..])] {
        *leader.0.lock().unwrap() = Ok(reply);
        assert_eq!(filter(&mut client, "a").await, NODES);
        assert_eq!(client.post("/bind", bind_request("a")).await.unwrap().text(), reply);
        assert_eq!(filter(&mut client, "b").await, left, "{reply}");
        // Nobody is to wait for it.
        *leader.0.lock().unwrap() = Ok(r#"{"Error":"refused"}"#);
        client.post("/bind", bind_request("b")).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_bind_is_not_forwarded_a_second_time_counts_no_more() {
    let (server, mut client) = standby(&Arc::default()).await;
    assert_eq!(filter(&mut client, "a").await, NODES);
    let mut replica = server.client().await.unwrap().with_header(FORWARDED, "1");
    let refused = replica.post("/bind", bind_request("a")).await.unwrap().text();
    assert!(refused.contains("another replica forwarded it to this one"), "{refused}");
    assert_eq!(filter(&mut client, "b").await, NODES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_counts_after_a_lost_reply_but_not_if_its_bind_was_never_sent() {
    let leader = Arc::<OtherReplica>::default();
    let (_server, mut client) = standby(&leader).await;
    let why = || "down".to_owned();
    for (error, left) in [(ForwardError::NotSent(why()), &NODES[..]), (ForwardError::NoReply(why()), &NODES[1..])] {
        *leader.0.lock().unwrap() = Err(error.clone());
        assert_eq!(filter(&mut client, "a").await, NODES);
        let reply = client.post("/bind", bind_request("a")).await.unwrap().text();
        assert!(reply.contains("the bind cannot be forwarded"), "{reply}");
        assert_eq!(filter(&mut client, "b").await, left, "{error:?}");
        // Nobody is to wait for it.
        *leader.0.lock().unwrap() = Err(ForwardError::NotSent(why()));
        client.post("/bind", bind_request("b")).await.unwrap();
    }
}
