//! Answers that are remembered, answers that are not, and how the difference shows.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use plimsoll_decision_cache::Source;
use serde_json::{Value as Json, json};

use super::fixture::*;
use crate::{
    cache::Disabled,
    decide::{Member, Nodes, Query},
    gateway::Gateway,
    model::{Cluster, Fault, FaultKind, NodeRead, PlacedRead, Pod, PodRead, Read, Value, Verdict, View, ViewSource},
};

const NAMES: [&str; 4] = ["n1", "n2", "n3", "n4"];

fn text(view: &View, read: Read<'_>) -> String {
    match view.read(read) {
        Ok(Value::Text(text)) => text.into_owned(),
        _ => String::new(),
    }
}

fn number(view: &View, read: Read<'_>) -> i64 {
    match view.read(read) {
        Ok(Value::Number(number)) => number,
        other => panic!("{other:?}"),
    }
}

/// Turns nodes of another zone than the pod's `zone` label down.
fn mk_same_zone() -> Arc<Member> {
    let filter = FakePolicy::default().filter_each(|view, node| {
        let wanted = text(view, Read::Pod(PodRead::Label("zone")));
        let zone = text(view, Read::Node(node, NodeRead::Label("zone")));
        if wanted == zone { Verdict::Fits } else { unschedulable(&format!("zone {zone}")) }
    });
    mk_member("zone", filter.function(), |_| {})
}

fn mk_zones(zones: [&str; 4], pods: &[Json]) -> Arc<Cluster> {
    let nodes: Vec<Json> = NAMES.iter().zip(zones).map(|(name, zone)| mk_node(name, &[("zone", zone)])).collect();
    mk_cluster(&nodes, pods)
}

fn mk_labelled(name: &str, zone: &str) -> Arc<Pod> {
    let pod = json!({"metadata": {"name": name, "uid": name, "labels": {"zone": zone}}});
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}

/// The rejected nodes, and for each call the number of nodes for which the guest was evaluated.
fn filter(fixture: &Fixture, pod: Arc<Pod>) -> (Vec<u32>, Vec<usize>) {
    let names = cows(&NAMES);
    let query = Query { pod, ..fixture.query(Nodes::Names(&names)) };
    let (outcome, after) = fixture.gateway.filter("", &query).unwrap();
    after.run();
    (outcome.rejected.iter().map(|rejection| rejection.node).collect(), fixture.evaluated())
}

#[test]
fn a_guest_is_asked_once_for_each_combination_of_values() {
    let fixture = Fixture::new(vec![mk_same_zone()], Some(mk_zones(["a", "b", "a", "b"], &[])));
    assert_eq!(filter(&fixture, mk_labelled("first", "a")), (vec![1, 3], vec![2]));
    assert_eq!(filter(&fixture, mk_labelled("never-seen", "a")), (vec![1, 3], vec![0]));
    assert_eq!(filter(&fixture, mk_labelled("other", "b")), (vec![0, 2], vec![2]));
    assert_eq!(filter(&fixture, mk_labelled("again", "a")), (vec![1, 3], vec![0]));
}

