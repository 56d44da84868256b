//! Tentative places: a pod that has its node before its bind gets one, and counts there for every other pod.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use super::fixture::*;
use crate::{
    decide::{BindOutcome, DecideError, Member, NodeObject, Nodes, Query, Unbound},
    gateway::Gateway,
    model::{
        BindError, BindQuery, Binder, Binding, BoundClaims, Claim, Clock, Cluster, IsUnchanged, Leader, Node, NodeRead,
        NominatedFor, NotReserved, PlaceMode, Places, Pod, PolicyConfig, Read, Reservation, Value, Verdict, View,
        WaitingChange, WaitingPod,
    },
};

const NODES: [&str; 3] = ["n1", "n2", "n3"];
const SECOND: Duration = Duration::from_secs(1);

/// The store of the cluster, and the API server behind it, which takes every binding.
struct Board {
    gateway: Weak<Gateway>,
    nodes: Vec<Json>,
    held: Mutex<BTreeMap<String, Arc<Pod>>>,
    bound: Mutex<Vec<Pod>>,
    leader: Leader,
    leads_for: Duration,
    claims: Mutex<BoundClaims>,
}

struct Bound<'b>(&'b Board, Pod);

impl Board {
    fn publish(&self) {
        let held: Vec<Arc<Pod>> = self.held.lock().unwrap().values().cloned().collect();
        let nodes = self.nodes.iter().map(|node| Node::from_json(bytes(node)).unwrap()).collect();
        let bound = self.bound.lock().unwrap().clone();
        let pods = bound.into_iter().chain(held.iter().map(|pod| Pod::clone(pod))).collect();
        let reserved = held.iter().map(|pod| (pod.uid().into(), Arc::clone(pod))).collect();
        let cluster = Cluster::from_objects(nodes, pods).with_reserved(Arc::new(reserved));
        let cluster = cluster.with_bound_claims(Some(Arc::new(self.claims.lock().unwrap().clone())));
        self.gateway.upgrade().unwrap().set_cluster(Arc::new(cluster.with_tentative_places(held.into())));
    }
}

impl Places for Board {
    fn hold(&self, pod: Arc<Pod>, _: Instant) {
        self.held.lock().unwrap().insert(pod.uid().to_owned(), pod);
        self.publish();
    }

    fn leave(&self, uid: &str) {
        self.held.lock().unwrap().remove(uid);
        self.publish();
    }
}

impl Binder for Board {
    fn leader(&self) -> Leader {
        self.leader.clone()
    }

    fn leads_for(&self) -> Duration {
        self.leads_for
    }

    fn pod(&self, _: &str, name: &str, _: Instant) -> Result<Arc<Pod>, BindError> {
        Ok(mk_pod(name))
    }

    fn reserve(
        &self,
        pod: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        assert!(is_unchanged(&self.gateway.upgrade().unwrap().cluster().unwrap()));
        Ok(Box::new(Bound(self, pod.placed_on(&binding.node, &BTreeMap::new(), &BTreeMap::new()))))
    }
}

impl Reservation for Bound<'_> {
    fn bind(self: Box<Self>, _: &Arc<Pod>, _: Instant) -> Result<(), BindError> {
        let Self(board, pod) = *self;
        board.held.lock().unwrap().remove(pod.uid());
        board.bound.lock().unwrap().push(pod);
        board.publish();
        Ok(())
    }
}

/// At most one pod on a node.
fn mk_limit(places: PlaceMode) -> Arc<Member> {
    let one = FakePolicy::default().importing(&["placed.count"]).filter_each(|view, node| {
        match view.read(Read::PlacedCount(node)) {
            Ok(Value::Number(0)) => Verdict::Fits,
            other => unschedulable(if matches!(other, Ok(Value::Number(_))) { "full" } else { "unknown" }),
        }
    });
    mk_member("limit", one.function(), |config| config.places = places)
}

