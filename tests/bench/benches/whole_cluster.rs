//! Reads about the whole cluster at 15,000 nodes and 150,000 pods: `cargo bench --workspace --bench whole_cluster --profile
//! measured`.
#![allow(clippy::unwrap_used, reason = "a part that fails has no time")]

use std::{
    hint::black_box,
    sync::{Arc, Mutex, OnceLock, Weak},
    time::{Duration, Instant},
};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use plimsoll_core::{
    Ask, BindError, BindQuery, Binder, Binding, Cluster, Fault, Gateway, IsUnchanged, Leader, Member, NoObserver, Node,
    NodeRead, NodeSource, NotReserved, Placed, Pod, PodRead, Policy, PolicyConfig, Read, Reservation, Roster, Selector,
    Sender, Slot, SystemClock, Value, Verb, Verbs, Verdict, View,
};
use plimsoll_http::{RequestCache, answer};

#[allow(dead_code, reason = "the bench proper uses the rest")]
#[path = "../src/world.rs"]
mod world;

const NODES: usize = 15_000;
const PODS_PER_NODE: usize = 10;

/// A limit that is not reached, so that both replies are the same.
const NEVER: u64 = 1_000_000;

criterion_group!(whole_cluster, event, first_read, read, filter, filter_by_node, announce, bind);
criterion_main!(whole_cluster);

/// One event of the watch: a pod is placed on a node, or leaves it. Without selectors it is the price of a new snapshot.
fn event(criterion: &mut Criterion) {
    let cluster = cluster();
    let mut group = criterion.benchmark_group("watch event, 150,000 pods");
    for (name, selectors) in [
        ("no selector", vec![]),
        ("16 selectors", selectors(16, 1)),
        ("1,024 selectors", selectors(16, 64)),
        ("1,024 selectors of 256 shapes", selectors(256, 4)),
    ] {
        let gateway = gateway(vec![]);
        gateway.set_cluster(Arc::new(cluster.successor(cluster.slots().clone())));
        read_all(&view(&gateway), &selectors);
        let (pods, mut number): (Vec<Arc<Pod>>, usize) = ((0..1_000).map(|at| pod("node", at)).collect(), 0);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                number += 1;
                change(&gateway, &pods, number);
            });
        });
        read_all(&view(&gateway), &selectors);
    }
    group.finish();
}

/// The first read with new keys goes over all pods.
fn first_read(criterion: &mut Criterion) {
    let cluster = cluster();
    let selectors = selectors(1, 1);
    criterion.bench_function("first read with new keys, 150,000 pods", |bencher| {
        bencher.iter_batched(
            || View::new(Arc::default(), Arc::new(cluster.successor(cluster.slots().clone())), Arc::default(), 0),
            |view| read_all(&view, &selectors),
            criterion::BatchSize::PerIteration,
        );
    });
}

/// Any other read.
fn read(criterion: &mut Criterion) {
    let gateway = gateway(vec![]);
    gateway.set_cluster(cluster());
    let (view, selectors) = (view(&gateway), selectors(1, 1));
    criterion.bench_function("read, 150,000 pods", |bencher| bencher.iter(|| read_all(&view, &selectors)));
}

/// A policy whose answers are cached, with such a read and without.
fn filter(criterion: &mut Criterion) {
    let cluster = cluster();
    let mut group = criterion.benchmark_group("filter by names, cached");
    for nodes in [500, 5_000] {
        let body = world::names_body(nodes);
        for reads_cluster in [false, true] {
            let seats = Seats { reads_cluster, imports: vec![] };
            let member = Member::new("", "seats", PolicyConfig::default(), Arc::new(seats));
            let (gateway, cache) = (gateway(vec![Arc::new(member)]), RequestCache::default());
            gateway.set_cluster(Arc::new(cluster.successor(cluster.slots().clone())));
            let ask = || answer(&gateway, &cache, "/filter", &body, Instant::now());
            (0..3).for_each(|_| ask().after.run());
            let name = if reads_cluster { "with a read of the cluster" } else { "without" };
            group.bench_function(BenchmarkId::new(name, nodes), |bencher| {
                bencher.iter(|| {
                    let reply = ask();
                    assert_eq!(reply.status, 200);
                    black_box(reply.body())
                });
            });
        }
    }
    group.finish();
}

/// A policy whose answer about each node follows from a count of its own, after all nodes have been asked about.
fn filter_by_node(criterion: &mut Criterion) {
    let cluster = cluster();
    let mut group = criterion.benchmark_group("filter by names, cached, a count for each of 15,000 nodes");
    for nodes in [500, 5_000] {
        let member = Member::new("", "per-node", PolicyConfig::default(), Arc::new(PerNode));
        let (gateway, cache) = (gateway(vec![Arc::new(member)]), RequestCache::default());
        gateway.set_cluster(Arc::new(cluster.successor(cluster.slots().clone())));
        let ask = |body: &Bytes| answer(&gateway, &cache, "/filter", body, Instant::now());
        (0..3).for_each(|_| ask(&world::names_body(NODES)).after.run());
        let body = world::names_body(nodes);
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| {
                let reply = ask(&body);
                assert_eq!(reply.status, 200);
                black_box(reply.body())
            });
        });
    }
    group.finish();
}