#[test]
fn after_the_reply_each_answer_can_be_told_with_the_values_that_it_follows_from() {
    let cluster = mk_zones(["a", "b", "a", "c"], &[]);
    let fixture = Fixture::new(vec![mk_same_zone()], Some(Arc::clone(&cluster)));
    let (pod, names) = (mk_labelled("p", "a"), cows(&NAMES));
    let view = View::new(Arc::clone(&pod), Arc::clone(&cluster), Arc::clone(cluster.all_slots()), 0);
    // By the guest, then by the cache.
    for evaluated in [3, 0] {
        let query = Query { pod: Arc::clone(&pod), ..fixture.query(Nodes::Names(&names)) };
        let (outcome, after) = fixture.gateway.filter("", &query).unwrap();
        after.run();
        assert_eq!(fixture.evaluated(), [evaluated]);
        let [(member, answers)] = &outcome.answers[..] else { panic!("one policy was asked") };
        assert_eq!(member.id(), "zone");
        let source = ViewSource::of(&view);
        let told = answers.witnesses(&source, &[0, 1, 2, 3]).into_iter().map(|witness| {
            let values: Vec<String> =
                witness.path.iter().map(|(read, _)| format!("{read} = {}", source.value(read, witness.row))).collect();
            (format!("{:?}", witness.answer), witness.rows, values.join(", "))
        });
        let expected =
            [("Fits", 2, "a"), (r#"Unschedulable("zone b")"#, 1, "b"), (r#"Unschedulable("zone c")"#, 1, "c")].map(
                |(answer, nodes, zone)| {
                    let values = format!(r#"pod.label("zone") = "a", node.label("zone") = "{zone}""#);
                    (answer.to_owned(), nodes, values)
                },
            );
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}

/// By the count of active pods, and by the pods one by one.
#[test]
fn a_pod_that_begins_to_terminate_changes_a_remembered_answer() {
    let count = |view: &View, node| {
        let (namespace, key, value) = ("web", "app", "web");
        number(view, Read::PlacedCountActive { node, namespace, key, value })
    };
    let each = |view: &View, node| {
        let stays = |pod: &u32| number(view, Read::Placed(node, *pod, PlacedRead::Terminating)) == 0;
        (0..number(view, Read::PlacedCount(node)) as u32).filter(stays).count() as i64
    };
    let limited = |active: &dyn Fn(&View, u32) -> i64, view: &View, node| {
        if active(view, node) < 1 { Verdict::Fits } else { unschedulable("taken") }
    };
    let by_count = FakePolicy::default().filter_each(move |view, node| limited(&count, view, node));
    let by_pod = FakePolicy::default().filter_each(move |view, node| limited(&each, view, node));
    for policy in [by_count, by_pod] {
        let staying = mk_placed("p", "n2", 1, "1");
        let mut terminating = staying.clone();
        terminating["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z".into();
        let cluster = |pod: &Json| mk_zones(["a"; 4], std::slice::from_ref(pod));
        let fixture = Fixture::new(vec![mk_member("spread", policy.function(), |_| {})], Some(cluster(&staying)));
        assert_eq!(filter(&fixture, mk_labelled("p", "a")).0, [1]);
        fixture.gateway.set_cluster(cluster(&terminating));
        assert_eq!(filter(&fixture, mk_labelled("p", "a")).0, [0; 0]);
        fixture.gateway.set_cluster(cluster(&staying));
        assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![1], vec![0]), "it is remembered");
    }
}

#[test]
fn a_value_that_changes_takes_another_branch() {
    let fixture = Fixture::new(vec![mk_same_zone()], Some(mk_zones(["a", "b", "a", "b"], &[])));
    filter(&fixture, mk_labelled("p", "a"));
    fixture.gateway.set_cluster(mk_zones(["b", "a", "c", "b"], &[]));
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![0, 2, 3], vec![1]));
    fixture.gateway.set_cluster(mk_zones(["a", "b", "a", "b"], &[]));
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![1, 3], vec![0]));
}

#[test]
fn another_version_of_a_policy_remembers_nothing() {
    let fixture = Fixture::new(vec![mk_same_zone()], Some(mk_zones(["a"; 4], &[])));
    filter(&fixture, mk_labelled("p", "a"));
    fixture.gateway.set_roster(Arc::new(crate::decide::Roster::of_root(vec![mk_same_zone()])));
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![], vec![1]));
}

#[test]
fn a_policy_that_reads_all_nodes_is_asked_each_time() {
    let most = FakePolicy::default().filter_each(|view, node| {
        let zone = |node| text(view, Read::Node(node, NodeRead::Label("zone")));
        let nodes = number(view, Read::NodesCount) as u32;
        let same = (0..nodes).filter(|other| zone(*other) == zone(node)).count();
        if same > 1 { Verdict::Fits } else { unschedulable("alone") }
    });
    let member = mk_member("most", most.function(), |_| {});
    let fixture = Fixture::new(vec![member], Some(mk_zones(["a", "b", "a", "a"], &[])));
    for _ in 0..3 {
        assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![1], vec![4]));
    }
}

