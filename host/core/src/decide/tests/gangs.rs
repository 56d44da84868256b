//! Members of pod groups: each gets one node, and those after it see it there.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::fixture::*;
use crate::{
    decide::{Member, NodeObject, Nodes, Query},
    model::{BindQuery, Clock, Gang, Mode, Pod, PolicyConfig, Read, Selector, Value, Verdict, View},
};

const NODES: [&str; 3] = ["n1", "n2", "n3"];

fn number(view: &View, read: Read<'_>) -> i64 {
    match view.read(read) {
        Ok(Value::Number(number)) => number,
        other => panic!("{read:?}: {other:?}"),
    }
}

/// At most so many pods on a node, and on all nodes together.
fn mk_limit(on_node: i64, in_all: i64, gang: Gang) -> Arc<Member> {
    let filter = FakePolicy::default().importing(&["placed.count", "cluster.count"]).filter_each(move |view, node| {
        let is_full = number(view, Read::PlacedCount(node)) >= on_node
            || number(view, Read::ClusterCount(Selector::all())) >= in_all;
        if is_full { unschedulable("full") } else { Verdict::Fits }
    });
    mk_member("limit", filter.function(), |config| config.gang = gang)
}

/// A pod `a`, a pod `a@g` of the group `g`, or a pod `a@g>n1` that is nominated for `n1` too; `a'` is another pod of the
/// same name.
fn mk_pod(text: &str) -> Arc<Pod> {
    let (text, nominated) = text.split_once('>').unwrap_or((text, ""));
    let (uid, gang) = text.split_once('@').unwrap_or((text, ""));
    let name = uid.trim_end_matches('\'');
    let mut pod = json!({"metadata": {"name": name, "namespace": "ml", "uid": uid}, "spec": {}, "status": {}});
    if !gang.is_empty() {
        pod["spec"]["schedulingGroup"] = json!({"podGroupName": gang});
    }
    if !nominated.is_empty() {
        pod["status"]["nominatedNodeName"] = nominated.into();
    }
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}

/// The nodes that are left of these.
fn ask(fixture: &Fixture, pod: &str, names: &[&str], is_whole: bool, may_bind: bool) -> String {
    let cows = cows(names);
    let objects: Vec<_> = names.iter().map(|name| NodeObject::Json(bytes(&mk_node(name, &[])))).collect();
    let nodes = if is_whole { Nodes::Objects(&objects) } else { Nodes::Names(&cows) };
    let query = Query { pod: mk_pod(pod), may_bind, ..fixture.query(nodes) };
    let (outcome, after) = fixture.gateway.filter("", &query).unwrap();
    after.run();
    let refused = by_name(&outcome, names);
    names.iter().filter(|name| !refused.contains_key(**name)).copied().collect::<Vec<_>>().join(" ")
}

/// Each case is a list of `pod [of nodes] -> nodes that are left`; `wait` lets milliseconds pass.
#[test]
fn members_of_a_gang_see_those_before_them_in_the_same_simulation_and_nobody_else_does() {
    let (all, one) = (i64::MAX, 1);
    let cases: [(&str, i64, i64, &str); 13] = [
        ("one too many", one, all, "a@g -> n1, b@g -> n2, c@g -> n3, d@g -> "),
        ("the simulation is repeated", one, all, "a@g -> n1, b@g -> n2, a@g -> n1, b@g -> n2, c@g -> n3"),
        ("it begins with another member", one, all, "a@g -> n1, b@g -> n2, c@g -> n3, b@g -> n1, a@g -> n2"),
        ("the only member is repeated", one, all, "a@g -> n1, a@g -> n1"),
        ("the last member is repeated", one, all, "a@g -> n1, b@g -> n2, b@g -> n1"),
        ("other pods", one, all, "a@g -> n1, x@h -> n1, p -> n1 n2 n3, b@g -> n2, y@h -> n2"),
        ("the next member is late", one, all, "a@g -> n1, wait 1000 -> , b@g -> n2"),
        ("its time is over", one, all, "a@g -> n1, wait 1001 -> , b@g -> n1"),
        ("it is created again", one, all, "a@g -> n1, b@g -> n2, b'@g -> n1, a'@g -> n2, c'@g -> n3"),
        ("spread, then filled", 2, all, "a@g -> n1, b@g -> n2, c@g -> n3, d@g -> n1, e@g -> n2, f@g -> n3, g@g -> "),
        ("counted in all", all, 2, "a@g -> n1, b@g -> n2, c@g -> "),
        (
            "the nominated node is asked about first",
            one,
            all,
            "a@g -> n1, b@g>n1 of n1 -> , b@g>n1 -> n2, c@g>n3 of n3 -> n3, d@g>n1 of n1 -> , d@g>n1 -> ",
        ),
        ("a nominated member is repeated", one, all, "a@g>n2 of n2 -> n2, b@g>n2 of n2 -> , a@g>n2 of n2 -> n2"),
    ];
    for (case, on_node, in_all, steps) in cases {
        for is_whole in [false, true] {
            let fixture = Fixture::of([mk_limit(on_node, in_all, Gang::Exact)]);
            for step in steps.split(", ") {
                let (asked, expected) = step.split_once("-> ").unwrap();
                if let Some(wait) = asked.trim().strip_prefix("wait ") {
                    fixture.clock.advance(Duration::from_millis(wait.parse().unwrap()));
                    continue;
                }
                let (pod, nodes) = asked.trim().split_once(" of ").unwrap_or((asked.trim(), "n1 n2 n3"));
                let nodes: Vec<&str> = nodes.split(' ').collect();
                assert_eq!(ask(&fixture, pod, &nodes, is_whole, true), expected, "{case}: {step}");
            }
        }
    }
}

