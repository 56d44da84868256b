//! Pods that filter requests left without a node are decided again when something changes of which kube-scheduler does
//! not hear.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::fixture::*;
use crate::{
    decide::{Member, Roster},
    model::{
        AbsentFacts, Cluster, FactAccess, FactSource, Facts, Mode, Namespace, PodRead, Read, Value, Verdict, View,
    },
};

const SECOND: Duration = Duration::from_secs(1);

/// Rejects nodes that are closed: by a fact about the node, or by a label of the pod's namespace.
fn is_closed(view: &View, node: u32) -> bool {
    let closed = Ok(Value::Text("closed".into()));
    view.read(Read::FactsNodeText { node, source: "gate" }) == closed
        || view.read(Read::Pod(PodRead::NamespaceLabel("gate"))) == closed
}

fn mk_gate(mode: Mode) -> Arc<Member> {
    let verdict = |view: &View, node| if is_closed(view, node) { unschedulable("closed") } else { Verdict::Fits };
    let policy = FakePolicy::default().function().filter_each(verdict);
    let member = Arc::into_inner(mk_member("gate", policy, |config| config.mode = mode)).unwrap();
    Arc::new(Member { fact_access: Arc::new(FactAccess::new([("gate", "gate")], AbsentFacts::default())), ..member })
}

fn mk_facts(closed: &[&str]) -> Facts {
    let source = FactSource::from_texts(closed.iter().map(|node| (*node, "closed"))).unwrap();
    Facts::from_iter([(Arc::from("gate"), Arc::new(source))])
}

fn mk_namespace(gate: &str) -> Cluster {
    let json = format!(r#"{{"metadata":{{"name":"ml","labels":{{"gate":"{gate}"}}}}}}"#);
    let namespace = Arc::new(Namespace::from_json(json.as_bytes()).unwrap());
    let all = HashMap::from_iter([(Arc::from("ml"), namespace)]);
    mk_three().successor(mk_three().slots().clone()).with_namespaces(Some(Arc::new(all)))
}

/// All nodes are closed to the pod, and it is kept.
fn mk_fixture() -> Fixture {
    let fixture = Fixture::of([mk_gate(Mode::Enforce)]);
    fixture.gateway.keep_rejected_pods();
    fixture.gateway.set_facts(&mk_facts(&["n1", "n2", "n3"]));
    assert_eq!(fixture.filter(&["n1", "n2"]).unwrap().len(), 2);
    assert!(!fixture.gateway.frees_rejected_pods());
    fixture
}

#[test]
fn a_pod_is_freed_by_what_it_was_rejected_for_and_by_nothing_else() {
    type Change = fn(&Fixture);
    let cases: [(&str, Change, bool); 8] = [
        ("nothing", |_| {}, false),
        ("a fact about its node", |fixture| fixture.gateway.set_facts(&mk_facts(&["n1", "n3"])), true),
        ("a node that was not asked about", |fixture| fixture.gateway.set_facts(&mk_facts(&["n1", "n2"])), false),
        ("a mode", |fixture| fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![mk_gate(Mode::Off)]))), true),
        ("a removal", |fixture| fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![]))), true),
        (
            "a namespace that closes in place of the facts",
            |fixture| {
                fixture.gateway.set_cluster(Arc::new(mk_namespace("closed")));
                fixture.gateway.set_facts(&mk_facts(&[]));
                assert!(!fixture.gateway.frees_rejected_pods());
                fixture.gateway.set_cluster(Arc::new(mk_namespace("open")));
            },
            true,
        ),
        (
            "the place that it got",
            |fixture| {
                let nodes = ["n1", "n2", "n3"].map(|name| mk_node(name, &[]));
                fixture.gateway.set_cluster(mk_cluster(&nodes, &[mk_placed("uid-new", "n3", 0, "1")]));
                fixture.gateway.set_facts(&mk_facts(&[]));
            },
            false,
        ),
        (
            "a filter that leaves it a node",
            |fixture| {
                fixture.gateway.set_facts(&mk_facts(&["n1"]));
                assert_eq!(fixture.filter(&["n1", "n2"]).unwrap().len(), 1);
            },
            false,
        ),
    ];
    for (what, change, is_freed) in cases {
        let fixture = mk_fixture();
        change(&fixture);
        fixture.calls();
        assert_eq!(fixture.gateway.frees_rejected_pods(), is_freed, "{what}");
        assert_eq!(fixture.calls(), [], "no request asks: {what}");
    }
}