fn mk_world(members: Vec<Arc<Member>>, nodes: &[Json], leader: Leader, leads_for: Duration) -> (Fixture, Arc<Board>) {
    let fixture = Fixture::new(members, None);
    let board = Arc::new(Board {
        gateway: Arc::downgrade(&fixture.gateway),
        nodes: nodes.to_vec(),
        held: Mutex::default(),
        bound: Mutex::default(),
        leader,
        leads_for,
        claims: Mutex::default(),
    });
    board.publish();
    fixture.gateway.set_binder(Arc::clone(&board) as _);
    fixture.gateway.set_places(Arc::clone(&board) as _);
    fixture.gateway.set_keeper(true, Box::new(|| {}));
    (fixture, board)
}

fn mk_three_with(places: PlaceMode) -> (Fixture, Arc<Board>) {
    mk_world(vec![mk_limit(places)], &NODES.map(|name| mk_node(name, &[])), Leader::ThisReplica, Duration::MAX)
}

/// A pod `a`, a pod `a@g` of the group `g`, or a pod `a=c` with the claim `c`.
fn mk_pod(text: &str) -> Arc<Pod> {
    let (text, claim) = text.split_once('=').unwrap_or((text, ""));
    let (uid, gang) = text.split_once('@').unwrap_or((text, ""));
    let owner = json!([{"kind": "StatefulSet", "name": "set", "uid": "set", "controller": true}]);
    let mut pod =
        json!({"metadata": {"name": text, "namespace": "ml", "uid": uid, "ownerReferences": owner}, "spec": {}});
    if !gang.is_empty() {
        pod["spec"]["schedulingGroup"] = json!({"podGroupName": gang});
    }
    if !claim.is_empty() {
        pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]);
    }
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}

/// The nodes that are left to a pod.
fn ask(fixture: &Fixture, pod: &str) -> Vec<&'static str> {
    let names = cows(&NODES);
    let query = Query { pod: mk_pod(pod), ..fixture.query(Nodes::Names(&names)) };
    let (outcome, after) = fixture.gateway.filter("", &query).unwrap();
    after.run();
    let refused = by_name(&outcome, &NODES);
    NODES.into_iter().filter(|name| !refused.contains_key(*name)).collect()
}

fn bind(fixture: &Fixture, pod: &str, node: &'static str) -> Result<BindOutcome, DecideError> {
    let uid = pod.split('@').next().unwrap().to_owned();
    let (name, received) = (pod.to_owned(), fixture.clock.now());
    let query = BindQuery { namespace: "ml".into(), name: name.into(), uid: uid.into(), node: node.into(), received };
    fixture.gateway.bind("", &query).map(|(outcome, _)| outcome)
}

fn wakes(fixture: &Fixture) -> bool {
    fixture.gateway.keep_places();
    let wake = fixture.gateway.revisit_waiting_pods();
    wake.map(|wake| fixture.gateway.woken(wake)).is_some()
}

#[test]
fn each_member_of_a_gang_gets_one_node_where_it_counts_for_every_other_pod() {
    let (fixture, _) = mk_three_with(PlaceMode::Early);
    assert_eq!(ask(&fixture, "p"), NODES, "a pod that is bound at once gets all");
    let given: Vec<_> = ["a@g", "b@g"].map(|pod| ask(&fixture, pod)).concat();
    assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 2, "{given:?}");
    let free: Vec<_> = NODES.into_iter().filter(|node| !given.contains(node)).collect();
    assert_eq!((ask(&fixture, "p"), ask(&fixture, "x@h")), (free.clone(), free));
    assert!(ask(&fixture, "c@g").is_empty() && ask(&fixture, "p").is_empty());
    // It is asked about again: its own place does not stand in its way.
    assert_eq!(ask(&fixture, "a@g"), [given[0]]);
}

