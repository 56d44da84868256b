//! Reads about the whole cluster: the pods that they count, the caching of answers by them, and their explanation.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::fixture::*;
use crate::{
    decide::{NodeObject, Nodes},
    model::{Cluster, NodeRead, Pod, Read, Selector, Shown, SurveyAnswer, Value, Verb, Verdict, View},
};

const NAMES: [&str; 4] = ["n1", "n2", "n3", "n4"];

fn web() -> Selector<&'static str> {
    Selector { label: Some(("app", "web")), ..Selector::all() }
}

fn number(view: &View, read: Read<'_>) -> Option<i64> {
    match view.read(read) {
        Ok(Value::Number(number)) => Some(number),
        Ok(Value::Absent) => None,
        other => panic!("{read:?}: {other:?}"),
    }
}

/// Four nodes, two in each zone, with this many pods of the app `web` on n4.
fn mk_world(pods: usize) -> Arc<Cluster> {
    let zones = ["a", "a", "b", "b"];
    let nodes: Vec<Json> = NAMES.iter().zip(zones).map(|(name, zone)| mk_node(name, &[("zone", zone)])).collect();
    let pods: Vec<Json> = (0..pods).map(|at| mk_placed(&format!("w{at}"), "n4", 1, "1")).collect();
    mk_cluster(&nodes, &pods)
}

/// Refuses nodes of zone a where the cluster has `most` pods of the app `web`.
fn mk_limit(most: u64) -> FakePolicy {
    FakePolicy::default().filter_each(move |view, node| {
        let is_in_a = view.read(Read::Node(node, NodeRead::Label("zone"))) == Ok(Value::text("a"));
        let is_full = || number(view, Read::ClusterAtLeast { selector: web(), n: most }) == Some(1);
        if is_in_a && is_full() { unschedulable("full") } else { Verdict::Fits }
    })
}

/// As [`mk_limit`], by the exact count.
fn mk_count(most: i64) -> FakePolicy {
    FakePolicy::default().filter_each(move |view, node| {
        let is_in_a = view.read(Read::Node(node, NodeRead::Label("zone"))) == Ok(Value::text("a"));
        let is_full = || number(view, Read::ClusterCount(web())).is_some_and(|count| count >= most);
        if is_in_a && is_full() { unschedulable("full") } else { Verdict::Fits }
    })
}

/// The names of the nodes that are refused, and how many evaluations that took.
fn filter(fixture: &Fixture, names: &[&str]) -> (Vec<String>, usize) {
    let refused = fixture.filter(names).unwrap();
    (refused.into_keys().collect(), fixture.evaluated().iter().sum())
}