/// A pod of a label's value on each node of that name.
struct PerNode;

/// Seats of a licence in each zone, as the SDK's example `licence_seats` counts them.
struct Seats {
    reads_cluster: bool,
    imports: Vec<String>,
}

/// A bind call arrives, and its pod is withdrawn again, while other pods are announced.
fn announce(criterion: &mut Criterion) {
    let cluster = cluster();
    let mut group = criterion.benchmark_group("announce and withdraw a pod, 150,000 pods");
    for others in [0, 64] {
        let seats = Seats { reads_cluster: true, imports: vec!["cluster.at-least".to_owned()] };
        let member = Member::new("", "seats", PolicyConfig::default(), Arc::new(seats));
        let gateway = Arc::new(gateway(vec![Arc::new(member)]));
        gateway.set_cluster(Arc::clone(&cluster));
        gateway.set_binder(Arc::new(Store { gateway: OnceLock::new(), pods: vec![], held: Mutex::default() }));
        let query = |number: usize| {
            let (uid, node) = (format!("new-{number}"), cluster.slots()[number * 97].node.name().to_string());
            BindQuery {
                namespace: "ml".into(),
                name: uid.clone().into(),
                uid: uid.into(),
                node: node.into(),
                received: Instant::now(),
            }
        };
        let filter = |query: &BindQuery<'_>| {
            let metadata =
                serde_json::json!({"namespace": "ml", "name": query.name, "uid": query.uid, "labels": {"app": "web"}});
            let body = serde_json::json!({"Pod": {"metadata": metadata}, "NodeNames": [query.node]}).to_string().into();
            answer(&gateway, &RequestCache::default(), "/filter", &body, Instant::now());
        };
        let announce = |query: &BindQuery<'_>| gateway.announce(Sender::default(), query).unwrap();
        let queries: Vec<_> = (1..=others).map(query).collect();
        let others: Vec<_> = queries.iter().inspect(|query| filter(query)).map(announce).collect();
        let query = query(0);
        group.bench_function(BenchmarkId::from_parameter(others.len()), |bencher| {
            bencher.iter_batched(|| filter(&query), |()| drop(announce(&query)), criterion::BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// A store that holds its lock while it compares and publishes, as the watch does; something changes between any two looks.
struct Store {
    gateway: OnceLock<Weak<Gateway>>,
    pods: Vec<Arc<Pod>>,
    /// The time that the lock was held, each time.
    held: Mutex<Vec<Duration>>,
}

struct Place;

/// A bind with a filter that counts; the time for which the store is locked is printed.
#[allow(clippy::print_stdout, reason = "criterion has no place for it")]
fn bind(criterion: &mut Criterion) {
    let seats = Seats { reads_cluster: true, imports: vec!["cluster.at-least".to_owned()] };
    let member = Member::new("", "seats", PolicyConfig::default(), Arc::new(seats));
    let (gateway, pods) = (Arc::new(gateway(vec![Arc::new(member)])), (0..1_000).map(|at| pod("node", at)).collect());
    gateway.set_cluster(cluster());
    let store = Arc::new(Store { gateway: OnceLock::new(), pods, held: Mutex::default() });
    drop(store.gateway.set(Arc::downgrade(&gateway)));
    gateway.set_binder(Arc::clone(&store) as _);
    let mut number = 0;
    criterion.bench_function("bind, 150,000 pods", |bencher| {
        bencher.iter(|| {
            number += 1;
            let (uid, node) =
                (format!("new-{number}"), gateway.cluster().unwrap().slots()[number % NODES].node.name().to_string());
            let query = BindQuery {
                namespace: "ml".into(),
                name: uid.clone().into(),
                uid: uid.into(),
                node: node.into(),
                received: Instant::now(),
            };
            gateway.bind("", &query).unwrap().1.run();
        });
    });
    let mut held = store.held.lock().unwrap().clone();
    if held.is_empty() {
        // The bench is left out by a filter.
        return;
    }
    held.sort_unstable();
    let at = |percent: usize| held[(held.len() - 1) * percent / 100];
    println!("the store was locked {} times: {:?} (median), {:?} (p99)", held.len(), at(50), at(99));
}

impl Binder for Store {
    fn leader(&self) -> Leader {
        Leader::ThisReplica
    }

    fn pod(&self, namespace: &str, name: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        let metadata = serde_json::json!({"namespace": namespace, "name": name, "uid": name, "labels": {"app": "web"}});
        Ok(Arc::new(Pod::from_json(serde_json::json!({"metadata": metadata}).to_string().into()).unwrap()))
    }

    #[expect(clippy::disallowed_methods, reason = "a bench is a stopwatch")]
    fn reserve(
        &self,
        _: &Arc<Pod>,
        _: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        let gateway = self.gateway.get().and_then(Weak::upgrade).unwrap();
        let mut held = self.held.lock().unwrap();
        let number = held.len() * 2;
        let started = Instant::now();
        change(&gateway, &self.pods, number);
        assert!(is_unchanged(&gateway.cluster().unwrap()), "the limit is far away");
        change(&gateway, &self.pods, number + 1);
        held.push(started.elapsed());
        Ok(Box::new(Place))
    }
}

impl Reservation for Place {
    fn bind(self: Box<Self>, _: Instant) -> Result<(), BindError> {
        Ok(())
    }
}

impl Policy for Seats {
    fn verbs(&self) -> Verbs {
        [Verb::Filter].into_iter().collect()
    }

    fn imports(&self) -> &[String] {
        &self.imports
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        while let Some(node) = nodes.next() {
            let app = ask.view.read(Read::Pod(PodRead::Label("app")));
            let zone = ask.view.read(Read::Node(node, NodeRead::Label(ZONE)));
            let (Ok(Value::Text(app)), Ok(Value::Text(zone))) = (app, zone) else {
                nodes.answer(Verdict::Fits);
                continue;
            };
            let selector = Selector {
                label: Some(("app", app.as_ref())),
                node_label: Some((ZONE, zone.as_ref())),
                ..Selector::all()
            };
            let is_full = self.reads_cluster
                && ask.view.read(Read::ClusterAtLeast { selector, n: NEVER }) == Ok(Value::Number(1));
            nodes.answer(if is_full { Verdict::Unschedulable("full".into()) } else { Verdict::Fits });
        }
        Ok(())
    }
}

impl Policy for PerNode {
    fn verbs(&self) -> Verbs {
        [Verb::Filter].into_iter().collect()
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        while let Some(node) = nodes.next() {
            let name = ask.view.read(Read::Node(node, NodeRead::Name));
            let Ok(Value::Text(name)) = name else { return Ok(()) };
            let selector = Selector { label: Some(("for-node", name.as_ref())), ..Selector::all() };
            let is_full = ask.view.read(Read::ClusterAtLeast { selector, n: NEVER }) == Ok(Value::Number(1));
            nodes.answer(if is_full { Verdict::Unschedulable("full".into()) } else { Verdict::Fits });
        }
        Ok(())
    }
}

const ZONE: &str = "topology.kubernetes.io/zone";

fn gateway(members: Vec<Arc<Member>>) -> Gateway {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_roster(Arc::new(Roster::of_root(members)));
    gateway
}

/// A view of the cluster in force.
fn view(gateway: &Gateway) -> View {
    View::new(Arc::default(), gateway.cluster().unwrap(), Arc::default(), 0)
}

/// A pod more or less on one node.
fn change(gateway: &Gateway, new: &[Arc<Pod>], number: usize) {
    let cluster = gateway.cluster().unwrap();
    let (at, mut slots) = (number / 2 % NODES, cluster.slots().clone());
    let Slot { node, placed } = slots[at].clone();
    let mut pods = placed.unwrap().pods().to_vec();
    if number.is_multiple_of(2) {
        pods.push(Arc::clone(&new[number % new.len()]));
    } else {
        pods.pop();
    }
    slots.replace(at, Slot { node, placed: Some(Arc::new(Placed::new(pods))) });
    gateway.set_cluster(Arc::new(cluster.successor(slots)));
}

fn read_all(view: &View, selectors: &[[String; 2]]) {
    for [key, value] in selectors {
        let selector = Selector {
            label: Some((key.as_str(), value.as_str())),
            node_label: Some((ZONE, "zone-1")),
            ..Selector::all()
        };
        black_box(view.read(Read::ClusterCount(selector)).unwrap());
    }
}

/// Selectors of as many shapes, with as many values of each.
fn selectors(shapes: usize, values: usize) -> Vec<[String; 2]> {
    let pair = |number: usize| [format!("key-{}", number % shapes), format!("value-{}", number / shapes)];
    (0..shapes * values).map(pair).collect()
}

/// A pod that has most of the keys that are counted: 16 labels, each with one of 64 values.
fn pod(node: &str, number: usize) -> Arc<Pod> {
    let labels = (0..16).map(|key| (format!("key-{key}"), format!("value-{}", number % 64).into()));
    let labels: serde_json::Map<String, serde_json::Value> = labels.chain([("app".to_owned(), "web".into())]).collect();
    let json = serde_json::json!({
        "metadata": {"name": format!("pod-{number}"), "namespace": "team-a", "uid": format!("uid-{number}"), "labels": labels},
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
    });
    Arc::new(Pod::placed_from_json(json.to_string().as_bytes()).unwrap())
}

fn cluster() -> Arc<Cluster> {
    let slot = |number: usize| {
        let node = Node::from_json(world::node(number, 0).to_string().into()).unwrap();
        let pods = (0..PODS_PER_NODE).map(|at| pod(node.name(), number * PODS_PER_NODE + at)).collect();
        Slot { node: Arc::new(node), placed: Some(Arc::new(Placed::new(pods))) }
    };
    Arc::new(Cluster::new((0..NODES).map(slot).collect::<Vec<_>>()))
}
