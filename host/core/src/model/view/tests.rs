//! Every read has its value, and an index that does not exist is an error that says so.

use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::model::{
    CandidateRead, Grouping, Namespace, Node, NodeRead, PlacedRead, PodRead, Read, ReadSet, Selector, Shown,
    tally::{MAX_KEY_BYTES, MAX_SHAPES},
};

fn bytes(json: &serde_json::Value) -> Bytes {
    Bytes::from(json.to_string())
}

fn mk_pod() -> Pod {
    let pod = json!({
        "metadata": {"name": "new", "namespace": "ml", "uid": "u", "labels": {"team": "vision"},
                     "annotations": {"note": "hot"}, "creationTimestamp": "1970-01-01T00:02:00Z",
                     "ownerReferences": [mk_owner("Job", "train")]},
        "spec": {"priority": -7, "priorityClassName": "low", "tolerations": [{"key": "gpu"}],
                 "containers": [{"image": "app", "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}}]},
    });
    Pod::from_json(bytes(&pod)).unwrap()
}

fn mk_owner(kind: &str, name: &str) -> serde_json::Value {
    json!({"apiVersion": "g/v1", "kind": kind, "name": name, "uid": "1", "controller": true})
}

fn mk_node(name: &str) -> Node {
    let node = json!({
        "metadata": {"name": name, "labels": {"zone": "a"}, "annotations": {"gpu": "2"}},
        "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}], "unschedulable": true},
        "status": {"allocatable": {"cpu": "4"}, "images": [{"names": ["app:latest"], "sizeBytes": 500}],
                   "capacity": {"cpu": "5"}, "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "t"}]},
    });
    Node::from_json(bytes(&node)).unwrap()
}

fn mk_placed(name: &str, node: &str, app: &str, cpu: &str) -> Pod {
    let pod = json!({
        "metadata": {"name": name, "uid": name, "namespace": "web", "labels": {"app": app},
                     "annotations": {"device": "0"}, "creationTimestamp": "1970-01-01T00:01:00Z",
                     "ownerReferences": [mk_owner("ReplicaSet", app)]},
        "spec": {"nodeName": node, "priority": 3, "priorityClassName": "high",
                 "containers": [{"resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running"},
    });
    Pod::placed_from_json(&bytes(&pod)).unwrap()
}

fn mk_cluster() -> Arc<Cluster> {
    let pods = vec![
        mk_placed("p0", "n1", "db", "1"),
        mk_placed("p1", "n1", "web", "2"),
        mk_placed("p2", "n1", "db", "500m"),
        mk_placed("p3", "n2", "db", "1"),
    ];
    Arc::new(Cluster::from_objects(vec![mk_node("n0"), mk_node("n1"), mk_node("n2")], pods))
}

/// Nodes n1 and n0, in this order, at 1,000 seconds.
fn mk_view() -> View {
    View::new(Arc::new(mk_pod()), mk_cluster(), Arc::from([1, 0]), 1_000).with_settings("{\"a\":1}".into())
}

fn text(text: &str) -> Value<'_> {
    Value::text(text)
}

/// A person at night asks who holds the seats.
#[test]
fn an_explained_count_names_the_pods_that_it_is_about() {
    let recording = Recording::with_lines();
    let view = mk_view().recorded(recording.clone());
    let of = |app| Selector { label: Some(("app", app)), ..Selector::all() };
    for read in
        [Read::ClusterAtLeast { selector: of("db"), n: 2 }, Read::ClusterCount(of("none")), Read::PlacedCount(0)]
    {
        view.read(read).unwrap();
    }
    let counted: Vec<_> = recording.take_lines().into_iter().map(|line| line.counted).collect();
    let named = "now 3: web/p0 on n1, web/p2 on n1, web/p3 on n2".to_owned();
    assert_eq!(counted, [Some(named), Some("now 0".to_owned()), None]);
}

#[test]
fn every_read_of_the_pod_has_its_value() {
    let (view, images) = (mk_view(), [Box::from("app:latest")]);
    let table = [
        (PodRead::Name, text("new")),
        (PodRead::Namespace, text("ml")),
        (PodRead::Uid, text("u")),
        (PodRead::Label("team"), text("vision")),
        (PodRead::Label("Team"), Value::Absent),
        (PodRead::Annotation("note"), text("hot")),
        (PodRead::Annotation("team"), Value::Absent),
        (PodRead::Priority, Value::Number(-7)),
        (PodRead::PriorityClass, text("low")),
        (PodRead::Created, Value::Number(120)),
        (PodRead::Request("cpu"), Value::Number(1500)),
        (PodRead::Request("memory"), Value::Number(1 << 30)),
        (PodRead::Request("example.com/gpu"), Value::Number(0)),
        (PodRead::Images, Value::Texts(&images)),
        (PodRead::Field("/spec/tolerations/0/key"), text("\"gpu\"")),
        (PodRead::Field("/spec/nodeName"), Value::Absent),
    ];
    for (read, expected) in table {
        assert_eq!(view.read(Read::Pod(read)), Ok(expected), "{read:?}");
    }
}

#[test]
fn every_read_of_a_node_has_its_value() {
    let (view, taints) =
        (mk_view(), [crate::model::Taint { key: "k".into(), value: "v".into(), effect: "NoSchedule".into() }]);
    let table = [
        (NodeRead::Name, text("n1")),
        (NodeRead::Label("zone"), text("a")),
        (NodeRead::Label("gpu"), Value::Absent),
        (NodeRead::Annotation("gpu"), text("2")),
        (NodeRead::Taints, Value::Taints(&taints)),
        (NodeRead::Allocatable("cpu"), Value::Number(4000)),
        (NodeRead::Allocatable("memory"), Value::Number(0)),
        (NodeRead::Requested("cpu"), Value::Number(3500)),
        (NodeRead::Requested("memory"), Value::Number(0)),
        (NodeRead::ImageSize("app"), Value::Number(500)),
        (NodeRead::ImageSize("app:2"), Value::Absent),
        (NodeRead::Capacity("cpu"), Value::Number(5000)),
        (NodeRead::Capacity("gpu"), Value::Number(0)),
        (NodeRead::Condition("Ready"), text("True")),
        (NodeRead::Condition("True"), Value::Absent),
        (NodeRead::Unschedulable, Value::Number(1)),
        (NodeRead::Field("/spec/unschedulable"), text("true")),
        (NodeRead::Field("/spec/podCIDR"), Value::Absent),
    ];
    for (read, expected) in table {
        assert_eq!(view.read(Read::Node(0, read)), Ok(expected), "{read:?}");
    }
    assert_eq!(view.read(Read::Node(1, NodeRead::Name)), Ok(text("n0")));
    assert_eq!(view.read(Read::Node(1, NodeRead::Requested("cpu"))), Ok(Value::Number(0)));
}

#[test]
fn every_read_of_a_placed_pod_has_its_value() {
    let view = mk_view();
    let table = [
        (PlacedRead::Name, text("p1")),
        (PlacedRead::Namespace, text("web")),
        (PlacedRead::Label("app"), text("web")),
        (PlacedRead::Annotation("device"), text("0")),
        (PlacedRead::Annotation("app"), Value::Absent),
        (PlacedRead::Priority, Value::Number(3)),
        (PlacedRead::PriorityClass, text("high")),
        (PlacedRead::Phase, text("Running")),
        (PlacedRead::Terminating, Value::Number(0)),
        (PlacedRead::Request("cpu"), Value::Number(2000)),
        (PlacedRead::Created, Value::Number(60)),
    ];
    for (read, expected) in table {
        assert_eq!(view.read(Read::Placed(0, 1, read)), Ok(expected), "{read:?}");
    }
    assert_eq!(view.read(Read::PlacedCount(0)), Ok(Value::Number(3)));
    assert_eq!(view.read(Read::PlacedCount(1)), Ok(Value::Number(0)));
    for (namespace, value, expected) in [("web", "db", 2), ("web", "web", 1), ("ml", "db", 0), ("web", "", 0)] {
        let read = Read::PlacedCountLabelled { node: 0, namespace, key: "app", value };
        assert_eq!(view.read(read), Ok(Value::Number(expected)), "{read:?}");
    }
}

#[test]
fn a_pod_that_terminates_holds_its_requests_and_is_not_active() {
    let reads = |deletion: Option<&str>| {
        let metadata =
            json!({"name": "p1", "namespace": "web", "labels": {"app": "db"}, "deletionTimestamp": deletion});
        let spec = json!({"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "2"}}}]});
        let pod = Pod::placed_from_json(&bytes(&json!({"metadata": metadata, "spec": spec}))).unwrap();
        let pods = vec![pod, mk_placed("p0", "n1", "db", "1")];
        let cluster = Cluster::from_objects(vec![mk_node("n1"), mk_node("n2")], pods);
        let view = View::new(Arc::default(), Arc::new(cluster), Arc::from([0, 1]), 0);
        let (namespace, key, value) = ("web", "app", "db");
        let counts = Read::PlacedCountsActive { namespace, key, value };
        let shown = |view: &View, read| Shown::of_answer(read, &view.read(read)).to_string();
        let all = [
            Read::Placed(0, 0, PlacedRead::Terminating),
            Read::Node(0, NodeRead::Requested("cpu")),
            Read::PlacedCountLabelled { node: 0, namespace, key, value },
            Read::PlacedCountActive { node: 0, namespace, key, value },
            counts,
        ];
        let told = all.map(|read| shown(&view, read)).join(" ");
        (told, shown(&view.without(Arc::from([vec![1], vec![]])), counts))
    };
    assert_eq!(reads(None), ("false 3000 2 2 [2, 0]".to_owned(), "[1, 0]".to_owned()));
    let terminating = reads(Some("2026-01-31T12:00:00Z"));
    assert_eq!(terminating, ("true 3000 2 1 [1, 0]".to_owned(), "[0, 0]".to_owned()));
}

#[test]
fn labels_of_the_pods_namespace_are_read_where_it_is_known() {
    let namespace = |name: &str| {
        let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"tenant":"t-{name}"}}}}}}"#);
        Arc::new(Namespace::from_json(json.as_bytes()).unwrap())
    };
    let known = |names: &[&str]| {
        let all = names.iter().map(|name| (Arc::from(*name), namespace(name))).collect();
        let cluster = Cluster::from_objects(vec![], vec![]).with_namespaces(Some(Arc::new(all)));
        // The next snapshot has them too.
        View::new(Arc::new(mk_pod()), Arc::new(cluster.successor(vec![])), Arc::default(), 0)
    };
    let reads = |view: &View| {
        let read = |read| view.read(Read::Pod(read)).map(|value| Shown::of(&value, Shown::FULL));
        (read(PodRead::NamespaceLabel("tenant")).unwrap(), read(PodRead::NamespaceKnown).unwrap())
    };
    assert_eq!(reads(&known(&["web", "ml"])), (Shown::Text("t-ml".into()), Shown::Number(1)));
    assert_eq!(reads(&known(&["web"])), (Shown::Absent, Shown::Number(0)));
    assert_eq!(reads(&mk_view()), (Shown::Absent, Shown::Number(0)));
    assert_eq!(reads(&known(&["ml"]).without_cluster()), (Shown::Absent, Shown::Number(0)));
    assert_eq!(known(&["ml"]).read(Read::Pod(PodRead::NamespaceLabel("other"))), Ok(Value::Absent));
}

#[test]
fn the_controller_of_a_pod_is_shown_with_all_that_names_it() {
    let view = mk_view();
    let shown = |read| Shown::of(&view.read(read).unwrap(), Shown::FULL).to_string();
    assert_eq!(shown(Read::Pod(PodRead::Controller)), r#""g/v1 Job train (UID 1)""#);
    assert_eq!(shown(Read::Placed(0, 1, PlacedRead::Controller)), r#""g/v1 ReplicaSet web (UID 1)""#);
    let nobody = View::new(Arc::default(), mk_cluster(), Arc::from([0]), 0);
    assert_eq!(nobody.read(Read::Pod(PodRead::Controller)), Ok(Value::Absent));
}

#[test]
fn a_read_of_all_nodes_is_what_the_reads_of_each_come_to() {
    let node = |name: &str, labels: serde_json::Value| {
        Node::from_json(bytes(&json!({"metadata": {"name": name, "labels": labels}}))).unwrap()
    };
    let zones =
        [("n0", json!({"zone": "b"})), ("n1", json!({})), ("n2", json!({"zone": "a"})), ("n3", json!({"zone": "b"}))];
    let nodes = zones.into_iter().map(|(name, labels)| node(name, labels)).collect();
    let pods = [("p0", "n0"), ("p1", "n3"), ("p2", "n3")].map(|(name, node)| mk_placed(name, node, "db", "1"));
    let cluster = Arc::new(Cluster::from_objects(nodes, pods.into()));
    let view = View::new(Arc::default(), cluster, Arc::from([0, 1, 2, 3]), 0);
    let grouping = |values, groups| Ok(Value::Grouping(Grouping { values, groups }));
    assert_eq!(view.read(Read::NodesByLabel("zone")), grouping(vec!["b", "a"], vec![0, 2, 1, 0]));
    assert_eq!(view.read(Read::NodesByLabel("other")), grouping(vec![], vec![0, 0, 0, 0]));
    let labelled = Read::PlacedCountsLabelled { namespace: "web", key: "app", value: "db" };
    assert_eq!(view.read(labelled), Ok(Value::Counts(vec![1, 0, 0, 2])));
    let without = view.clone().without(Arc::from([vec![], vec![], vec![], vec![1]]));
    assert_eq!(without.read(labelled), Ok(Value::Counts(vec![1, 0, 0, 1])));
    for read in [Read::NodesByLabel("zone"), labelled] {
        let (nothing, longest) = (mk_view_of_nothing(), Shown::FULL);
        let shown = Shown::of(&nothing.read(read).unwrap(), longest).to_string();
        assert_eq!(shown.trim_start_matches("0 nodes by "), "[]");
    }
}

fn mk_view_of_nothing() -> View {
    View::new(Arc::default(), Arc::default(), Arc::default(), 0)
}

#[test]
fn counts_settings_and_candidates_have_their_values() {
    let view = mk_view();
    assert_eq!(view.read(Read::NodesCount), Ok(Value::Number(2)));
    assert_eq!(view.read(Read::CandidatesCount), Ok(Value::Number(0)));
    assert_eq!(view.read(Read::HostSettings), Ok(text("{\"a\":1}")));
    let candidates = [(vec![2, 0], 1), (vec![], 0)];
    let candidates = candidates.map(|(victims, violations)| Candidate { victims, pdb_violations: violations });
    let view = view.with_candidates(Arc::from(candidates));
    assert_eq!(view.read(Read::CandidatesCount), Ok(Value::Number(2)));
    assert_eq!(view.read(Read::Candidate(1, CandidateRead::Node)), Ok(Value::Number(1)));
    assert_eq!(view.read(Read::Candidate(0, CandidateRead::Victims)), Ok(Value::Indices(&[2, 0])));
    assert_eq!(view.read(Read::Candidate(1, CandidateRead::Victims)), Ok(Value::Indices(&[])));
    assert_eq!(view.read(Read::Candidate(0, CandidateRead::PdbViolations)), Ok(Value::Number(1)));
}

#[test]
fn the_time_is_rounded_down_to_the_granularity() {
    let table = [(0, 1_000), (1, 1_000), (7, 994), (60, 960), (1_000, 1_000), (1_001, 0), (u32::MAX, 0)];
    for (granularity, expected) in table {
        assert_eq!(mk_view().read(Read::HostNow(granularity)), Ok(Value::Number(expected)), "{granularity}");
    }
}

#[test]
fn an_index_that_does_not_exist_is_named_with_the_count() {
    let view = mk_view().with_candidates(Arc::from([Candidate::default()]));
    let labelled = Read::PlacedCountLabelled { node: 2, namespace: "web", key: "app", value: "db" };
    let table = [
        (Read::Node(2, NodeRead::Name), "node", 2, 2),
        (Read::Node(u32::MAX, NodeRead::Requested("cpu")), "node", u32::MAX, 2),
        (Read::PlacedCount(2), "node", 2, 2),
        (labelled, "node", 2, 2),
        (Read::Placed(2, 0, PlacedRead::Name), "node", 2, 2),
        (Read::Placed(0, 3, PlacedRead::Name), "placed pod", 3, 3),
        (Read::Placed(1, 0, PlacedRead::Name), "placed pod", 0, 0),
        (Read::Candidate(1, CandidateRead::Node), "candidate", 1, 1),
        (Read::Candidate(1, CandidateRead::Victims), "candidate", 1, 1),
        (Read::Candidate(9, CandidateRead::PdbViolations), "candidate", 9, 1),
    ];
    for (read, what, index, count) in table {
        let error = view.read(read).unwrap_err();
        assert_eq!(error, ReadError::Missing { what, index, count }, "{read:?}");
        assert!(error.to_string().contains(&format!("{what} {index}")), "{error}");
    }
}

#[test]
fn pods_that_are_gone_are_gone_from_every_read() {
    let view = mk_view().without(Arc::from([vec![0, 2], vec![]]));
    assert_eq!(view.read(Read::PlacedCount(0)), Ok(Value::Number(1)));
    assert_eq!(view.read(Read::Placed(0, 0, PlacedRead::Name)), Ok(text("p1")));
    let error = view.read(Read::Placed(0, 1, PlacedRead::Name)).unwrap_err();
    assert_eq!(error, ReadError::Missing { what: "placed pod", index: 1, count: 1 });
    let labelled = Read::PlacedCountLabelled { node: 0, namespace: "web", key: "app", value: "db" };
    assert_eq!(view.read(labelled), Ok(Value::Number(0)));
    assert_eq!(view.read(Read::Node(0, NodeRead::Requested("cpu"))), Ok(Value::Number(2000)));
    assert_eq!(view.read(Read::Node(1, NodeRead::Requested("cpu"))), Ok(Value::Number(0)));
}

#[test]
fn requests_beyond_every_number_are_cut_and_come_back() {
    let huge = "9000000000000000000";
    let pods = vec![
        mk_placed("a", "n1", "db", huge),
        mk_placed("b", "n1", "db", huge),
        mk_placed("c", "n1", "db", huge),
        mk_placed("d", "n1", "db", "1"),
    ];
    let cluster = Arc::new(Cluster::from_objects(vec![mk_node("n1")], pods));
    let view = View::new(Arc::new(mk_pod()), cluster, Arc::from([0]), 0);
    let requested = |view: &View| {
        view.read(Read::Node(0, NodeRead::Requested("cpu"))).map(|value| value == Value::Number(i64::MAX))
    };
    assert_eq!(requested(&view), Ok(true));
    assert_eq!(requested(&view.clone().without(Arc::from([vec![0]]))), Ok(true));
    let without_huge = view.without(Arc::from([vec![0, 1, 2]]));
    assert_eq!(without_huge.read(Read::Node(0, NodeRead::Requested("cpu"))), Ok(Value::Number(1000)));
}

#[test]
fn a_host_without_a_view_of_pods_says_so() {
    let slots = vec![Slot { node: Arc::new(mk_node("n1")), placed: None }];
    let view = View::new(Arc::default(), Arc::new(Cluster::new(slots)), Arc::from([0]), 0);
    assert_eq!(view.read(Read::PlacedCount(0)), Ok(Value::Number(0)));
    assert_eq!(view.read(Read::PlacedKnown(0)), Ok(Value::Number(0)));
    assert_eq!(view.read(Read::Node(0, NodeRead::Requested("cpu"))), Ok(Value::Absent));
    assert_eq!(view.node_name(0).map(AsRef::as_ref), Some("n1"));
    assert_eq!(view.node_name(1), None);
}

#[test]
fn a_node_of_which_only_some_pods_are_known_is_not_known() {
    let placed = |placed| Slot { node: Arc::new(mk_node("n")), placed: Some(Arc::new(placed)) };
    let pods = || vec![Arc::new(mk_placed("p", "n", "db", "1"))];
    let slots = vec![placed(Placed::partial(pods())), placed(Placed::new(pods())), placed(Placed::new(vec![]))];
    let view = View::new(Arc::default(), Arc::new(Cluster::new(slots)), Arc::from([0, 1, 2]), 0);
    let known = [0, 1, 2].map(|node| (view.read(Read::PlacedKnown(node)), view.read(Read::PlacedCount(node))));
    assert_eq!(
        known,
        [(0, 1), (1, 1), (1, 0)].map(|(known, count)| (Ok(Value::Number(known)), Ok(Value::Number(count))))
    );
    let missing = ReadError::Missing { what: "node", index: 3, count: 3 };
    assert_eq!(view.read(Read::PlacedKnown(3)), Err(missing));
}

#[test]
fn a_view_for_validate_has_settings_and_nothing_else() {
    let view = View::empty("7".into());
    assert_eq!(view.read(Read::HostSettings), Ok(text("7")));
    assert_eq!(view.read(Read::NodesCount), Ok(Value::Number(0)));
    assert_eq!(view.read(Read::Pod(PodRead::Name)), Ok(text("")));
    assert_eq!(view.read(Read::HostNow(60)), Ok(Value::Number(0)));
}

#[test]
fn an_annotation_that_is_not_kept_is_an_error_and_never_absent() {
    let json = json!({"metadata": {"name": "p", "uid": "p", "annotations": {"big": "x".repeat(20_000), "small": "1"}},
                      "spec": {"nodeName": "n1"}});
    let pod = Pod::placed_from_json(&bytes(&json)).unwrap();
    let cluster = Cluster::from_objects(vec![mk_node("n1")], vec![pod]);
    let view = View::new(Arc::new(mk_pod()), Arc::new(cluster), Arc::from([0]), 0);
    let read = |key: &'static str| Read::Placed(0, 0, PlacedRead::Annotation(key));
    assert_eq!(view.read(read("small")), Ok(text("1")));
    assert_eq!(view.read(read("other")), Ok(Value::Absent));
    let error = view.read(read("big")).unwrap_err();
    assert_eq!(error, ReadError::NotKept(0));
    assert!(error.to_string().contains("at most 16384 bytes"), "{error}");
}

/// The names of imports and the reads themselves must agree on what counts: the one decides whether binds wait for a
/// filter, the other what it can read.
#[test]
fn a_policy_is_refused_exactly_the_reads_that_it_has_not_named_or_that_count() {
    const EVERY: Selector<&str> = Selector::all();
    let view = View::new(Arc::new(mk_pod()), mk_cluster(), Arc::from([0]), 0);
    let refusing = view.clone().with_counts(false);
    for (import, read) in [
        ("placed.count", Read::PlacedCount(0)),
        ("placed.known", Read::PlacedKnown(0)),
        ("placed.count-labelled", Read::PlacedCountLabelled { node: 0, namespace: "a", key: "b", value: "c" }),
        ("placed.counts-labelled", Read::PlacedCountsLabelled { namespace: "a", key: "b", value: "c" }),
        ("placed.count-active", Read::PlacedCountActive { node: 0, namespace: "a", key: "b", value: "c" }),
        ("placed.counts-active", Read::PlacedCountsActive { namespace: "a", key: "b", value: "c" }),
        ("nodes.requested", Read::Node(0, NodeRead::Requested("cpu"))),
        ("nodes.label", Read::Node(0, NodeRead::Label("a"))),
        ("nodes.by-label", Read::NodesByLabel("a")),
        ("cluster.count", Read::ClusterCount(EVERY)),
        ("cluster.at-least", Read::ClusterAtLeast { selector: EVERY, n: 1 }),
        ("cluster.label-values", Read::ClusterLabelValues("a")),
        ("cluster.nodes-with-label", Read::ClusterNodesWithLabel { key: "a", value: "b" }),
        ("facts.text", Read::FactsText { source: "a", key: "b" }),
        ("host.now", Read::HostNow(60)),
    ] {
        assert!(view.read(read).is_ok(), "{import}");
        let is_refused = matches!(refusing.read(read), Err(ReadError::Counts(named)) if *named == read.to_string());
        let named: ReadSet = [import].into_iter().collect();
        assert_eq!(is_refused, named.counts_pods(), "{import}");
        assert!(view.clone().with_reads(named).read(read).is_ok(), "{import}");
        let without = view.clone().with_reads(["pod.name"].into_iter().collect());
        assert_eq!(without.read(read), Err(ReadError::Undescribed(read.to_string().into())));
    }
}

#[test]
fn a_policy_may_name_any_value_but_few_keys_of_a_length_that_exists() {
    let view = View::new(Arc::default(), mk_cluster(), Arc::from([0]), 0).with_shapes(&Arc::default());
    let count = |key: &str, value: &str| {
        let selector = Selector { label: Some((key, value)), ..Selector::all() };
        view.read(Read::ClusterCount(selector)).map(drop)
    };
    let nodes = |key: &str| view.read(Read::ClusterNodesWithLabel { key, value: "a" }).map(drop);
    for key in 1..MAX_SHAPES {
        for value in ["a", "b"] {
            assert_eq!(count(&key.to_string(), value), Ok(()));
        }
    }
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    assert_eq!(count(&long, "v"), Err(ReadError::LongKey(MAX_KEY_BYTES + 1)));
    assert_eq!(nodes(&long[1..]), Ok(()));
    assert_eq!(count("one more", "a"), Err(ReadError::TooManyShapes));
    assert_eq!(nodes("one more"), Err(ReadError::TooManyShapes));
    assert_eq!(count("1", &"v".repeat(5_000)), Ok(()), "keys that it has named stay");
}
