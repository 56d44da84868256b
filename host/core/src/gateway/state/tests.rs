use std::{
    borrow::Cow,
    sync::{
        Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use bytes::Bytes;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    decide::{BindCallWait, BindOutcome, Group, Member, NoObserver, NodeObject, Nodes, Query},
    model::{
        AbsentFacts, Ask, BindError, Binding, FactAccess, FactSource, Fault, IsUnchanged, Leader, Mode, Node,
        NodeSource, NotReserved, Policy, PolicyConfig, Read, ReadSet, Reservation, Selector, SystemClock, Value, Verbs,
        Verdict, View,
    },
};

const LONG: Duration = Duration::from_mins(1);

/// At most 2 pods on each node, and none on one whose load is high.
struct TwoPerNode {
    reads: ReadSet,
}

impl Policy for TwoPerNode {
    fn verbs(&self) -> Verbs {
        [Verb::Filter].into_iter().collect()
    }

    fn reads(&self) -> ReadSet {
        self.reads.clone()
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        while let Some(node) = nodes.next() {
            let is_full = matches!(ask.view.read(Read::PlacedCount(node)), Ok(Value::Number(2..)));
            let load = Read::FactsNodeText { node, source: "load" };
            let is_loaded = matches!(ask.view.read(load), Ok(Value::Text(load)) if load == "high");
            nodes.answer(if is_full || is_loaded { Verdict::Unschedulable("full".into()) } else { Verdict::Fits });
        }
        Ok(())
    }
}

/// Another replica binds; the pods that are forwarded to it are shown as the watch's store shows them.
#[derive(Default)]
struct Follower {
    gateway: OnceLock<Weak<Gateway>>,
    placed: Mutex<Vec<(String, &'static str)>>,
    forwarded: Mutex<Vec<Arc<Pod>>>,
}

impl Follower {
    /// Puts in force the pods that the watch shows, and those that were forwarded.
    fn publish(&self) {
        let (placed, mut forwarded) = (self.placed.lock(), self.forwarded.lock());
        forwarded.retain(|pod| placed.iter().all(|(name, _)| *name != pod.name()));
        let placed = placed.iter().map(|(name, node)| (name.as_str(), *node));
        let shown = forwarded.iter().map(|pod| (pod.name(), pod.node().unwrap()));
        let cluster = Cluster::new(mk_cluster(&placed.chain(shown).collect::<Vec<_>>()).slots().clone());
        let cluster = cluster.with_forwarded(forwarded.iter().cloned().collect());
        let gateway = self.gateway.get().unwrap().upgrade().unwrap();
        gateway.set_cluster(Arc::new(cluster));
    }

    fn set(&self, placed: &[(&str, &'static str)]) {
        *self.placed.lock() = placed.iter().map(|(name, node)| ((*name).to_owned(), *node)).collect();
        self.publish();
    }
}

impl Binder for Follower {
    fn leader(&self) -> Leader {
        Leader::Peer("http://10.0.0.2".into())
    }

    fn pod(&self, _: &str, _: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        Err(BindError::NoPod)
    }

    fn forwarded(&self, pod: Pod) {
        self.not_forwarded(pod.uid());
        self.forwarded.lock().push(Arc::new(pod));
        self.publish();
    }

    fn not_forwarded(&self, uid: &str) {
        self.forwarded.lock().retain(|pod| pod.uid() != uid);
        self.publish();
    }

    fn reserve(&self, _: &Arc<Pod>, _: Binding, _: &IsUnchanged<'_>) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        Err(NotReserved::Changed)
    }
}

fn mk_group(import: &str, mode: Mode) -> Group {
    let config = PolicyConfig { mode, ..PolicyConfig::default() };
    let policy = TwoPerNode { reads: [import].into_iter().collect() };
    let fact_access = Arc::new(FactAccess::new([("load", "load")], AbsentFacts::Default));
    Group::new(vec![Arc::new(Member { fact_access, ..Member::new("", "two", config, Arc::new(policy)) })])
}

/// A gateway that forwards binds, whose group `counting` counts, and whose group `other` does not.
fn mk_gateway(max_wait: Duration) -> (Arc<Gateway>, Arc<Follower>) {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), LONG).with_bind_call_wait(max_wait);
    let groups =
        [("counting", mk_group("placed.count", Mode::Enforce)), ("other", mk_group("nodes.label", Mode::Enforce))];
    let groups = groups.into_iter().map(|(name, group)| (Arc::from(name), group)).collect();
    gateway.set_roster(Arc::new(Roster::new(groups, vec![])));
    let follower = Arc::<Follower>::default();
    gateway.set_binder(Arc::clone(&follower) as _);
    gateway.set_cluster(mk_cluster(&[]));
    let gateway = Arc::new(gateway);
    follower.gateway.set(Arc::downgrade(&gateway)).unwrap();
    (gateway, follower)
}

/// Nodes n0 to n2 with these pods.
fn mk_cluster(pods: &[(&str, &str)]) -> Arc<Cluster> {
    let node = |at: usize| Node::from_json(Bytes::from(format!(r#"{{"metadata":{{"name":"n{at}"}}}}"#))).unwrap();
    let pods =
        pods.iter().map(|(name, node)| mk_pod(name).placed_on(node, &BTreeMap::new(), &BTreeMap::new())).collect();
    Arc::new(Cluster::from_objects((0..3).map(node).collect(), pods))
}

fn mk_pod(name: &str) -> Pod {
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"web","uid":"uid-{name}","labels":{{"app":"web"}}}},
            "spec":{{"containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}"#
    );
    Pod::from_json(Bytes::from(json)).unwrap()
}

fn query_of<'q>(gateway: &Gateway, name: &str, names: &'q [Cow<'q, str>]) -> Query<'q> {
    let received = gateway.clock.now();
    Query { pod: Arc::new(mk_pod(name)), nodes: Nodes::Names(names), received, may_bind: true }
}

/// The nodes that are left for a pod.
fn filter(gateway: &Gateway, group: &str, name: &str) -> Vec<usize> {
    let names = ["n0", "n1", "n2"].map(Cow::Borrowed);
    let deciding = gateway.begin(group).unwrap().after_bind_calls();
    let (outcome, after) = deciding.filter(&query_of(gateway, name, &names)).unwrap();
    after.run();
    (0..3).filter(|at| outcome.rejected.iter().all(|rejection| rejection.node as usize != *at)).collect()
}

fn bind_query(name: &str, node: &'static str) -> BindQuery<'static> {
    let uid = Cow::Owned(format!("uid-{name}"));
    BindQuery {
        namespace: "web".into(),
        name: name.to_owned().into(),
        uid,
        node: node.into(),
        received: Instant::now(),
    }
}

/// A bind call comes, and is to be forwarded.
fn forward(gateway: &Gateway, name: &str, node: &'static str) {
    let (outcome, _) = gateway.bind("counting", &bind_query(name, node)).unwrap();
    assert!(matches!(outcome, BindOutcome::Forward(_)), "{outcome:?}");
}

/// The names of the pods on a node.
fn pods(gateway: &Gateway, node: &str) -> Vec<String> {
    let cluster = gateway.cluster().unwrap();
    let slot = &cluster.slots()[cluster.find(node).unwrap() as usize];
    slot.placed.as_ref().unwrap().pods().iter().map(|pod| pod.name().to_owned()).collect()
}

#[test]
fn a_pod_whose_bind_is_forwarded_counts_until_the_other_replica_refuses_it() {
    let (gateway, _) = mk_gateway(Duration::ZERO);
    forward(&gateway, "a", "n1");
    assert_eq!(pods(&gateway, "n1"), [""; 0], "nobody asked about it");
    filter(&gateway, "counting", "a");
    forward(&gateway, "a", "n1");
    assert_eq!(pods(&gateway, "n1"), ["a"]);
    gateway.not_forwarded(&bind_query("a", "n1"));
    assert_eq!(pods(&gateway, "n1"), [""; 0]);
}

#[test]
fn a_pod_that_is_forwarded_does_not_stand_in_its_own_way() {
    let (gateway, follower) = mk_gateway(Duration::ZERO);
    follower.set(&[("x", "n0")]);
    filter(&gateway, "counting", "a");
    forward(&gateway, "a", "n0");
    let own = Query {
        pod: Arc::new(mk_pod("a").placed_on("n0", &BTreeMap::new(), &BTreeMap::new())),
        ..query_of(&gateway, "a", &[])
    };
    let names = ["n0", "n1", "n2"].map(Cow::Borrowed);
    let own = Query { nodes: Nodes::Names(&names), ..own };
    assert!(gateway.filter("counting", &own).unwrap().0.rejected.is_empty());
    assert_eq!(filter(&gateway, "counting", "b"), [1, 2]);
}

#[test]
fn a_pod_that_forwarded_pods_alone_leave_no_node_for_is_left_to_bind() {
    let (gateway, follower) = mk_gateway(Duration::ZERO);
    let full = [("x0", "n0"), ("y0", "n0"), ("x1", "n1"), ("x2", "n2"), ("y2", "n2")];
    follower.set(&full);
    filter(&gateway, "counting", "a");
    forward(&gateway, "a", "n1");
    assert_eq!(filter(&gateway, "counting", "b"), [1], "a's bind may fail, and nothing would tell kube-scheduler");
    let nodes: Vec<NodeObject> =
        (0..3).map(|at| NodeObject::Json(Bytes::from(format!(r#"{{"metadata":{{"name":"n{at}"}}}}"#)))).collect();
    let rejected = |query: Query<'_>| -> Vec<u32> {
        gateway.filter("counting", &query).unwrap().0.rejected.iter().map(|rejection| rejection.node).collect()
    };
    assert_eq!(rejected(Query { nodes: Nodes::Objects(&nodes), ..query_of(&gateway, "b", &[]) }), [0, 2]);
    // A name that the cluster does not know stays rejected.
    let names = ["n0", "n1", "n9"].map(Cow::Borrowed);
    assert_eq!(rejected(query_of(&gateway, "c", &names)), [0, 2]);
    let slots: Arc<[u32]> = [0, 1, 2].into();
    let cluster = gateway.cluster();
    let slots = Nodes::Slots { cluster: cluster.as_ref(), slots: &slots };
    assert_eq!(rejected(Query { nodes: slots, ..query_of(&gateway, "c", &[]) }), [0, 2]);
    // The facts are those of the request.
    let facts = serde_json::json!({"load": {"n0": "high", "n1": "high", "n2": "high"}});
    gateway.set_facts(&Facts::from_value(&facts).unwrap());
    assert_eq!(filter(&gateway, "counting", "b"), [0; 0], "no bind asks a filter that counts nothing");
    gateway.set_facts(&Facts::from_value(&serde_json::json!({"load": {"n0": "high"}})).unwrap());
    follower.set(&[&full[..], &[("a", "n1")]].concat());
    assert_eq!(filter(&gateway, "counting", "b"), [0; 0], "now the watch shows it");
}

#[test]
fn where_another_node_is_left_a_forwarded_pod_counts() {
    let (gateway, follower) = mk_gateway(Duration::ZERO);
    follower.set(&[("x0", "n0"), ("x1", "n1"), ("x2", "n2")]);
    filter(&gateway, "counting", "a");
    forward(&gateway, "a", "n1");
    assert_eq!(filter(&gateway, "counting", "b"), [0, 2]);
}

#[test]
fn a_filter_that_counts_waits_for_the_bind_call_and_then_counts_the_pod() {
    let (gateway, follower) = mk_gateway(LONG);
    follower.set(&[("x", "n1")]);
    // The scheduler is told a single node: it asks no more before the bind.
    let names = [Cow::Borrowed("n1")];
    gateway.filter("counting", &query_of(&gateway, "a", &names)).unwrap().1.run();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| filter(&gateway, "counting", "b"));
        // A filter of a group that does not count does not wait, and nor does a stranger.
        assert_eq!(filter(&gateway, "other", "c"), [0, 1, 2]);
        assert!(!waiting.is_finished());
        forward(&gateway, "a", "n1");
        // If the thread began late, it waits for this one, too.
        drop(gateway.bind_calls.arrived(&bind_query("c", "n1")));
        assert_eq!(waiting.join().unwrap(), [0, 2]);
    });
}

#[test]
fn a_wait_ends_after_its_bound_and_is_told_of() {
    #[derive(Default)]
    struct Told(AtomicBool);
    impl Observer for Told {
        fn waited_for_bind_calls(&self, group: &str, wait: BindCallWait) {
            assert_eq!((group, wait.missed), ("counting", 1));
            assert!(!self.0.swap(true, Ordering::SeqCst), "only once");
        }
    }
    let told = Arc::new(Told::default());
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::clone(&told) as _, LONG);
    let gateway = gateway.with_bind_call_wait(Duration::from_millis(10));
    gateway.set_cluster(mk_cluster(&[]));
    gateway.set_binder(Arc::<Follower>::default());
    let groups = [(Arc::from("counting"), mk_group("cluster.at-least", Mode::Enforce))].into();
    gateway.set_roster(Arc::new(Roster::new(groups, vec![])));
    gateway.bind_calls.decided("counting", &Arc::new(mk_pod("a")));
    assert!(!told.0.load(Ordering::SeqCst));
    drop(gateway.begin("counting").unwrap().after_bind_calls());
    assert!(told.0.load(Ordering::SeqCst));
    drop(gateway.begin("counting").unwrap().after_bind_calls());
}

#[test]
fn pods_are_kept_only_where_a_filter_in_force_counts_and_the_sender_may_bind() {
    let keeps = |import: &str, mode: Mode, may_bind: bool| {
        let (gateway, _) = mk_gateway(LONG);
        let groups = [(Arc::from("counting"), mk_group(import, mode))].into();
        gateway.set_roster(Arc::new(Roster::new(groups, vec![])));
        let names = ["n0".into()];
        let query = Query { may_bind, ..query_of(&gateway, "a", &names) };
        gateway.filter("counting", &query).unwrap().1.run();
        gateway.bind_calls.arrived(&bind_query("a", "n0")).pod.is_some()
    };
    assert!(keeps("placed.count", Mode::Enforce, true));
    assert!(!keeps("placed.count", Mode::Enforce, false), "a stranger");
    for (import, mode) in [
        ("nodes.label", Mode::Enforce),
        ("cluster.label-values", Mode::Enforce),
        ("placed.count", Mode::Shadow),
        ("placed.count", Mode::Off),
    ] {
        assert!(!keeps(import, mode, true), "{import} {mode:?}");
    }
}

fn mk_with_cluster() -> Gateway {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), LONG);
    gateway.set_cluster(Arc::new(Cluster::from_objects(vec![], vec![])));
    gateway
}

fn mk_facts(value: usize) -> Facts {
    let source = FactSource::from_texts([("k", value.to_string())]).unwrap();
    Facts::from_iter([(Arc::from("load"), Arc::new(source))])
}

#[test]
fn facts_are_compared_while_a_bind_has_the_lock() {
    let gateway = mk_with_cluster();
    gateway.set_facts(&mk_facts(1));
    let bind = gateway.publishing.lock();
    // Equal facts return, and other ones are in force before the lock is free.
    thread::scope(|scope| {
        scope.spawn(|| gateway.set_facts(&mk_facts(1))).join().unwrap();
        let other = scope.spawn(|| gateway.set_facts(&mk_facts(2)));
        let started = Instant::now();
        while *gateway.facts() != mk_facts(2) {
            assert!(started.elapsed() < LONG, "the new facts wait for the bind");
            thread::yield_now();
        }
        drop(bind);
        other.join().unwrap();
    });
    assert_eq!(**gateway.cluster().unwrap().facts().unwrap(), mk_facts(2));
}

#[test]
fn the_newest_facts_are_shown_however_calls_overlap() {
    let gateway = mk_with_cluster();
    for round in 0..50 {
        thread::scope(|scope| {
            let gateway = &gateway;
            for value in 0..4 {
                scope.spawn(move || gateway.set_facts(&mk_facts(4 * round + value)));
            }
        });
        assert_eq!(gateway.cluster().unwrap().facts(), Some(&gateway.facts()));
    }
}

/// The counts that a policy reads of a cluster: the pods of each node, and of all.
fn counts(cluster: Arc<Cluster>) -> Vec<i64> {
    let view = View::new(Arc::default(), cluster, (0..3).collect(), 0);
    let selector = Selector { label: Some(("app", "web")), ..Selector::all() };
    let reads = (0..3).map(Read::PlacedCount).chain([Read::ClusterCount(selector)]);
    let number = |read| match view.read(read) {
        Ok(Value::Number(number)) => number,
        other => panic!("a count is a number: {other:?}"),
    };
    reads.map(number).collect()
}

proptest! {
    #[test]
    fn every_cluster_shows_its_own_pods_whatever_came_before(steps in vec((0..4u8, 0..6usize, 0..3usize), 1..40)) {
        let (gateway, follower) = mk_gateway(Duration::ZERO);
        let (mut placed, mut forwarded): (BTreeMap<usize, usize>, BTreeMap<usize, usize>) = Default::default();
        for (step, pod, node) in steps {
            let (name, node_name) = (format!("p{pod}"), ["n0", "n1", "n2"][node]);
            match step {
                0 => drop(placed.insert(pod, node)),
                1 => drop(placed.remove(&pod)),
                2 if !placed.contains_key(&pod) => {
                    gateway.bind_calls.decided("counting", &Arc::new(mk_pod(&name)));
                    forward(&gateway, &name, node_name);
                    forwarded.insert(pod, node);
                }
                2 => {}
                _ => {
                    gateway.not_forwarded(&bind_query(&name, node_name));
                    forwarded.remove(&pod);
                }
            }
            forwarded.retain(|pod, _| !placed.contains_key(pod));
            let shown: Vec<(String, &str)> =
                placed.iter().map(|(pod, node)| (format!("p{pod}"), ["n0", "n1", "n2"][*node])).collect();
            follower.set(&shown.iter().map(|(name, node)| (&**name, *node)).collect::<Vec<_>>());
            let expected = |nodes: Vec<usize>| -> Vec<i64> {
                let of = |node: usize| nodes.iter().filter(|own| **own == node).count() as i64;
                (0..3).map(of).chain([nodes.len() as i64]).collect()
            };
            let (own, other): (Vec<usize>, Vec<usize>) =
                (placed.values().copied().collect(), forwarded.values().copied().collect());
            let cluster = gateway.cluster().unwrap();
            let without = cluster.without_forwarded().map_or_else(|| Arc::clone(&cluster), Arc::new);
            prop_assert_eq!(counts(without), expected(own.clone()));
            prop_assert_eq!(counts(cluster), expected([own, other].concat()));
        }
    }
}