#[test]
fn a_loop_over_placed_pods_is_remembered_by_node_until_its_pods_change() {
    let busy = FakePolicy::default().filter_each(|view, node| {
        let pods = number(view, Read::PlacedCount(node)) as u32;
        let urgent = (0..pods).any(|pod| number(view, Read::Placed(node, pod, PlacedRead::Priority)) > 5);
        if urgent { unschedulable("busy") } else { Verdict::Fits }
    });
    let pods = [mk_placed("u1", "n1", 9, "1"), mk_placed("u2", "n2", 1, "1")];
    let fixture = Fixture::new(vec![mk_member("busy", busy.function(), |_| {})], Some(mk_zones(["a"; 4], &pods)));
    // Nodes without pods read the same: they are one combination.
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![0], vec![3]));
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![0], vec![0]));
    let cluster = fixture.gateway.cluster().unwrap();
    let mut slots = cluster.slots().to_vec();
    slots[0].placed = slots[2].placed.clone();
    fixture.gateway.set_cluster(Arc::new(Cluster::new(slots)));
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![], vec![0]));
}

#[test]
fn nodes_whose_pods_are_alike_in_what_is_read_are_one_combination() {
    let heavy = FakePolicy::default().filter_each(|view, node| {
        let pods = number(view, Read::PlacedCount(node)) as u32;
        let sum: i64 = (0..pods).map(|pod| number(view, Read::Placed(node, pod, PlacedRead::Priority))).sum();
        if sum > 5 { unschedulable("heavy") } else { Verdict::Fits }
    });
    let pods = [
        mk_placed("u1", "n1", 4, "1"),
        mk_placed("u2", "n1", 2, "1"),
        mk_placed("u3", "n2", 4, "7"),
        mk_placed("u4", "n2", 2, "7"),
        mk_placed("u5", "n3", 2, "1"),
        mk_placed("u6", "n3", 4, "1"),
    ];
    let fixture = Fixture::new(vec![mk_member("heavy", heavy.function(), |_| {})], Some(mk_zones(["a"; 4], &pods)));
    // The third has the same priorities in another order.
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![0, 1, 2], vec![3]));
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![0, 1, 2], vec![0]));
}

#[test]
fn of_two_pictures_that_follow_one_each_has_its_own_answers() {
    let fixture = Fixture::new(vec![mk_same_zone()], Some(mk_zones(["a", "b", "a", "b"], &[])));
    filter(&fixture, mk_labelled("p", "a"));
    filter(&fixture, mk_labelled("p", "a"));
    let first = fixture.gateway.cluster().unwrap();
    let other = |zones| {
        let changed = mk_zones(zones, &[]);
        let mut slots = first.slots().to_vec();
        slots[1] = changed.slots()[1].clone();
        let next = first.successor(slots);
        next.follow(&first);
        Arc::new(next)
    };
    for (cluster, rejected) in
        [(other(["a"; 4]), vec![3]), (other(["c"; 4]), vec![1, 3]), (Arc::clone(&first), vec![1, 3])]
    {
        let gateway =
            Gateway::new(Arc::clone(&fixture.clock) as _, Arc::clone(&fixture.observer) as _, REQUEST_TIMEOUT);
        gateway.set_roster(fixture.gateway.roster());
        gateway.set_cluster(cluster);
        let names = cows(&NAMES);
        for _ in 0..2 {
            let query = Query { pod: mk_labelled("p", "a"), ..fixture.query(Nodes::Names(&names)) };
            let (outcome, after) = gateway.filter("", &query).unwrap();
            after.run();
            assert_eq!(outcome.rejected.iter().map(|rejection| rejection.node).collect::<Vec<_>>(), rejected);
        }
    }
}