#[test]
fn under_a_new_leader_the_rest_of_a_gang_and_pods_with_bound_volumes_go_first() {
    let nodes = NODES.map(|name| mk_node(name, &[]));
    for (seconds, is_first) in [(29, true), (30, false)] {
        let (fixture, board) =
            mk_world(vec![mk_limit(PlaceMode::Early)], &nodes, Leader::ThisReplica, SECOND * seconds);
        let bound = mk_pod("a@g").placed_on("n1", &BTreeMap::new(), &BTreeMap::new());
        board.bound.lock().unwrap().push(bound);
        board.publish();
        let change = |pod| WaitingChange::Shown(WaitingPod { pod: mk_pod(pod), nominated: None });
        let names = cows(&NODES);
        let filter = |pod| {
            let query = Query { pod: mk_pod(pod), ..fixture.query(Nodes::Names(&names)) };
            fixture.gateway.filter("", &query).map(|_| ())
        };
        assert_eq!(filter("x@h"), Ok(()), "nobody of the gang waits");
        fixture.gateway.waiting_changed(change("b@g"));
        for other in ["x@h", "p"] {
            assert_eq!(matches!(filter(other), Err(DecideError::NoPlaces(_))), is_first, "{other}");
        }
        // Another replica has answered the filter.
        fixture.gateway.waiting_changed(change("p"));
        assert_eq!(matches!(bind(&fixture, "p", "n2"), Err(DecideError::NoPlaces(_))), is_first);
        assert_eq!(filter("b@g"), Ok(()));

        fixture.gateway.waiting_changed(WaitingChange::Gone("b".into()));
        assert_eq!(filter("y=late"), Ok(()), "no pod has begun");
        board.claims.lock().unwrap().set(&Claim::unbound("ml", "bound"), true);
        board.publish();
        fixture.gateway.waiting_changed(change("z=bound"));
        assert_eq!(matches!(filter("y=late"), Err(DecideError::NoPlaces(_))), is_first);
        assert_eq!((filter("z=bound"), filter("p")), (Ok(()), Ok(())));
    }
}

#[test]
fn an_explanation_says_that_a_pod_gets_one_node_only() {
    let (fixture, _) = mk_three_with(PlaceMode::Early);
    let explain = |pod| fixture.gateway.explain("", &mk_pod(pod), "n1").unwrap();
    assert!(explain("a@g").gets_one_node && !explain("p").gets_one_node);
}

#[test]
fn a_place_ends_two_seconds_after_its_gang_was_asked_about_and_who_was_kept_away_is_woken() {
    let (fixture, board) = mk_three_with(PlaceMode::Early);
    for at in NODES {
        assert_eq!(ask(&fixture, &format!("{at}@g")).len(), 1);
    }
    let pod = mk_pod("p");
    fixture.gateway.waiting_changed(WaitingChange::Shown(WaitingPod { pod, nominated: None }));
    assert!(ask(&fixture, "p").is_empty());
    fixture.clock.advance(SECOND);
    assert!(!wakes(&fixture));
    ask(&fixture, "n3@g");
    fixture.clock.advance(Duration::from_millis(1_999));
    assert!(!wakes(&fixture) && board.held.lock().unwrap().len() == 3, "a member was asked about meanwhile");
    fixture.clock.advance(Duration::from_millis(1));
    assert!(wakes(&fixture) && board.held.lock().unwrap().is_empty());
    assert_eq!(ask(&fixture, "p"), NODES);
}

#[test]
fn once_a_member_is_nominated_the_others_keep_their_places_until_they_are() {
    let (fixture, board) = mk_three_with(PlaceMode::Early);
    for at in NODES {
        assert_eq!(ask(&fixture, &format!("{at}@g")).len(), 1);
    }
    let nominated = Some(NominatedFor { node: "n1".into(), is_own: false });
    fixture.gateway.waiting_changed(WaitingChange::Shown(WaitingPod { pod: mk_pod("n1@g"), nominated }));
    fixture.gateway.waiting_changed(WaitingChange::Gone("n2".into()));
    for (seconds, held) in [(59, 3), (1, 2)] {
        fixture.clock.advance(seconds * SECOND);
        fixture.gateway.keep_places();
        assert_eq!(board.held.lock().unwrap().len(), held, "the store itself ends those that it sees elsewhere");
    }
}