#[test]
fn a_pod_that_stays_rejected_causes_fewer_and_fewer_wakes() {
    let open = FakePolicy::default().function().importing(&["host.now"]).filter_each(|_, _| Verdict::Fits);
    let in_vain = [0, 1, 3, 7, 15, 31];
    let cases = [
        ("an API server that refuses", vec![], true, [&in_vain[..], &[63, 95, 127, 159, 191, 223, 255, 287]].concat()),
        ("a policy that reads the time", vec![mk_member("clock", open, |_| {})], false, in_vain.into()),
        ("no policy", vec![], false, in_vain.into()),
    ];
    for (what, members, is_refused, expected) in cases {
        let fixture = mk_fixture();
        fixture.gateway.set_roster(Arc::new(Roster::of_root(members)));
        let refuse = || {
            if is_refused {
                fixture.gateway.not_woken();
            }
        };
        let wakes = wakes(&fixture, refuse, || {});
        assert_eq!(wakes, expected, "{what}");
        fixture.clock.advance(32 * SECOND);
        fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![])));
        assert!(fixture.gateway.frees_rejected_pods(), "another change is another chance: {what}");
        fixture.clock.advance(601 * SECOND);
        fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![])));
        assert!(!fixture.gateway.frees_rejected_pods(), "kube-scheduler has not asked for ten minutes: {what}");
    }
}

/// The seconds of the next 300 in which a pod causes a wake.
fn wakes(fixture: &Fixture, at_wake: impl Fn(), each_second: impl Fn()) -> Vec<u64> {
    let is_woken = |_: &u64| {
        let is_freed = fixture.gateway.frees_rejected_pods();
        if is_freed {
            at_wake();
        }
        fixture.clock.advance(SECOND);
        each_second();
        is_freed
    };
    (0..300).filter(is_woken).collect()
}

#[test]
fn one_freed_pod_ends_a_pass_and_one_that_was_asked_about_meanwhile_is_left_alone() {
    let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(None::<Arc<Fixture>>)));
    let (calls, is_open, meanwhile) = &*shared;
    let own = Arc::clone(&shared);
    let policy = FakePolicy::default().filter(move |_, nodes| {
        let (calls, is_open, meanwhile) = &*own;
        calls.fetch_add(1, Ordering::SeqCst);
        let fixture = meanwhile.lock().take();
        let verdict =
            if is_open.swap(fixture.is_none(), Ordering::SeqCst) { Verdict::Fits } else { unschedulable("no") };
        if let Some(fixture) = fixture {
            fixture.clock.advance(SECOND);
            fixture.filter_about("a", &["n1"]).unwrap();
        }
        Ok(vec![verdict; nodes.len()])
    });
    let fixture = Arc::new(Fixture::of([mk_member("gate", policy, |_| {})]));
    fixture.gateway.keep_rejected_pods();
    // Closed to the first request and open from then on, except to the one that comes meanwhile.
    fixture.filter_about("a", &["n1"]).unwrap();
    *meanwhile.lock() = Some(Arc::clone(&fixture));
    assert!(!fixture.gateway.frees_rejected_pods(), "the newer answer counts");
    is_open.store(false, Ordering::SeqCst);
    fixture.filter_about("b", &["n1"]).unwrap();
    calls.store(0, Ordering::SeqCst);
    fixture.gateway.set_roster(fixture.gateway.roster());
    assert!(fixture.gateway.frees_rejected_pods());
    assert_eq!(calls.load(Ordering::SeqCst), 1, "one wake is for all");
}

/// At most one pod on a node, and the pod has been refused on each of `names`.
fn mk_crowded(names: &[&str]) -> Fixture {
    let is_taken = |view: &View, node| view.read(Read::PlacedCount(node)) != Ok(Value::Number(0));
    let one = FakePolicy::default().importing(&["placed.count"]);
    let one =
        one.filter_each(move |view, node| if is_taken(view, node) { unschedulable("one") } else { Verdict::Fits });
    let fixture = Fixture::new(vec![mk_member("one", one, |_| {})], Some(mk_nodes(&["n1"], &["n1"])));
    fixture.gateway.keep_rejected_pods();
    assert_eq!(fixture.filter(names).unwrap().len(), names.len());
    fixture
}

/// A cluster with a pod on each `taken` node.
fn mk_nodes(names: &[&str], taken: &[&str]) -> Arc<Cluster> {
    let nodes: Vec<_> = names.iter().map(|name| mk_node(name, &[])).collect();
    let pods: Vec<_> = taken.iter().map(|node| mk_placed(&format!("on-{node}"), node, 0, "1")).collect();
    mk_cluster(&nodes, &pods)
}