#[test]
fn what_failed_is_not_remembered_and_what_was_answered_before_is() {
    let broken = Arc::new(AtomicU32::new(0));
    let failing = Arc::clone(&broken);
    let policy = FakePolicy::default().filter(move |ask, nodes| {
        let each = |node: &u32| match text(&ask.view, Read::Node(*node, NodeRead::Label("zone"))).as_str() {
            "bad" if failing.load(Ordering::SeqCst) == 0 => Err(Fault::new(FaultKind::Trap, "unreachable")),
            _ => Ok(Verdict::Fits),
        };
        nodes.iter().map(each).collect()
    });
    let fixture = Fixture::new(
        vec![mk_member("p", policy.function(), |config| config.on_error = Some(crate::model::OnError::Ignore))],
        Some(mk_zones(["bad", "a", "b", "c"], &[])),
    );
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![], vec![]));
    assert_eq!(fixture.calls()[0].outcome, Err(FaultKind::Trap));
    broken.store(1, Ordering::SeqCst);
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![], vec![1]));
}

#[test]
fn a_policy_that_reads_too_much_of_pods_is_asked_each_time() {
    let greedy = FakePolicy::default().filter_each(|view, _| {
        (0..300).for_each(|at| drop(view.read(Read::Pod(PodRead::Label(&format!("l{at}"))))));
        Verdict::Fits
    });
    let fixture = Fixture::new(vec![mk_member("greedy", greedy.function(), |_| {})], Some(mk_zones(["a"; 4], &[])));
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![], vec![4]));
    assert_eq!(fixture.stopped(), [("greedy".to_owned(), Disabled::TooManyReads)]);
    assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![], vec![4]));
}

#[test]
fn what_is_remembered_stays_within_its_bound() {
    let named = FakePolicy::default().filter_each(|view, node| {
        text(view, Read::Pod(PodRead::Name));
        let name = text(view, Read::Node(node, NodeRead::Name));
        unschedulable(&name.repeat(50))
    });
    let member = mk_member("named", named.function(), |_| {});
    let limit = 40_000;
    let mut fixture = Fixture::new(vec![], None);
    let gateway = Gateway::new(Arc::clone(&fixture.clock) as _, Arc::clone(&fixture.observer) as _, REQUEST_TIMEOUT);
    fixture.gateway = Arc::new(gateway.with_cache_limit(limit));
    fixture.gateway.set_cluster(mk_zones(["a"; 4], &[]));
    fixture.gateway.set_roster(Arc::new(crate::decide::Roster::of_root(vec![Arc::clone(&member)])));
    let mut cached = 0;
    for pod in 0..200 {
        let ask = || filter(&fixture, mk_labelled(&format!("p{pod}"), "a"));
        assert_eq!(ask(), (vec![0, 1, 2, 3], vec![4]));
        cached += usize::from(ask() == (vec![0, 1, 2, 3], vec![0]));
        assert!(member.cache.bytes() <= limit, "{}", member.cache.bytes());
    }
    assert!(cached > 100, "it begins anew after some pods: {cached}");
}

#[test]
fn keys_that_a_policy_reads_count_with_their_columns() {
    let long_key = FakePolicy::default().filter_each(|view, node| {
        let key = text(view, Read::Pod(PodRead::Name)).repeat(25_000);
        text(view, Read::Node(node, NodeRead::Label(&key)));
        Verdict::Fits
    });
    let limit = 1 << 20;
    let cluster = mk_zones(["a"; 4], &[]);
    let mut fixture = Fixture::new(vec![], None);
    let gateway = Gateway::new(Arc::clone(&fixture.clock) as _, Arc::clone(&fixture.observer) as _, REQUEST_TIMEOUT);
    fixture.gateway = Arc::new(gateway.with_cache_limit(limit));
    fixture.gateway.set_cluster(Arc::clone(&cluster));
    let member = mk_member("long", long_key.function(), |_| {});
    fixture.gateway.set_roster(Arc::new(crate::decide::Roster::of_root(vec![member])));
    let mut most = 0;
    for pod in 0..40 {
        // A pod that comes again is answered with columns.
        (0..3).for_each(|_| drop(filter(&fixture, mk_labelled(&format!("p{pod:03}"), "a"))));
        most = most.max(cluster.columns().bytes());
    }
    // 40 keys of 100 kB each do not fit into a quarter of a MiB.
    assert!((100_000..=limit / 4).contains(&most), "{most}");
}