#[test]
fn where_volumes_bring_no_nomination_a_place_lasts_until_the_attempt_has_failed() {
    let condition = |text: &str| {
        let mut pod: Json = serde_json::from_slice(mk_pod("a").json().unwrap()).unwrap();
        pod["status"] = json!({"conditions": [{"type": "PodScheduled", "message": text}]});
        WaitingPod { pod: Arc::new(Pod::from_json(bytes(&pod)).unwrap()), nominated: None }
    };
    for (has_nominations, seconds, is_over) in [(true, 2, true), (false, 2, false), (false, 600, true)] {
        let (fixture, board) = mk_three_with(PlaceMode::All);
        if has_nominations {
            fixture.gateway.expect_nominations();
        }
        assert_eq!(ask(&fixture, "a").len(), 1);
        fixture.clock.advance(seconds * SECOND);
        fixture.gateway.keep_places();
        assert_eq!(board.held.lock().unwrap().is_empty(), is_over, "{has_nominations} {seconds}");
        fixture.gateway.waiting_changed(WaitingChange::Shown(condition("failed")));
        assert!(board.held.lock().unwrap().is_empty());
    }
}

#[test]
fn at_bind_a_pod_without_a_place_yields_to_places_and_one_with_a_place_does_not() {
    let (fixture, board) = mk_three_with(PlaceMode::Early);
    let place = ask(&fixture, "a@g")[0];
    let refused = bind(&fixture, "p", place);
    assert!(matches!(refused, Err(DecideError::Unbound(Unbound::Refused(_)))), "{refused:?}");
    // A gang's member never yields: half of a gang helps nobody.
    board.hold(Arc::new(mk_pod("x@h").placed_on(place, &BTreeMap::new(), &BTreeMap::new())), fixture.clock.now());
    assert_eq!(bind(&fixture, "a@g", place), Ok(BindOutcome::Bound));
    let refused = bind(&fixture, "p", place);
    assert!(matches!(refused, Err(DecideError::Unbound(Unbound::Refused(_)))), "the limit holds: {refused:?}");
}

#[test]
fn a_bind_that_fails_ends_the_place() {
    let (fixture, board) = mk_three_with(PlaceMode::Early);
    let place = ask(&fixture, "a@g")[0];
    board.bound.lock().unwrap().push(mk_pod("x").placed_on(place, &BTreeMap::new(), &BTreeMap::new()));
    board.publish();
    assert!(bind(&fixture, "a@g", place).is_err());
    assert!(board.held.lock().unwrap().is_empty());
}

/// 150 nodes; the limit holds for three of them, and the others are not for the pod `p`, which waits.
fn mk_pool() -> (Fixture, Arc<Board>) {
    let pool = FakePolicy::default().function().filter_each(|view, node| match name_of(view, node).as_str() {
        "n0" | "n1" | "n2" => Verdict::Fits,
        _ => unschedulable("outside the pool"),
    });
    let nodes: Vec<Json> = (0..150).map(|at| mk_node(&format!("n{at}"), &[])).collect();
    let members = vec![mk_member("pool", pool, |_| {}), mk_limit(PlaceMode::All)];
    let (fixture, board) = mk_world(members, &nodes, Leader::ThisReplica, Duration::MAX);
    fixture.gateway.answer_for_whole_cluster();
    let shown = WaitingPod { pod: mk_pod("p"), nominated: None };
    fixture.gateway.waiting_changed(WaitingChange::Shown(shown));
    (fixture, board)
}

