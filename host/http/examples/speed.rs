//! What the wire costs, without a network and over loopback: `cargo run -p plimsoll-http --example speed`.
//!
//! Prints each work beside the time that `serde_json` takes to read the same body and to split it
//! into raw values.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "it prints, and makes its own input")]

use std::{
    collections::BTreeMap,
    hint::black_box,
    io::{Read as _, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use plimsoll_core::{
    Ask, Circuit, Cluster, Fault, Gateway, Member, NoObserver, Node, NodeRead, Policy, PolicyConfig, Preemption, Read,
    Roster, SystemClock, Value, Verb, Verbs, Verdict,
};
use plimsoll_http::{NONE, WireConfig, WireObserver, answer, serve_wire};
use serde::Deserialize;
use serde_json::value::RawValue;

const NODES: usize = 5000;
const ROUNDS: usize = 25;

/// Rejects nodes of one zone in three.
struct Zone;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Split<'a> {
    #[serde(borrow)]
    pod: &'a RawValue,
    #[serde(borrow)]
    nodes: Items<'a>,
}

#[derive(Deserialize)]
struct Items<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

fn main() {
    let objects = full_body();
    let split = report("split with serde_json", objects.len(), None, || split(&objects));
    for (name, members) in [("no policy", vec![]), ("one policy", vec![member()])] {
        for verb in ["/filter", "/prioritize"] {
            let cold = || gateway(members.clone());
            let what = format!("{verb} {name}, nodes never seen");
            report(&what, objects.len(), Some(split), || drop(black_box(ask(&cold(), verb, &objects))));
            let warm = cold();
            ask(&warm, verb, &objects).after.run();
            let what = format!("{verb} {name}, nodes seen before");
            report(&what, objects.len(), Some(split), || drop(black_box(ask(&warm, verb, &objects))));
        }
    }
    let names = names_body();
    let gateway = gateway(vec![member()]);
    gateway.set_cluster(cluster());
    for verb in ["/filter", "/prioritize"] {
        let what = format!("{verb} one policy, by name");
        report(&what, names.len(), None, || drop(black_box(ask(&gateway, verb, &names))));
    }
    over_loopback(gateway, &[("full nodes", &objects), ("by name", &names)]);
}

/// The same from a client's first byte to its last, on one connection.
fn over_loopback(gateway: Gateway, bodies: &[(&str, &Bytes)]) {
    let runtime = tokio::runtime::Runtime::new().expect("the runtime starts");
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let config = WireConfig::default();
    runtime.spawn(serve_wire(listener, Arc::new(gateway), Arc::new(Silent), config, std::future::pending()));
    for (what, body) in bodies {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        report(&format!("/filter {what}, over loopback"), body.len(), None, || exchange(&mut stream, address, body));
    }
    runtime.shutdown_background();
}

fn exchange(stream: &mut TcpStream, address: SocketAddr, body: &Bytes) {
    let head = format!("POST /filter HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).expect("the server reads");
    let (mut buffer, mut head) = (vec![0; 1 << 20], Vec::new());
    let mut left = None;
    while left != Some(0) {
        let read = stream.read(&mut buffer).expect("the server answers");
        assert!(read > 0, "the server closed the connection");
        if let Some(left) = &mut left {
            *left -= read;
            continue;
        }
        head.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&head);
        let (headers, sent) = text.split_once("\r\n\r\n").expect("the headers come in one piece");
        let length = headers.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        left = Some(length.and_then(|length| length.parse::<usize>().ok()).expect("a length") - sent.len());
    }
}

struct Silent;

impl WireObserver for Silent {
    fn answered(&self, group: &str, _: &'static str, status: u16, failed: bool, _: usize, _: Duration) {
        assert!(status == 200 && !failed && group != NONE);
    }
}

/// Prints and returns the shortest time: what else the machine does only makes it longer.
fn report(what: &str, bytes: usize, split: Option<Duration>, mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let started = Instant::now();
        work();
        started.elapsed()
    };
    let shortest = (0..ROUNDS).map(time).min().unwrap_or_default();
    let rate = bytes as f64 / shortest.as_secs_f64() / 1e9;
    let ratio = split.map_or(String::new(), |split| format!("{:6.2} x", shortest.as_secs_f64() / split.as_secs_f64()));
    println!("{what:42} {:9.3} ms {rate:7.2} GB/s {ratio}", shortest.as_secs_f64() * 1e3);
    shortest
}

fn split(body: &Bytes) {
    let split: Split<'_> = serde_json::from_slice(body).expect("the body is well-formed");
    black_box((split.pod.get().len(), split.nodes.items.len()));
}

fn ask(gateway: &Gateway, verb: &str, body: &Bytes) -> plimsoll_http::Answer {
    let answer = answer(gateway, verb, body, Instant::now());
    assert!(answer.error.is_none(), "{:?}", answer.error);
    answer
}

fn gateway(members: Vec<Arc<Member>>) -> Gateway {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_mins(1));
    gateway.set_roster(Arc::new(Roster::of_root(members)));
    gateway
}

