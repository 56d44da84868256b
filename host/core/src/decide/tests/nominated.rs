//! Nominated pods: for whom they count, in every way of asking.

use serde_json::{Value as Json, json};

use super::fixture::*;
use crate::{
    decide::{CandidateQuery, NodeObject, Nodes, Victims},
    model::{NodeRead, Preemption, Read, Selector, Value, Verdict, View},
};

fn number(view: &View, read: Read<'_>) -> i64 {
    match view.read(read) {
        Ok(Value::Number(number)) => number,
        other => panic!("{read:?}: {other:?}"),
    }
}

/// Refuses every node; the reason is what it counts.
fn mk_counting() -> FakePolicy {
    let filter = FakePolicy::default().filter_each(|view, node| {
        let on_node = number(view, Read::PlacedCount(node));
        let requested = number(view, Read::Node(node, NodeRead::Requested("cpu")));
        unschedulable(&format!("{on_node} {requested} {}", number(view, Read::ClusterCount(Selector::all()))))
    });
    filter.function()
}

/// A pod that waits on n1 for its volumes, or for the end of the pods that it has preempted.
fn mk_nominated(uid: &str, priority: i32, is_preemptor: bool) -> Json {
    let mut pod = mk_placed(uid, "", priority, "1");
    pod["status"] = json!({"phase": "Pending", "nominatedNodeName": "n1"});
    if is_preemptor {
        pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
    }
    pod
}

#[test]
fn a_nominated_pod_counts_but_for_itself_and_a_preemptor_not_for_pods_of_higher_priority() {
    let mut ended = mk_nominated("a", 50, false);
    ended["status"]["phase"] = "Failed".into();
    let mut bound = mk_nominated("a", 9, true);
    (bound["spec"]["nodeName"], bound["status"]["nominatedNodeName"]) = ("n1".into(), "n2".into());
    // The pod of the request has the priority 10.
    let table = [
        (mk_nominated("a", 9, false), true),
        (mk_nominated("a", 9, true), false),
        (mk_nominated("a", 10, true), true),
        (mk_nominated("a", 50, true), true),
        (mk_nominated("a", 50, false), true),
        (mk_nominated("uid-new", 10, false), false),
        (mk_nominated("uid-new", 10, true), false),
        (ended, false),
        (bound, true),
    ];
    let (nodes, names) = (["n1", "n2"].map(|name| mk_node(name, &[])), cows(&["n1", "n2"]));
    let objects = nodes.clone().map(|node| NodeObject::Json(bytes(&node)));
    // One cache for all rows, each of which is asked again after the others.
    let fixture = Fixture::new(vec![mk_member("p", mk_counting(), |_| {})], None);
    for (pod, counts) in table.iter().chain(&table) {
        fixture.gateway.set_cluster(mk_cluster(&nodes, std::slice::from_ref(pod)));
        let [on_n1, on_n2] = if *counts { ["p: 1 1000 1", "p: 0 0 1"] } else { ["p: 0 0 0", "p: 0 0 0"] };
        for nodes in [Nodes::Names(&names), Nodes::Objects(&objects)] {
            let (outcome, after) = fixture.gateway.begin("").unwrap().dry_filter(&fixture.query(nodes)).unwrap();
            after.run();
            let refused = by_name(&outcome, &["n1", "n2"]);
            assert_eq!((refused["n1"].0.as_str(), refused["n2"].0.as_str()), (on_n1, on_n2), "{pod}");
        }
        let outcome = fixture.preempt(&[mk_candidate("n1", &[]), mk_candidate("n2", &[])]).unwrap();
        assert_eq!(dropped(&outcome), [(0, on_n1), (1, on_n2)], "{pod}");
        let explained = fixture.gateway.explain("", &mk_pod(), "n1").unwrap().verdict;
        assert_eq!(explained, Ok(Verdict::Unschedulable(on_n1.into())), "{pod}");
    }
}

#[test]
fn a_nominated_pod_is_a_victim_only_where_kube_scheduler_proposes_it() {
    // kube-scheduler looks victims up among the pods that are bound to the node or that it has assumed there: it fails the
    // whole call for any other.
    let replacing = FakePolicy::default().preempt_each(|view, at| {
        let placed = number(view, Read::PlacedCount(at)) as u32;
        Preemption::Replace((0..placed).collect())
    });
    let fixture = Fixture::new(vec![mk_member("p", replacing, |_| {})], None);
    let (nodes, bound) = (["n1", "n2"].map(|name| mk_node(name, &[])), mk_placed("a", "n1", 99, "1"));
    for (priority, is_preemptor) in [(9, false), (9, true), (10, false), (10, true), (50, false), (50, true)] {
        let nominated = mk_nominated("w", priority, is_preemptor);
        fixture
            .gateway
            .set_cluster(mk_cluster(&nodes, &[bound.clone(), nominated.clone(), mk_placed("b", "n2", 1, "1")]));
        // The preemptor of lower priority does not count for the pod: it is not on the node.
        let (alone, refused) = match (priority, is_preemptor) {
            (9, true) => (vec![(0, vec!["a"]), (1, vec!["b"])], vec![]),
            _ => (
                vec![(1, vec!["b"])],
                vec![(0, "p: victim web/w is nominated for the node, not bound to it: kube-scheduler cannot evict it")],
            ),
        };
        let mut assumed = nominated;
        assumed["spec"]["nodeName"] = "n1".into();
        for (proposed, objects) in [(&["a"][..], [&bound].as_slice()), (&["a", "w"], &[&bound, &assumed])] {
            let whole = Victims::Pods(objects.iter().map(|pod| bytes(pod)).collect());
            let whole = CandidateQuery { victims: whole, ..mk_candidate("n1", &[]) };
            for candidate in [mk_candidate("n1", proposed), whole] {
                let outcome = fixture.preempt(&[candidate, mk_candidate("n2", &["b"])]).unwrap();
                let (victims, reasons) = match proposed {
                    [_, _] => (vec![(0, vec!["a", "w"]), (1, vec!["b"])], vec![]),
                    _ => (alone.clone(), refused.clone()),
                };
                assert_eq!((kept(&outcome), dropped(&outcome)), (victims, reasons), "{priority} {is_preemptor}");
            }
        }
    }
}
