use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use bytes::Bytes;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    decide::{BindCallWait, Member, NoObserver, NodeObject, Nodes, Observer, Outcome, Roster},
    model::{
        AbsentFacts, Ask, BindError, Binder, Binding, FactAccess, Fault, Leader, Mode, Node, NodeSource, NotReserved,
        Policy, PolicyConfig, Read, Reservation, Selector, SystemClock, Value, Verb, Verbs, Verdict, View,
    },
};

const LONG: Duration = Duration::from_mins(1);

/// At most 2 pods on each node, and none on one whose load is high.
struct TwoPerNode {
    imports: Vec<String>,
}

impl Policy for TwoPerNode {
    fn verbs(&self) -> Verbs {
        [Verb::Filter].into_iter().collect()
    }

    fn imports(&self) -> &[String] {
        &self.imports
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

/// It is this replica's turn, and nobody binds.
struct Idle;

impl Binder for Idle {
    fn leader(&self) -> Leader {
        Leader::ThisReplica
    }

    fn pod(&self, _: &str, _: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        Err(BindError::NoPod)
    }

    fn reserve(
        &self,
        _: &Arc<Pod>,
        _: Binding,
        _: &crate::model::IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        Err(NotReserved::Changed)
    }
}

fn mk_group(import: &str, mode: Mode) -> Group {
    let config = PolicyConfig { mode, ..PolicyConfig::default() };
    let policy = TwoPerNode { imports: vec![import.to_owned()] };
    let fact_access = Arc::new(FactAccess::new([("load", "load")], AbsentFacts::Default));
    Group::new(vec![Arc::new(Member { fact_access, ..Member::new("", "two", config, Arc::new(policy)) })])
}

/// A gateway that binds, whose group `counting` counts, and whose group `other` does not.
fn mk_gateway(max_wait: Duration) -> Arc<Gateway> {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), LONG).with_bind_call_wait(max_wait);
    let groups =
        [("counting", mk_group("placed.count", Mode::Enforce)), ("other", mk_group("nodes.label", Mode::Enforce))];
    let groups = groups.into_iter().map(|(name, group)| (Arc::from(name), group)).collect();
    gateway.set_roster(Arc::new(Roster::new(groups, vec![])));
    gateway.set_binder(Arc::new(Idle));
    gateway.set_cluster(mk_cluster(&[]));
    Arc::new(gateway)
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
    Query {
        pod: Arc::new(mk_pod(name)),
        nodes: Nodes::Names(names),
        received,
        sender: Sender::of("scheduler"),
        may_bind: true,
    }
}

/// The nodes that are left for a pod.
fn filter(gateway: &Gateway, group: &str, name: &str) -> Vec<usize> {
    let names = ["n0", "n1", "n2"].map(Cow::Borrowed);
    let (outcome, after) = gateway.filter(group, &query_of(gateway, name, &names)).unwrap();
    after.run();
    (0..3).filter(|at| outcome.rejected.iter().all(|rejection| rejection.node as usize != *at)).collect()
}

fn announce(gateway: &Arc<Gateway>, name: &str, node: &'static str) -> Option<Announcement> {
    let (uid, received) = (Cow::Owned(format!("uid-{name}")), Instant::now());
    let query = BindQuery { namespace: "web".into(), name: name.into(), uid, node: node.into(), received };
    gateway.announce(Sender::of("scheduler"), &query)
}

/// The names of the pods on a node.
fn pods(cluster: Option<Arc<Cluster>>, node: &str) -> Vec<String> {
    let cluster = cluster.unwrap();
    let slot = &cluster.slots()[cluster.find(node).unwrap() as usize];
    slot.placed.as_ref().unwrap().pods().iter().map(|pod| pod.name().to_owned()).collect()
}