fn refused(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn an_answer_by_a_limit_is_cached_until_the_count_passes_it() {
    let fixture = Fixture::new(vec![mk_member("limit", mk_limit(3).function(), |_| {})], Some(mk_world(0)));
    assert_eq!(filter(&fixture, &NAMES), (refused(&[]), 2), "one node of each zone");
    for pods in [1, 2] {
        fixture.gateway.set_cluster(mk_world(pods));
        assert_eq!(filter(&fixture, &NAMES), (refused(&[]), 0), "{pods}");
    }
    fixture.gateway.set_cluster(mk_world(3));
    assert_eq!(filter(&fixture, &NAMES), (refused(&["n1", "n2"]), 1), "only zone a reads the count");
    for (pods, names) in [(4, &["n1", "n2"][..]), (2, &[]), (9, &["n1", "n2"])] {
        fixture.gateway.set_cluster(mk_world(pods));
        assert_eq!(filter(&fixture, &NAMES), (refused(names), 0), "{pods}");
    }
}

#[test]
fn after_a_change_only_answers_whose_path_has_the_value_are_evaluated_again() {
    let fixture = Fixture::new(vec![mk_member("count", mk_count(3).function(), |_| {})], Some(mk_world(0)));
    assert_eq!(filter(&fixture, &NAMES), (refused(&[]), 2));
    fixture.gateway.set_cluster(mk_world(1));
    assert_eq!(filter(&fixture, &NAMES), (refused(&[]), 1), "one node of zone a");
    fixture.gateway.set_cluster(mk_world(0));
    assert_eq!(filter(&fixture, &NAMES), (refused(&[]), 0), "0 was seen before");
    fixture.gateway.set_cluster(mk_world(3));
    assert_eq!(filter(&fixture, &NAMES), (refused(&["n1", "n2"]), 1));
}

#[test]
fn the_answer_does_not_depend_on_the_nodes_of_the_request() {
    let fixture = Fixture::new(vec![mk_member("limit", mk_limit(2).function(), |_| {})], Some(mk_world(2)));
    assert_eq!(filter(&fixture, &["n1"]).0, refused(&["n1"]), "the pods are on n4");
}

#[test]
fn every_read_has_its_value_and_none_without_a_view_of_the_cluster() {
    let mut pods = vec![mk_placed("a", "n1", 1, "1"), mk_placed("b", "n3", 1, "2"), mk_placed("c", "gone", 1, "4")];
    pods[1]["metadata"]["namespace"] = "ml".into();
    pods[1]["metadata"]["annotations"] = json!({"licence": "x"});
    let nodes = [mk_node("n1", &[("zone", "a")]), mk_node("n2", &[("zone", "a")]), mk_node("n3", &[("zone", "b")])];
    let view = View::new(mk_pod(), mk_cluster(&nodes, &pods), Arc::from([0]), 0);
    let all = Selector::all();
    let table = [
        (Read::ClusterCount(all), 3),
        (Read::ClusterCount(web()), 3),
        (Read::ClusterCount(Selector { namespace: Some("ml"), ..all }), 1),
        (Read::ClusterCount(Selector { annotation: Some(("licence", "x")), ..all }), 1),
        (Read::ClusterCount(Selector { annotation: Some(("licence", "y")), ..all }), 0),
        // One is on a node that the cluster does not have.
        (Read::ClusterCount(Selector { node_label: Some(("zone", "a")), ..all }), 1),
        (Read::ClusterCount(Selector { namespace: Some("web"), node_label: Some(("zone", "b")), ..all }), 0),
        (Read::ClusterCountUpTo { selector: all, n: 2 }, 2),
        (Read::ClusterCountUpTo { selector: all, n: u64::MAX }, 3),
        (Read::ClusterAtLeast { selector: all, n: 3 }, 1),
        (Read::ClusterAtLeast { selector: all, n: 4 }, 0),
        (Read::ClusterRequested { selector: all, name: "cpu" }, 7_000),
        (Read::ClusterRequested { selector: Selector { node_label: Some(("zone", "b")), ..all }, name: "cpu" }, 2_000),
        (Read::ClusterNodesWithLabel { key: "zone", value: "a" }, 2),
        (Read::ClusterNodesWithLabel { key: "zone", value: "c" }, 0),
    ];
    let blind = view.clone().without_cluster();
    for (read, expected) in table {
        assert_eq!(number(&view, read), Some(expected), "{read}");
        assert_eq!(number(&blind, read), None, "{read}");
    }
    let values = view.read(Read::ClusterLabelValues("zone")).unwrap();
    assert_eq!(Shown::of(&values, 100).to_string(), r#"["a: 2", "b: 1"]"#);
    assert_eq!(blind.read(Read::ClusterLabelValues("zone")), Ok(Value::Absent));
}

#[test]
fn the_pod_itself_does_not_count_wherever_it_is_reserved() {
    let own = mk_placed("uid-new", "n2", 1, "1");
    let with_own = |limit: u64, reserved: &[(&str, &str)]| {
        let mut pods = vec![mk_placed("w0", "n4", 1, "1"), own.clone()];
        pods[1]["metadata"]["name"] = "new".into();
        let nodes: Vec<Json> = NAMES.iter().map(|name| mk_node(name, &[("zone", "a")])).collect();
        let placed = |uid, node| Pod::placed_from_json(&bytes(&mk_placed(uid, node, 1, "1"))).unwrap();
        let reserved = reserved.iter().map(|(uid, node)| (Box::from(*uid), Arc::new(placed(uid, node)))).collect();
        let cluster = Arc::try_unwrap(mk_cluster(&nodes, &pods)).unwrap().with_reserved(Arc::new(reserved));
        let fixture = Fixture::new(vec![mk_member("limit", mk_limit(limit), |_| {})], Some(Arc::new(cluster)));
        fixture.filter(&["n1"]).unwrap().is_empty()
    };
    assert!(with_own(2, &[("uid-new", "n2")]), "one pod and itself");
    assert!(!with_own(1, &[("uid-new", "n2")]));
    assert!(!with_own(2, &[]), "nothing says that it is the pod of the request");
}

#[test]
fn a_candidate_for_preemption_is_asked_about_with_its_own_victims_gone() {
    let pods = [mk_placed("a", "n1", 1, "1"), mk_placed("b", "n2", 1, "1"), mk_placed("c", "n2", 1, "1")];
    let nodes = ["n1", "n2", "n3"].map(|name| mk_node(name, &[("zone", "a")]));
    let asked = |limit: u64| {
        let members = vec![mk_member("limit", mk_limit(limit).function(), |_| {})];
        let fixture = Fixture::new(members, Some(mk_cluster(&nodes, &pods)));
        let candidates = [mk_candidate("n1", &["a"]), mk_candidate("n2", &["b", "c"]), mk_candidate("n3", &[])];
        let outcome = fixture.preempt(&candidates).unwrap();
        outcome.kept.iter().map(|kept| kept.candidate).collect::<Vec<_>>()
    };
    assert_eq!(asked(1), [0u32; 0]);
    assert_eq!(asked(2), [1], "one is left without b and c");
    assert_eq!(asked(3), [0, 1], "two are left without a");
    assert_eq!(asked(4), [0, 1, 2]);
}

#[test]
fn whole_nodes_are_counted_with_the_cluster_that_is_watched_and_never_by_themselves() {
    let nodes = [NodeObject::Json(bytes(&mk_node("n1", &[("zone", "a")])))];
    let limit = |cluster| Fixture::new(vec![mk_member("limit", mk_limit(2).function(), |_| {})], cluster);
    for (cluster, expected) in [(Some(mk_world(2)), 1), (Some(mk_world(1)), 0), (None, 0)] {
        let fixture = limit(cluster);
        let (outcome, _) = fixture.gateway.filter("", &fixture.query(Nodes::Objects(&nodes))).unwrap();
        assert_eq!(outcome.rejected.len(), expected);
    }
}

#[test]
fn an_explanation_shows_the_read_with_its_value_and_that_the_answer_is_cached() {
    let fixture = Fixture::new(vec![mk_member("limit", mk_limit(2).function(), |_| {})], Some(mk_world(5)));
    let explanation = fixture.gateway.explain("", &mk_pod(), "n1").unwrap();
    let answer = &explanation.answers[0];
    assert!(answer.is_cached);
    assert_eq!(answer.answer, Ok(SurveyAnswer::Verdict(unschedulable("full"))));
    let reads: Vec<String> = answer.reads.iter().map(|line| format!("{} = {}", line.read, line.value)).collect();
    let expected = [r#"node.label("zone") = "a""#, r#"cluster.at-least({label: "app"="web"}, 2) = true"#];
    assert_eq!(reads, expected);
    fixture.filter(&["n1", "n3"]).unwrap();
    let tables = fixture.gateway.decision_tables("limit").unwrap();
    let (Verb::Filter, table) = &tables[0] else { panic!("{tables:?}") };
    let read = table.rows.iter().flat_map(|row| &row.conditions).find(|own| own.read.starts_with("cluster.")).unwrap();
    assert_eq!(read.values, [Shown::Flag(true)]);
}

#[test]
fn a_bind_does_not_count_its_own_pod_and_counts_what_others_have_reserved() {
    let bind = |limit: i64| {
        FakePolicy::default().bind(move |ask, _| {
            let count = number(&ask.view, Read::ClusterCount(web())).unwrap();
            Ok(if count < limit { Ok(vec![]) } else { Err(format!("{count} pods")) })
        })
    };
    let explained = |limit| {
        let mut own = mk_placed("uid-new", "n2", 1, "1");
        own["metadata"]["name"] = "new".into();
        let pods = [mk_placed("other", "n3", 1, "1"), own];
        let nodes: Vec<Json> = NAMES.iter().map(|name| mk_node(name, &[])).collect();
        let fixture = Fixture::new(vec![mk_member("bind", bind(limit), |_| {})], Some(mk_cluster(&nodes, &pods)));
        let explanation = fixture.gateway.explain("", &mk_pod(), "n1").unwrap();
        explanation.bind.unwrap().is_ok()
    };
    assert!(explained(2) && !explained(1));
}

/// Read from JSON, as the API server sends it.
#[test]
fn a_pod_that_terminates_counts_and_one_that_has_ended_does_not() {
    let with = |spec: Json| {
        let mut pod = mk_placed("a", "n1", 1, "1");
        for (key, value) in spec.as_object().unwrap() {
            for (inner, value) in value.as_object().unwrap() {
                pod[key][inner] = value.clone();
            }
        }
        let cluster = mk_cluster(&[mk_node("n1", &[])], &[pod]);
        number(&View::new(Arc::new(Pod::default()), cluster, Arc::from([0]), 0), Read::ClusterCount(web()))
    };
    let table = [
        (json!({}), 1),
        (json!({"metadata": {"deletionTimestamp": "2026-01-31T12:00:00Z"}}), 1),
        (json!({"status": {"phase": "Running"}}), 1),
        (json!({"status": {"phase": "Succeeded"}}), 0),
        (json!({"status": {"phase": "Failed"}}), 0),
        (json!({"spec": {"nodeName": ""}}), 0),
    ];
    for (spec, expected) in table {
        assert_eq!(with(spec.clone()), Some(expected), "{spec}");
    }
}