#[test]
fn a_table_shows_the_beginning_of_a_long_read() {
    let long_key = FakePolicy::default().filter_each(|view, node| {
        let key = "k".repeat(100_000);
        text(view, Read::Node(node, NodeRead::Label(&key)));
        unschedulable(&text(view, Read::Node(node, NodeRead::Label("zone"))))
    });
    let zones = mk_zones(["a", "b", "c", "d"], &[]);
    let fixture = Fixture::new(vec![mk_member("long", long_key.function(), |_| {})], Some(zones));
    filter(&fixture, mk_labelled("p", "a"));
    let tables = format!("{:?}", fixture.gateway.decision_tables("long").unwrap());
    assert!(tables.contains("kkk") && tables.len() < 10_000, "{} bytes", tables.len());
}

/// Turns nodes of another pool down than the one that the annotation of the pod's team names.
fn mk_pool_of_team() -> Arc<Member> {
    let filter = FakePolicy::default().filter_each(|view, node| {
        let team = text(view, Read::Pod(PodRead::Label("team")));
        let pool = text(view, Read::Pod(PodRead::Annotation(&format!("pool-of-{team}"))));
        let zone = text(view, Read::Node(node, NodeRead::Label("zone")));
        if pool == zone { Verdict::Fits } else { unschedulable("another pool") }
    });
    mk_member("pool", filter.function(), |_| {})
}

fn mk_team(team: usize, pool: &str, others: &str) -> Arc<Pod> {
    let annotations = json!({format!("pool-of-{team}"): pool, "pool-of-none": others, "pool-of-0": others});
    let pod = json!({"metadata": {"name": "p", "labels": {"team": team.to_string()}, "annotations": annotations}});
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}

#[test]
fn an_annotation_named_by_a_label_is_cached_for_any_number_of_teams() {
    let member = mk_pool_of_team();
    let fixture = Fixture::new(vec![Arc::clone(&member)], Some(mk_zones(["a", "b", "a", "b"], &[])));
    for team in 1..=300 {
        assert_eq!(filter(&fixture, mk_team(team, "a", "x")), (vec![1, 3], vec![2]), "team {team} is new");
    }
    for team in 1..=300 {
        assert_eq!(filter(&fixture, mk_team(team, "a", "x")), (vec![1, 3], vec![0]), "team {team} is cached");
    }
    assert_eq!(filter(&fixture, mk_team(7, "a", "y")).1, [0], "no annotation of another team matters");
    assert_eq!(filter(&fixture, mk_team(7, "b", "x")), (vec![0, 2], vec![2]), "its own does");
    assert_eq!(filter(&fixture, mk_team(8, "a", "x")).1, [0], "other teams keep their answers");
    assert_eq!(member.cache.disabled(crate::model::Verb::Filter), None);
}

#[test]
fn more_kinds_of_nodes_than_are_kept_change_no_answer() {
    let fixture = Fixture::new(vec![mk_same_zone()], Some(mk_zones(["a", "b", "a", "b"], &[])));
    for round in 0..400 {
        let zone = |node| format!("zone-{}", round * 4 + node);
        let zones = [zone(0), zone(1), zone(2), "a".to_owned()];
        let zones = zones.each_ref().map(String::as_str);
        fixture.gateway.set_cluster(mk_zones(zones, &[]));
        assert_eq!(filter(&fixture, mk_labelled("p", "a")).0, [0, 1, 2], "round {round}");
        // Where the answers begin again with those of the last call, the fourth node is asked about once more.
        assert_eq!(filter(&fixture, mk_labelled("p", "a")).0, [0, 1, 2], "round {round}");
        assert_eq!(filter(&fixture, mk_labelled("p", "a")), (vec![0, 1, 2], vec![0]), "round {round}");
    }
}