#[test]
fn a_member_counts_once_wherever_the_cluster_has_it_and_not_after_its_bind() {
    let fixture = Fixture::of([mk_limit(1, 2, Gang::Exact)]);
    let nodes = NODES.map(|name| mk_node(name, &[]));
    let mut own = mk_placed("a", "", 0, "1");
    own["status"] = json!({"nominatedNodeName": "n3"});
    fixture.gateway.set_cluster(mk_cluster(&nodes, &[own]));
    assert_eq!(ask(&fixture, "a@g>n3", &["n1", "n2"], false, true), "n1");
    assert_eq!(ask(&fixture, "b@g", &["n1", "n3"], false, true), "n3", "a is on n1, not on n3");
    fixture.gateway.set_cluster(mk_cluster(&nodes, &[mk_placed("a", "n1", 0, "1")]));
    let bind = |name: &'static str| BindQuery {
        namespace: "ml".into(),
        name: name.into(),
        uid: name.into(),
        node: "n1".into(),
        received: fixture.clock.now(),
    };
    let _ = fixture.gateway.bind("", &bind("a"));
    assert_eq!(ask(&fixture, "c@g", &NODES, false, true), "", "a and b");
    let _ = fixture.gateway.bind("", &bind("b"));
    assert_eq!(ask(&fixture, "d@g", &NODES, false, true), "n2", "a");
}

/// Where kube-scheduler binds, plimsoll hears of no bind call.
#[test]
fn a_member_that_the_cluster_has_on_its_node_already_counts_once() {
    for is_whole in [false, true] {
        let fixture = Fixture::of([mk_limit(2, 3, Gang::Exact)]);
        let nodes = NODES.map(|name| mk_node(name, &[]));
        fixture.gateway.set_cluster(mk_cluster(&nodes, &[]));
        assert_eq!(ask(&fixture, "a@g", &["n1"], is_whole, true), "n1");
        fixture.gateway.set_cluster(mk_cluster(&nodes, &[mk_placed("a", "n1", 0, "1")]));
        assert_eq!(ask(&fixture, "b@g", &["n1"], is_whole, true), "n1", "a");
        assert_eq!(ask(&fixture, "c@g", &NODES, is_whole, true), "n2", "a and b in all");
        assert_eq!(ask(&fixture, "d@g", &NODES, is_whole, true), "", "a, b and c");
    }
}

#[test]
fn the_best_node_is_taken_and_only_for_clients_that_bind_and_policies_that_ask_for_it() {
    let best = || FakePolicy::default().score_each(|view, node| if name_of(view, node) == "n2" { 90 } else { 80 });
    let scored = |gang, mode| {
        let limit = Arc::into_inner(mk_limit(1, i64::MAX, gang)).unwrap();
        let limit = Member { config: PolicyConfig { mode, ..limit.config }, ..limit };
        Fixture::of([Arc::new(limit), mk_member("best", best(), |_| {})])
    };
    let exact = scored(Gang::Exact, Mode::Enforce);
    assert_eq!(ask(&exact, "a@g", &["n1", "n2", "n3", "unheard-of"], false, true), "n2");
    assert_eq!(ask(&exact, "b@g", &["n2", "n3", "n1"], false, true), "n1");
    assert_eq!(ask(&exact, "b@g", &NODES, false, false), "n1 n2 n3", "it cannot be kube-scheduler");
    for fixture in [scored(Gang::Separate, Mode::Enforce), scored(Gang::Exact, Mode::Shadow)] {
        assert_eq!(ask(&fixture, "a@g", &NODES, false, true), "n1 n2 n3");
    }
}