/// Asks about nodes outside of the pool; returns the node that the pod is to be nominated for.
fn nominated(fixture: &Fixture, may_bind: bool) -> Option<Arc<str>> {
    let names: Vec<String> = (10..110).map(|at| format!("n{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cows = cows(&names);
    let query = Query { pod: mk_pod("p"), may_bind, ..fixture.query(Nodes::Names(&cows)) };
    assert_eq!(fixture.gateway.filter("", &query).unwrap().0.rejected.len(), 100);
    fixture.clock.advance(Duration::from_millis(100));
    let (patches, _) = fixture.gateway.keep_places();
    for patch in &patches {
        fixture.gateway.nomination_sent(patch, true);
    }
    patches.first().and_then(|patch| patch.node.clone())
}

#[test]
fn a_place_on_the_nominated_node_lasts_until_the_bind() {
    let (fixture, board) = mk_pool();
    let node = nominated(&fixture, true).unwrap();
    let mut pod: Json = serde_json::from_slice(mk_pod("p").json().unwrap()).unwrap();
    pod["status"] = json!({"nominatedNodeName": &*node});
    let pod = Arc::new(Pod::from_json(bytes(&pod)).unwrap());
    let alone = cows(&[&node]);
    let query = Query { pod, ..fixture.query(Nodes::Names(&alone)) };
    assert!(fixture.gateway.filter("", &query).unwrap().0.rejected.is_empty());
    for _ in 0..10 {
        fixture.clock.advance(SECOND);
        assert!(fixture.gateway.keep_places().0.is_empty() && board.held.lock().unwrap().contains_key("p"));
    }
}

#[test]
fn a_client_that_may_not_bind_changes_nothing_for_a_pod() {
    let (fixture, board) = mk_pool();
    assert_eq!(nominated(&fixture, false), None);
    assert!(board.held.lock().unwrap().is_empty());
    assert!(fixture.gateway.pending().iter().all(|pod| pod.asked.is_empty()));
    assert!(nominated(&fixture, true).is_some());
}

#[test]
fn pods_of_one_owner_go_to_the_best_nodes_and_of_equal_ones_to_each_zone_alike() {
    let names: Vec<String> = (0..9).map(|at| format!("n{at}")).collect();
    let zone = |at: usize| ["a", "b", "c"][at / 3];
    let nodes: Vec<Json> = (0..9).map(|at| mk_node(&names[at], &[("topology.kubernetes.io/zone", zone(at))])).collect();
    let no_last =
        FakePolicy::default().score_each(|view: &View, node| if name_of(view, node) == "n8" { 10 } else { 90 });
    let members = vec![mk_limit(PlaceMode::All), mk_member("best", no_last, |_| {})];
    let (fixture, board) = mk_world(members, &nodes, Leader::ThisReplica, Duration::MAX);
    let refs: Vec<&str> = names.iter().map(String::as_str).collect();
    let cows = cows(&refs);
    for pod in 0..6 {
        let query = Query { pod: mk_pod(&pod.to_string()), ..fixture.query(Nodes::Names(&cows)) };
        assert_eq!(fixture.gateway.filter("", &query).unwrap().0.rejected.len(), 8);
    }
    let held = board.held.lock().unwrap();
    let mut by_zone = BTreeMap::<&str, usize>::new();
    for pod in held.values() {
        assert_ne!(pod.node(), Some("n8"));
        *by_zone.entry(zone(pod.node().unwrap()[1..].parse().unwrap())).or_default() += 1;
    }
    assert_eq!(by_zone, BTreeMap::from([("a", 2), ("b", 2), ("c", 2)]));
}

#[test]
fn only_the_leader_gives_places_and_only_for_policies_and_clients_that_need_them() {
    let world = |places, leader, leads_for| {
        mk_world(vec![mk_limit(places)], &NODES.map(|name| mk_node(name, &[])), leader, leads_for).0
    };
    for (places, leader, leads_for, expected) in [
        (PlaceMode::Early, Leader::ThisReplica, Duration::MAX, 1),
        (PlaceMode::None, Leader::ThisReplica, SECOND, 3),
        (PlaceMode::None, Leader::Nobody("it is vacant".to_owned()), Duration::MAX, 3),
    ] {
        assert_eq!(ask(&world(places, leader, leads_for), "a@g").len(), expected);
    }
    // A place that an earlier leader has given may not be known yet: kube-scheduler tries the pod again.
    for (leader, leads_for) in
        [(Leader::ThisReplica, SECOND), (Leader::Nobody("it is vacant".to_owned()), Duration::MAX)]
    {
        let begun = world(PlaceMode::Early, leader, leads_for);
        let names = cows(&NODES);
        let query = Query { pod: mk_pod("a@g"), ..begun.query(Nodes::Names(&names)) };
        let error = begun.gateway.filter("", &query).unwrap_err();
        assert!(matches!(error, DecideError::NoPlaces(_)), "{error}");
    }
    let peer = world(PlaceMode::Early, Leader::Peer("http://10.0.0.2".into()), Duration::MAX);
    let names = cows(&NODES);
    let query = Query { pod: mk_pod("a@g"), ..peer.query(Nodes::Names(&names)) };
    assert_eq!(peer.gateway.filter("", &query).unwrap_err(), DecideError::Elsewhere("http://10.0.0.2".into()));
    let leader = world(PlaceMode::Early, Leader::ThisReplica, Duration::MAX);
    let others = Query { may_bind: false, ..query.clone() };
    assert!(leader.gateway.filter("", &others).unwrap().0.rejected.is_empty(), "it cannot be kube-scheduler");
    let shadow = Arc::into_inner(mk_limit(PlaceMode::Early)).unwrap();
    let config = PolicyConfig { mode: crate::model::Mode::Shadow, ..shadow.config };
    let nodes = NODES.map(|name| mk_node(name, &[]));
    let shadow = mk_world(vec![Arc::new(Member { config, ..shadow })], &nodes, Leader::ThisReplica, Duration::MAX).0;
    assert_eq!(ask(&shadow, "a@g").len(), 3);
    // Whole nodes are answered in the same way.
    let objects: Vec<NodeObject> = nodes.iter().map(|node| NodeObject::Json(bytes(node))).collect();
    let whole = Query { nodes: Nodes::Objects(&objects), ..query };
    assert_eq!(leader.gateway.filter("", &whole).unwrap().0.rejected.len(), 2);
}

#[test]
fn a_replica_that_passes_on_a_pod_without_a_node_keeps_the_answers_of_its_policies() {
    let first = FakePolicy::default().function().filter_each(|view, node| {
        match view.read(Read::Node(node, NodeRead::Label("first"))) {
            Ok(Value::Text(text)) if text == "yes" => Verdict::Fits,
            _ => unschedulable("not the first"),
        }
    });
    let is_first = |at| if at == 0 { "yes" } else { "no" };
    let nodes: Vec<Json> = (0..110).map(|at| mk_node(&format!("n{at}"), &[("first", is_first(at))])).collect();
    let peer = Leader::Peer("http://10.0.0.2".into());
    let (fixture, _) = mk_world(vec![mk_member("first", first, |_| {})], &nodes, peer, Duration::MAX);
    fixture.gateway.answer_for_whole_cluster();
    let offered: Vec<String> = (1..110).map(|at| format!("n{at}")).collect();
    let offered: Vec<&str> = offered.iter().map(String::as_str).collect();
    let names = cows(&offered);
    for evaluated in [1, 0] {
        let query = Query { pod: mk_pod("p"), ..fixture.query(Nodes::Names(&names)) };
        let error = fixture.gateway.filter("", &query).unwrap_err();
        assert_eq!(error, DecideError::Elsewhere("http://10.0.0.2".into()));
        assert_eq!(fixture.evaluated(), [evaluated]);
    }
}