fn member() -> Arc<Member> {
    let config = PolicyConfig { timeout: Duration::from_mins(1), ..PolicyConfig::default() };
    Arc::new(Member {
        name: "zone".into(),
        group: "".into(),
        config,
        settings: "null".into(),
        digest: "sha256:0".into(),
        size: 0,
        version: 1,
        policy: Arc::new(Zone),
        circuit: Circuit::new(Instant::now()),
    })
}

fn full_body() -> Bytes {
    let nodes: Vec<String> = (0..NODES).map(node).collect();
    format!(r#"{{"Pod":{POD},"Nodes":{{"metadata":{{}},"items":[{}]}},"NodeNames":null}}"#, nodes.join(",")).into()
}

fn names_body() -> Bytes {
    let names: Vec<String> = (0..NODES).map(|at| format!("\"ip-10-0-{at:05}.eu-west-1.compute.internal\"")).collect();
    format!(r#"{{"Pod":{POD},"Nodes":null,"NodeNames":[{}]}}"#, names.join(",")).into()
}

fn cluster() -> Arc<Cluster> {
    let node = |at| Node::from_json(node(at).into()).expect("the node is well-formed");
    Arc::new(Cluster::from_objects((0..NODES).map(node).collect(), vec![]))
}

const POD: &str = r#"{"metadata":{"name":"p","namespace":"default","uid":"u","labels":{"app":"p"}},"spec":{"containers":[{"name":"main","image":"nginx:1.29","resources":{"requests":{"cpu":"100m","memory":"1Gi"}}}]}}"#;

/// A node of about 8 kB with what real ones have: labels, managed fields, conditions and images.
fn node(at: usize) -> String {
    let name = format!("ip-10-0-{at:05}.eu-west-1.compute.internal");
    let labels: BTreeMap<String, String> = (0..20)
        .map(|label| (format!("node.example.com/label-{label}"), format!("value-{}", (at + label) % 50)))
        .chain([("topology.kubernetes.io/zone".to_owned(), format!("eu-west-1{}", ["a", "b", "c"][at % 3]))])
        .collect();
    let managed: Vec<String> = (0..40).map(|field| format!(r#""f:node.example.com/label-{field}":{{}}"#)).collect();
    let conditions = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map(|kind| {
        format!(r#"{{"type":"{kind}","status":"False","lastHeartbeatTime":"2026-11-21T09:19:38Z","lastTransitionTime":"2026-11-21T09:19:38Z","reason":"KubeletHas{kind}","message":"kubelet has {kind}"}}"#)
    });
    let images: Vec<String> = (0..25)
        .map(|image| {
            let digest = format!("{:016x}", ((at * 31 + image) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).repeat(4);
            format!(r#"{{"names":["registry.example.com/team/image-{image}@sha256:{digest}","registry.example.com/team/image-{image}:v1.{at}"],"sizeBytes":{}}}"#, 1_000_000 + image)
        })
        .collect();
    format!(
        r#"{{"metadata":{{"name":"{name}","uid":"{at:032x}","resourceVersion":"{at}","creationTimestamp":"2026-11-21T09:19:38Z","labels":{},"managedFields":[{{"manager":"kubelet","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{{}}}}}}}}}]}},"spec":{{"podCIDR":"10.0.0.0/24","providerID":"aws:///eu-west-1a/i-{at:017x}"}},"status":{{"capacity":{{"cpu":"32","memory":"263858068Ki","pods":"110","ephemeral-storage":"500Gi"}},"allocatable":{{"cpu":"31850m","memory":"261000000Ki","pods":"110","ephemeral-storage":"460Gi"}},"conditions":[{}],"addresses":[{{"type":"InternalIP","address":"10.0.0.1"}}],"images":[{}]}}}}"#,
        serde_json::to_string(&labels).expect("text is JSON"),
        managed.join(","),
        conditions.join(","),
        images.join(",")
    )
}

impl Policy for Zone {
    fn verbs(&self) -> Verbs {
        [Verb::Filter, Verb::Score].into_iter().collect()
    }

    fn validate(&self, _: &Ask) -> Result<Result<(), String>, Fault> {
        Ok(Ok(()))
    }

    fn filter(&self, ask: &Ask, nodes: &[u32]) -> Result<Vec<Verdict>, Fault> {
        let judge = |node: &u32| {
            if zone(ask, *node) { Verdict::Unschedulable("wrong zone".into()) } else { Verdict::Fits }
        };
        Ok(nodes.iter().map(judge).collect())
    }

    fn score(&self, ask: &Ask, nodes: &[u32]) -> Result<Vec<u32>, Fault> {
        Ok(nodes.iter().map(|node| if zone(ask, *node) { 0 } else { 100 }).collect())
    }

    fn rank(&self, _: &Ask) -> Result<Vec<u32>, Fault> {
        Ok(vec![])
    }

    fn preempt(&self, _: &Ask, _: &[u32]) -> Result<Vec<Preemption>, Fault> {
        Ok(vec![])
    }
}

fn zone(ask: &Ask, node: u32) -> bool {
    let value = ask.view.read(Read::Node(node, NodeRead::Label("topology.kubernetes.io/zone")));
    matches!(value, Ok(Value::Text(zone)) if zone == "eu-west-1b")
}
