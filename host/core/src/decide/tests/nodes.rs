//! Where nodes come from: names with a cluster, or objects with and without one.

use std::sync::Arc;

use serde_json::Value as Json;

use super::fixture::*;
use crate::{
    decide::{DecideError, NodeObject, Nodes},
    model::{NodeRead, Read, Value, Verdict, View},
};

/// Refuses nodes by label, and reports the pods that it sees placed there.
fn mk_reporting() -> FakePolicy {
    FakePolicy::default().filter_each(|view, node| {
        let label =
            matches!(view.read(Read::Node(node, NodeRead::Label("pool"))), Ok(Value::Text(pool)) if pool == "a");
        if label { Verdict::Fits } else { unschedulable(&placed(view, node)) }
    })
}

fn placed(view: &View, node: u32) -> String {
    let (count, cpu) = (view.read(Read::PlacedCount(node)), view.read(Read::Node(node, NodeRead::Requested("cpu"))));
    match (count.unwrap(), cpu.unwrap()) {
        (Value::Number(count), Value::Number(cpu)) => format!("{count} pods, {cpu} cpu"),
        (Value::Number(count), Value::Absent) => format!("{count} pods"),
        other => panic!("{other:?}"),
    }
}

fn nodes() -> [Json; 2] {
    [mk_node("n1", &[("pool", "a")]), mk_node("n2", &[("pool", "b")])]
}

fn object(node: &Json) -> NodeObject {
    NodeObject::Json(bytes(node))
}

fn ask(fixture: &Fixture, objects: &[NodeObject]) -> Result<Refused, DecideError> {
    let (outcome, after) = fixture.gateway.filter("", &fixture.query(Nodes::Objects(objects)))?;
    after.run();
    Ok(by_name(&outcome, &["n1", "n2"]))
}

#[test]
fn names_without_a_cluster_are_an_error_that_says_what_to_do() {
    let fixture = Fixture::new(vec![mk_member("p", mk_reporting(), |_| {})], None);
    assert_eq!(fixture.filter(&["n1"]), Err(DecideError::NoCluster));
    assert!(DecideError::NoCluster.to_string().contains("--snapshot"));
    assert_eq!(fixture.preempt(&[mk_candidate("n1", &["u"])]), Err(DecideError::NoCluster));
}

#[test]
fn objects_need_no_cluster() {
    let fixture = Fixture::new(vec![mk_member("p", mk_reporting(), |_| {})], None);
    let refused = ask(&fixture, &nodes().map(|node| object(&node))).unwrap();
    assert_eq!(refused, Refused::from([("n2".into(), ("p: 0 pods".into(), false))]));
}

#[test]
fn objects_get_their_pods_from_the_cluster() {
    let pods = [mk_placed("u1", "n2", 0, "1"), mk_placed("u2", "n2", 0, "500m")];
    let cluster = mk_cluster(&nodes(), &pods);
    let fixture = Fixture::new(vec![mk_member("p", mk_reporting(), |_| {})], Some(cluster));
    let objects = nodes().map(|node| object(&node));
    let by_object = ask(&fixture, &objects).unwrap();
    assert_eq!(by_object["n2"].0, "p: 2 pods, 1500 cpu");
    assert_eq!(by_object, fixture.filter(&["n1", "n2"]).unwrap());
}

#[test]
fn the_object_of_the_request_counts_not_that_of_the_cluster() {
    let cluster = mk_cluster(&[mk_node("n1", &[("pool", "b")])], &[]);
    let fixture = Fixture::new(vec![mk_member("p", mk_reporting(), |_| {})], Some(cluster));
    assert_eq!(ask(&fixture, &[object(&mk_node("n1", &[("pool", "a")]))]), Ok(Refused::new()));
}

#[test]
fn slots_are_those_of_the_cluster_that_comes_with_them() {
    let [a, b] = nodes();
    let (current, earlier) = (mk_cluster(&[a.clone(), b.clone()], &[]), mk_cluster(&[b, a], &[]));
    let fixture = Fixture::new(vec![mk_member("p", mk_reporting(), |_| {})], Some(Arc::clone(&current)));
    let ask = |cluster, slots: &[u32]| {
        let nodes = Nodes::Slots { cluster, slots: &slots.into() };
        let (outcome, _) = fixture.gateway.filter("", &fixture.query(nodes))?;
        Ok(outcome.rejected.iter().map(|rejection| rejection.node).collect::<Vec<_>>())
    };
    assert_eq!(ask(Some(&current), &[0, 1]), Ok(vec![1]));
    assert_eq!(ask(Some(&earlier), &[0, 1]), Ok(vec![0]));
    assert_eq!(ask(Some(&earlier), &[1, Nodes::UNKNOWN, 0, 0]), Ok(vec![1, 2, 3]));
    assert_eq!(ask(None, &[0, 1]), Err(DecideError::NoCluster));
}

#[test]
fn a_pod_with_a_place_reserved_counts_once_there_and_never_for_itself() {
    let own = mk_pod();
    let nodes = ["n1", "n2"].map(|name| mk_node(name, &[]));
    let placed = mk_placed(own.uid(), "n1", 0, "1");
    let cluster = mk_cluster(&nodes, std::slice::from_ref(&placed));
    let placed = crate::model::Pod::placed_from_json(&bytes(&placed)).unwrap();
    let reserved = [(Box::from(own.uid()), Arc::new(placed))].into_iter().collect();
    let cluster = Arc::into_inner(cluster).unwrap().with_reserved(Arc::new(reserved));
    let fixture = Fixture::new(vec![mk_member("p", mk_reporting(), |_| {})], Some(Arc::new(cluster)));
    let counts = |refused: Refused| refused.into_values().map(|(reason, _)| reason).collect::<Vec<_>>();
    assert!(own.node().is_none(), "the request says nothing of a node");
    assert_eq!(counts(fixture.filter(&["n1", "n2"]).unwrap()), ["p: 0 pods, 0 cpu", "p: 0 pods, 0 cpu"]);
    let objects = nodes.map(|node| object(&node));
    assert_eq!(counts(ask(&fixture, &objects).unwrap()), ["p: 0 pods, 0 cpu", "p: 0 pods, 0 cpu"]);
    let names = cows(&["n1", "n2"]);
    let other = Arc::new(
        crate::model::Pod::from_json(bytes(&serde_json::json!({"metadata": {"name": "o", "uid": "o"}}))).unwrap(),
    );
    let other = crate::decide::Query { pod: other, ..fixture.query(Nodes::Names(&names)) };
    let (outcome, _) = fixture.gateway.filter("", &other).unwrap();
    assert_eq!(counts(by_name(&outcome, &["n1", "n2"])), ["p: 1 pods, 1000 cpu", "p: 0 pods, 0 cpu"]);
}