#[test]
fn a_pod_is_freed_by_pods_and_nodes_that_the_watch_shows_after_kube_scheduler_has_asked() {
    for (what, asked, late, cluster, is_freed) in [
        ("a deleted pod", &["n1"][..], 1, mk_nodes(&["n1"], &[]), true),
        ("a new node", &["n1", "n2"], 1, mk_nodes(&["n1", "n2"], &["n1"]), true),
        ("a pod that frees no node", &["n1"], 1, mk_nodes(&["n1"], &["n1"]), false),
        ("a pod of which kube-scheduler must have heard itself", &["n1"], 61, mk_nodes(&["n1"], &[]), false),
    ] {
        let fixture = mk_crowded(asked);
        fixture.clock.advance(late * SECOND);
        assert!(!fixture.gateway.frees_rejected_pods(), "nothing has changed: {what}");
        fixture.gateway.set_cluster(cluster);
        assert_eq!(fixture.gateway.frees_rejected_pods(), is_freed, "{what}");
    }
}

#[test]
fn an_early_ask_after_wakes_in_vain_causes_one_more() {
    let fixture = mk_crowded(&["n1", "not-seen"]);
    // The watch shows something each second, and n2, which kube-scheduler does not name, is free.
    let ask = || drop(fixture.filter(&["n1", "not-seen"]).unwrap());
    let change = || fixture.gateway.set_cluster(mk_nodes(&["n1", "n2"], &["n1"]));
    change();
    assert_eq!(wakes(&fixture, ask, change), [0, 1, 3, 7, 15, 31, 63]);
    ask();
    change();
    assert_eq!(wakes(&fixture, ask, change), [0], "the ask that it causes is no early one");
}

#[test]
fn a_pod_that_waits_in_a_long_queue_is_freed_at_once_each_time() {
    let fixture = mk_crowded(&["n1"]);
    for turn in 0..20 {
        fixture.gateway.set_cluster(mk_nodes(&["n1"], &[]));
        assert!(fixture.gateway.frees_rejected_pods(), "{turn}");
        // Another pod was first.
        fixture.gateway.set_cluster(mk_nodes(&["n1"], &["n1"]));
        fixture.filter(&["n1"]).unwrap();
        fixture.clock.advance(SECOND);
        assert!(!fixture.gateway.frees_rejected_pods(), "{turn}");
    }
}

#[test]
fn the_end_of_an_interval_frees_a_pod_by_itself() {
    let policy = FakePolicy::default().function().importing(&["host.now"]).filter_each(|view, _| {
        let now = view.read(Read::HostNow(60)).unwrap();
        if matches!(now, Value::Number(now) if now > START as i64) { Verdict::Fits } else { unschedulable("early") }
    });
    let fixture = Fixture::of([mk_member("clock", policy, |_| {})]);
    fixture.gateway.keep_rejected_pods();
    assert_eq!(fixture.filter(&["n1"]).unwrap().len(), 1);
    let seconds = (0..60).take_while(|_| {
        fixture.clock.advance(SECOND);
        !fixture.gateway.frees_rejected_pods()
    });
    // The next minute begins 40 seconds after START.
    assert_eq!(seconds.count(), 39);
}

#[test]
fn the_last_thousand_pods_are_kept_and_a_long_list_of_nodes_stands_for_all() {
    let names: Vec<String> = (0..120).map(|node| format!("n{node}")).collect();
    let nodes: Vec<_> = names.iter().map(|name| mk_node(name, &[])).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fixture = Fixture::new(vec![mk_gate(Mode::Enforce)], Some(mk_cluster(&nodes, &[])));
    fixture.gateway.keep_rejected_pods();
    fixture.gateway.set_facts(&mk_facts(&names));
    for pod in 0..=1000 {
        fixture.filter_about(&format!("u{pod}"), &[if pod == 0 { "n0" } else { "n1" }]).unwrap();
        fixture.clock.advance(Duration::from_millis(1));
    }
    fixture.gateway.set_facts(&mk_facts(&names[1..]));
    assert!(!fixture.gateway.frees_rejected_pods(), "the first pod went");
    fixture.filter_about("many", &names[1..101]).unwrap();
    fixture.gateway.set_facts(&mk_facts(&names[..119]));
    assert!(fixture.gateway.frees_rejected_pods(), "kube-scheduler may have left out the last node");
}
