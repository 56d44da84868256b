//! Micro benchmarks of the parts of a request: `make bench-micro`.
#![allow(clippy::unwrap_used, reason = "a part that fails has no time")]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_core::{
    Ask, Cluster, Fault, Gateway, Member, NoObserver, Node, NodeRead, NodeSource, Pod, PodRead, Policy, PolicyConfig,
    Read, Roster, ScoreScale, SystemClock, Value, Verb, Verbs, View,
};
use plimsoll_http::{RequestCache, answer, prioritize_verb};

#[allow(dead_code, reason = "the bench proper uses the rest")]
#[path = "../src/world.rs"]
mod world;

const NODES: usize = 5_000;

criterion_group!(parts, wire, scales, objects, lookup, view);
criterion_main!(parts);

/// Decode and encode by themselves: a gateway without policies keeps every node, and scores it 0.
fn wire(criterion: &mut Criterion) {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_roster(Arc::new(Roster::of_root(vec![])));
    gateway.set_cluster(cluster());
    let cache = RequestCache::default();
    let mut group = criterion.benchmark_group("wire, names");
    for nodes in [500, NODES] {
        let body = world::names_body(nodes);
        group.throughput(Throughput::Elements(nodes as u64));
        for path in ["/filter", "/prioritize"] {
            group.bench_with_input(BenchmarkId::new(path, nodes), &body, |bencher, body| {
                bencher.iter(|| {
                    let reply = answer(&gateway, &cache, path, body, Instant::now());
                    assert_eq!(reply.status, 200);
                    black_box(reply.body())
                });
            });
        }
    }
    group.finish();
}

/// A cached score of every node, on each scale.
fn scales(criterion: &mut Criterion) {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    let member = Member::new("", "by-zone", PolicyConfig::default(), Arc::new(ByZone));
    gateway.set_roster(Arc::new(Roster::of_root(vec![Arc::new(member)])));
    gateway.set_cluster(cluster());
    let (cache, body) = (RequestCache::default(), world::names_body(NODES));
    let mut group = criterion.benchmark_group("scale of scores");
    group.throughput(Throughput::Elements(NODES as u64));
    for scale in ScoreScale::ALL {
        let path = format!("/{}", prioritize_verb(scale));
        let ask = || answer(&gateway, &cache, &path, &body, Instant::now());
        // The second request finds the answers of the first in the cache.
        (0..3).for_each(|_| ask().after.run());
        group.bench_function(&path, |bencher| {
            bencher.iter(|| {
                let reply = ask();
                assert_eq!(reply.status, 200);
                black_box(reply.body())
            });
        });
    }
    group.finish();
}

/// Scores a node by its zone.
struct ByZone;

impl Policy for ByZone {
    fn verbs(&self) -> Verbs {
        [Verb::Score].into_iter().collect()
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        while let Some(node) = nodes.next() {
            let zone = ask.view.read(Read::Node(node, NodeRead::Label("topology.kubernetes.io/zone")));
            nodes.answer(match zone {
                Ok(Value::Text(zone)) if zone.ends_with('1') => 61,
                _ => 64,
            });
        }
        Ok(())
    }
}

/// Reading the objects of a body, or of the watch.
fn objects(criterion: &mut Criterion) {
    let node = Bytes::from(world::node(7, 8_000).to_string());
    let pod = Bytes::from(world::pod().to_string());
    let mut group = criterion.benchmark_group("object");
    group.throughput(Throughput::Bytes(node.len() as u64));
    group.bench_function("node of 8 kB", |bencher| bencher.iter(|| Node::from_json(node.clone()).unwrap()));
    group.throughput(Throughput::Bytes(pod.len() as u64));
    group.bench_function("pod", |bencher| bencher.iter(|| Pod::from_json(pod.clone()).unwrap()));
    group.finish();
}

/// From a name to its slot.
fn lookup(criterion: &mut Criterion) {
    let cluster = cluster();
    let names: Vec<String> = (0..NODES).map(world::name).collect();
    let mut group = criterion.benchmark_group("cluster");
    group.throughput(Throughput::Elements(NODES as u64));
    group.bench_function("find", |bencher| {
        bencher.iter(|| names.iter().filter_map(|name| cluster.find(black_box(name))).map(u64::from).sum::<u64>());
    });
    group.finish();
}

/// The one door: a read of each kind that the sample policies make, of every node.
fn view(criterion: &mut Criterion) {
    type Asked = fn(u32) -> Read<'static>;
    let pod = Arc::new(Pod::from_json(world::pod().to_string().into()).unwrap());
    let view = View::new(pod, cluster(), (0..NODES as u32).collect(), 0);
    let mut group = criterion.benchmark_group("view");
    group.throughput(Throughput::Elements(NODES as u64));
    let reads: [(&str, Asked); 5] = [
        ("pod label", |_| Read::Pod(PodRead::Label("app"))),
        ("node label", |node| Read::Node(node, NodeRead::Label("example.com/pool"))),
        ("node annotation", |node| Read::Node(node, NodeRead::Annotation("example.com/gpu-devices"))),
        ("node image", |node| Read::Node(node, NodeRead::ImageSize("registry.example.com/team/app-3:1.3"))),
        ("placed, labelled", |node| Read::PlacedCountLabelled { node, namespace: "team-a", key: "app", value: "web" }),
    ];
    for (name, read) in reads {
        group.bench_function(name, |bencher| {
            let there = |node: &u32| !matches!(view.read(read(black_box(*node))), Ok(Value::Absent) | Err(_));
            bencher.iter(|| (0..NODES as u32).filter(there).count());
        });
    }
    group.finish();
}

fn cluster() -> Arc<Cluster> {
    let node = |number| Node::from_json(Bytes::from(world::node(number, 2_000).to_string())).unwrap();
    Arc::new(Cluster::from_objects((0..NODES).map(node).collect(), vec![]))
}