#[test]
fn requests_see_an_announced_pod_and_binds_do_not() {
    let gateway = mk_gateway(Duration::ZERO);
    assert!(announce(&gateway, "a", "n1").is_none(), "nobody asked about it");
    filter(&gateway, "counting", "a");
    assert!(announce(&gateway, "a", "n9").is_none(), "no such node");
    filter(&gateway, "counting", "a");
    let announced = announce(&gateway, "a", "n1").unwrap();
    assert_eq!((pods(gateway.cluster(), "n1"), pods(gateway.bound_cluster(), "n1")), (vec!["a".to_owned()], vec![]));
    drop(announced);
    assert_eq!(pods(gateway.cluster(), "n1"), [""; 0]);
}

#[test]
fn a_pod_that_is_announced_does_not_stand_in_its_own_way() {
    let gateway = mk_gateway(Duration::ZERO);
    gateway.set_cluster(mk_cluster(&[("x", "n0")]));
    filter(&gateway, "counting", "a");
    let _announced = announce(&gateway, "a", "n0").unwrap();
    assert_eq!((filter(&gateway, "counting", "a"), filter(&gateway, "counting", "b")), (vec![0, 1, 2], vec![1, 2]));
}

#[test]
fn a_pod_that_announced_pods_alone_leave_no_node_for_is_left_to_bind() {
    let gateway = mk_gateway(Duration::ZERO);
    gateway.set_cluster(mk_cluster(&[("x0", "n0"), ("y0", "n0"), ("x1", "n1"), ("x2", "n2"), ("y2", "n2")]));
    filter(&gateway, "counting", "a");
    let announced = announce(&gateway, "a", "n1").unwrap();
    assert_eq!(filter(&gateway, "counting", "b"), [1], "a's bind may fail, and nothing would tell kube-scheduler");
    let whole = |name: &str| {
        let nodes: Vec<NodeObject> =
            (0..3).map(|at| NodeObject::Json(Bytes::from(format!(r#"{{"metadata":{{"name":"n{at}"}}}}"#)))).collect();
        let query = Query { nodes: Nodes::Objects(&nodes), ..query_of(&gateway, name, &[]) };
        let (outcome, _) = gateway.filter("counting", &query).unwrap();
        outcome.rejected.iter().map(|rejection| rejection.node).collect::<Vec<_>>()
    };
    assert_eq!(whole("b"), [0, 2]);
    // A sender that may not bind has no bind that would decide.
    let names = ["n0", "n1", "n9"].map(Cow::Borrowed);
    let stranger = Query { may_bind: false, ..query_of(&gateway, "c", &names) };
    assert_eq!(gateway.filter("counting", &stranger).unwrap().0.rejected.len(), 3);
    // A name that the cluster does not know stays rejected.
    let known: Vec<u32> = gateway
        .filter("counting", &query_of(&gateway, "c", &names))
        .unwrap()
        .0
        .rejected
        .iter()
        .map(|r| r.node)
        .collect();
    assert_eq!(known, [0, 2]);
    gateway.set_cluster(mk_cluster(&[
        ("x0", "n0"),
        ("y0", "n0"),
        ("x1", "n1"),
        ("a", "n1"),
        ("x2", "n2"),
        ("y2", "n2"),
    ]));
    drop(announced);
    assert_eq!(filter(&gateway, "counting", "b"), [0; 0], "now its place is reserved");
}

#[test]
fn without_announced_pods_the_facts_are_those_of_the_request() {
    let gateway = mk_gateway(Duration::ZERO);
    gateway.set_cluster(mk_cluster(&[("x0", "n0"), ("x1", "n1"), ("x2", "n2")]));
    filter(&gateway, "counting", "a");
    let _announced = announce(&gateway, "a", "n1").unwrap();
    let facts = |load: serde_json::Value| crate::model::Facts::from_value(&serde_json::json!({"load": load})).unwrap();
    // The cluster without announced pods was made before.
    gateway.set_facts(&facts(serde_json::json!({"n0": "high", "n1": "high", "n2": "high"})));
    assert_eq!(filter(&gateway, "counting", "b"), [0; 0], "no bind asks a filter that counts nothing");
    gateway.set_facts(&facts(serde_json::json!({"n0": "high", "n2": "high"})));
    assert_eq!(filter(&gateway, "counting", "b"), [1]);
}

#[test]
fn where_another_node_is_left_an_announced_pod_counts() {
    let gateway = mk_gateway(Duration::ZERO);
    gateway.set_cluster(mk_cluster(&[("x0", "n0"), ("x1", "n1"), ("x2", "n2")]));
    filter(&gateway, "counting", "a");
    let _announced = announce(&gateway, "a", "n1").unwrap();
    assert_eq!(filter(&gateway, "counting", "b"), [0, 2]);
}

#[test]
fn a_pod_that_gets_a_place_is_announced_no_more() {
    let gateway = mk_gateway(Duration::ZERO);
    for name in ["a", "b"] {
        filter(&gateway, "counting", name);
    }
    let (first, second) = (announce(&gateway, "a", "n1").unwrap(), announce(&gateway, "b", "n1").unwrap());
    assert_eq!(pods(gateway.cluster(), "n1"), ["a", "b"]);
    gateway.set_cluster(mk_cluster(&[("a", "n1")]));
    assert_eq!(pods(gateway.cluster(), "n1"), ["a", "b"]);
    // Its bind has failed: it is where the cluster says.
    gateway.set_cluster(mk_cluster(&[]));
    assert_eq!(pods(gateway.cluster(), "n1"), ["b"]);
    drop(first);
    let reserved = Arc::new([("uid-b".into(), Arc::from("n2"))].into_iter().collect());
    gateway.set_cluster(Arc::new(Cluster::new(mk_cluster(&[("b", "n2")]).slots().clone()).with_reserved(reserved)));
    assert_eq!((pods(gateway.cluster(), "n1"), pods(gateway.cluster(), "n2")), (vec![], vec!["b".to_owned()]));
    drop(second);
}

#[test]
fn a_filter_that_counts_waits_for_the_bind_call_and_then_counts_the_pod() {
    let gateway = mk_gateway(LONG);
    gateway.set_cluster(mk_cluster(&[("x", "n1")]));
    filter(&gateway, "counting", "a");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| filter(&gateway, "counting", "b"));
        // Another filter for the same pod does not wait, nor does one of another group.
        assert_eq!(filter(&gateway, "counting", "a"), [0, 1, 2]);
        assert_eq!(filter(&gateway, "other", "c"), [0, 1, 2]);
        assert!(!waiting.is_finished());
        let announced = announce(&gateway, "a", "n1");
        assert!(announced.is_some());
        // If the thread began late, it waits for this one, too.
        gateway.bind_calls.arrived("uid-c");
        assert_eq!(waiting.join().unwrap(), [0, 2]);
    });
}

#[test]
fn a_wait_ends_after_its_bound_and_is_told_of() {
    #[derive(Default)]
    struct Told(AtomicBool);
    impl Observer for Told {
        fn called(&self, _: &Member, _: Verb, _: Outcome<'_>, _: Duration) {}
        fn circuit_opened(&self, _: &Member, _: Verb) {}
        fn waited_for_bind_calls(&self, group: &str, wait: BindCallWait) {
            assert_eq!((group, wait.missed), ("counting", 1));
            assert!(!self.0.swap(true, Ordering::SeqCst), "only once");
        }
    }
    let told = Arc::new(Told::default());
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::clone(&told) as _, LONG);
    let gateway = gateway.with_bind_call_wait(Duration::from_millis(10));
    gateway.set_cluster(mk_cluster(&[]));
    gateway.set_binder(Arc::new(Idle));
    let groups = [(Arc::from("counting"), mk_group("cluster.at-least", Mode::Enforce))].into();
    gateway.set_roster(Arc::new(Roster::new(groups, vec![])));
    filter(&gateway, "counting", "a");
    assert!(!told.0.load(Ordering::SeqCst));
    gateway.bind_calls.decided(Sender::of("stranger"), "counting", &Arc::new(mk_pod("s")), true);
    filter(&gateway, "counting", "b");
    assert!(told.0.load(Ordering::SeqCst));
    gateway.bind_calls.rejected(Sender::of("scheduler"), "uid-b");
    filter(&gateway, "counting", "c");
}

#[test]
fn where_no_filter_in_force_counts_nothing_is_kept_of_requests() {
    for (import, mode) in [
        ("nodes.label", Mode::Enforce),
        ("cluster.label-values", Mode::Enforce),
        ("placed.count", Mode::Shadow),
        ("placed.count", Mode::Off),
    ] {
        let gateway = mk_gateway(LONG);
        let groups = [(Arc::from("counting"), mk_group(import, mode))].into();
        gateway.set_roster(Arc::new(Roster::new(groups, vec![])));
        filter(&gateway, "counting", "a");
        filter(&gateway, "counting", "b");
        assert!(announce(&gateway, "a", "n1").is_none(), "{import} {mode:?}");
    }
}

#[test]
fn of_a_sender_that_may_not_bind_nothing_is_kept() {
    let gateway = mk_gateway(LONG);
    let names = ["n0".into()];
    let stranger = Query { may_bind: false, ..query_of(&gateway, "a", &names) };
    drop(gateway.filter("counting", &stranger).unwrap());
    assert!(announce(&gateway, "a", "n0").is_none());
}

#[test]
fn a_pod_that_no_node_is_left_for_is_not_expected() {
    let gateway = mk_gateway(LONG);
    let full: Vec<(String, &str)> = (0..6).map(|at| (format!("x{at}"), ["n0", "n1", "n2"][at % 3])).collect();
    gateway.set_cluster(mk_cluster(&full.iter().map(|(name, node)| (&**name, *node)).collect::<Vec<_>>()));
    assert_eq!(filter(&gateway, "counting", "a"), [0; 0]);
    assert_eq!(filter(&gateway, "counting", "b"), [0; 0]);
    assert!(announce(&gateway, "a", "n1").is_none());
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
        let gateway = mk_gateway(Duration::ZERO);
        let (mut base, mut announced): (BTreeMap<usize, usize>, BTreeMap<usize, (usize, Announcement)>) = Default::default();
        for (step, pod, node) in steps {
            let name = format!("p{pod}");
            match step {
                0 => {
                    base.insert(pod, node);
                    announced.remove(&pod);
                }
                1 => drop(base.remove(&pod)),
                2 if !base.contains_key(&pod) => {
                    gateway.bind_calls.decided(Sender::of("scheduler"), "counting", &Arc::new(mk_pod(&name)), true);
                    // An earlier announcement of the pod must not take the newer one with it.
                    let new = announce(&gateway, &name, ["n0", "n1", "n2"][node]).unwrap();
                    announced.insert(pod, (node, new));
                }
                _ => drop(announced.remove(&pod)),
            }
            if step < 2 {
                let placed: Vec<(String, &str)> =
                    base.iter().map(|(pod, node)| (format!("p{pod}"), ["n0", "n1", "n2"][*node])).collect();
                gateway.set_cluster(mk_cluster(&placed.iter().map(|(name, node)| (&**name, *node)).collect::<Vec<_>>()));
            }
            let expected = |nodes: Vec<usize>| -> Vec<i64> {
                let of = |node: usize| nodes.iter().filter(|own| **own == node).count() as i64;
                (0..3).map(of).chain([nodes.len() as i64]).collect()
            };
            let placed: Vec<usize> = base.values().copied().collect();
            let shown = placed.iter().copied().chain(announced.values().map(|(node, _)| *node)).collect();
            prop_assert_eq!(counts(gateway.bound_cluster().unwrap()), expected(placed));
            prop_assert_eq!(counts(gateway.cluster().unwrap()), expected(shown));
        }
    }
}
