//! A filter that counts waits for the bind calls of pods that were decided before, and counts those pods.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use plimsoll_contract::{
    binder::Api,
    client::{Client, DEADLINE},
    rules::{Fake, Gate, member},
    server::{Server, gateway},
};
use plimsoll_core::{Gateway, Leader, Read, RequestId, Roster, Value, Verdict};
use plimsoll_http::{FORWARDED, Forward, ForwardError, Forwarding, WireConfig};
use serde_json::json;
use tokio::task::yield_now;

use crate::world::cluster;

const NODES: [&str; 2] = ["node-00000", "node-00001"];

/// At most one pod on each node; binds wait at the gate.
fn one_per_node(gate: &Arc<Gate>) -> Fake {
    let gate = Arc::clone(gate);
    let filter =
        Fake::default().importing("placed.count").filter(|ask, node| match ask.view.read(Read::PlacedCount(node)) {
            Ok(Value::Number(0)) => Verdict::Fits,
            _ => Verdict::Unschedulable("node has a pod".into()),
        });
    filter.bind(move |_, _| {
        gate.pass();
        Ok(vec![])
    })
}

/// A gateway that binds pods `a` and `b`.
fn binding_gateway(policy: Fake, api: &Arc<Api>) -> Gateway {
    let gateway = gateway(Roster::of_root(vec![member("one", policy)])).with_bind_call_wait(DEADLINE);
    gateway.set_cluster(cluster());
    gateway.set_binder(Arc::clone(api) as _);
    gateway
}

fn two_pods() -> Arc<Api> {
    Api::of([("default", "a", "uid-a"), ("default", "b", "uid-b")])
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
    let (gate, api) = (Arc::<Gate>::default(), two_pods());
    let server = Server::start(binding_gateway(one_per_node(&gate), &api), WireConfig::default()).await.unwrap();
    let [mut first, mut second, mut third] =
        [server.client().await.unwrap(), server.client().await.unwrap(), server.client().await.unwrap()];
    assert_eq!(filter(&mut first, "a").await, NODES);
    let waiting = tokio::spawn(async move { (filter(&mut first, "b").await, first) });
    yield_now().await;
    // The thread that serves connections is not held up.
    assert_eq!(second.get("/nowhere").await.unwrap().status, 404);
    let binding = tokio::spawn(async move { second.post("/bind", bind_request("a")).await.unwrap().text() });
    let (left, mut first) = waiting.await.unwrap();
    assert_eq!(left, NODES[1..]);
    assert!(gate.reached(1).await);
    assert!(api.bindings().is_empty(), "the bind is under way");
    gate.open();
    assert_eq!(binding.await.unwrap(), r#"{"Error":""}"#);
    // This API server has no watch that shows the pod.
    third.post("/bind", bind_request("b")).await.unwrap();
    assert_eq!(filter(&mut first, "c").await, NODES);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_the_leader_has_bound_counts_until_the_watch_shows_it_and_a_refused_one_does_not() {
    let (gate, api, leader) = (Arc::<Gate>::default(), two_pods(), Arc::<OtherReplica>::default());
    api.set_leader(Leader::Peer("http://leader.example".into()));
    let gateway = binding_gateway(one_per_node(&gate), &api);
    let server = Server::start_with_peers(gateway, Arc::clone(&leader) as _, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    for (reply, left) in [(r#"{"Error":"refused"}"#, &NODES[..]), (r#"{"Error":""}"#, &NODES[1..])] {
        *leader.0.lock().unwrap() = Ok(reply);
        assert_eq!(filter(&mut client, "a").await, NODES);
        assert_eq!(client.post("/bind", bind_request("a")).await.unwrap().text(), reply);
        assert_eq!(filter(&mut client, "b").await, left, "{reply}");
        // Nobody is to wait for it.
        client.post("/bind", bind_request("b")).await.unwrap();
    }
}

/// The gateway of a replica that does not lead, and a client of it.
async fn standby(leader: &Arc<OtherReplica>) -> (Server, Client) {
    let api = two_pods();
    api.set_leader(Leader::Peer("http://leader.example".into()));
    let gateway = binding_gateway(one_per_node(&Arc::default()), &api);
    let server = Server::start_with_peers(gateway, Arc::clone(leader) as _, WireConfig::default()).await.unwrap();
    let client = server.client().await.unwrap();
    (server, client)
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
        client.post("/bind", bind_request("b")).await.unwrap();
    }
}
