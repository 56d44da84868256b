//! Pods that wait for a node are decided again when something changes of which kube-scheduler does not hear.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use hashbrown::HashMap;
use parking_lot::Mutex;
use proptest::{collection::vec, prelude::*};

use super::fixture::*;
use crate::{
    decide::{Group, Member, Nodes, Query, Roster},
    model::{
        AbsentFacts, Cluster, FactAccess, FactSource, Facts, FaultKind, Mode, Namespace, OnError, Pod, PodRead, Read,
        Value, Verdict, View, WaitingChange, WaitingPod,
    },
};

const SECOND: Duration = Duration::from_secs(1);

/// The simulated time of pods in vain, by `PLIMSOLL_HOURS`.
fn hours() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how long to simulate is said where the test is started")]
    std::env::var("PLIMSOLL_HOURS").ok().map_or(1, |hours| hours.parse().unwrap())
}

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

/// The watch shows a pod that waits.
fn show(fixture: &Fixture, pod: Arc<Pod>) {
    fixture.gateway.waiting_changed(WaitingChange::Shown(WaitingPod { pod, nominated: None }));
}

/// Whether a pass finds a pod that would keep a node; it is woken.
fn wakes(fixture: &Fixture) -> bool {
    let wake = fixture.gateway.revisit_waiting_pods();
    let is_due = wake.is_some();
    if let Some(wake) = wake {
        fixture.gateway.woken(wake);
    }
    is_due
}

/// All nodes are closed to the pod, and it waits.
fn mk_fixture() -> Fixture {
    let fixture = Fixture::of([mk_gate(Mode::Enforce)]);
    show(&fixture, mk_pod());
    fixture.gateway.set_facts(&mk_facts(&["n1", "n2", "n3"]));
    assert_eq!(fixture.filter(&["n1", "n2"]).unwrap().len(), 2);
    assert!(!wakes(&fixture));
    fixture
}

#[test]
fn a_pod_is_freed_by_what_it_was_rejected_for_and_by_nothing_else() {
    type Change = fn(&Fixture);
    let cases: [(&str, Change, bool); 8] = [
        ("nothing", |_| {}, false),
        ("a fact about its node", |fixture| fixture.gateway.set_facts(&mk_facts(&["n1", "n3"])), true),
        ("a node that was not asked about", |fixture| fixture.gateway.set_facts(&mk_facts(&["n1", "n2"])), true),
        ("a mode", |fixture| fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![mk_gate(Mode::Off)]))), true),
        ("a removal", |fixture| fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![]))), true),
        (
            "a namespace that closes in place of the facts",
            |fixture| {
                fixture.gateway.set_cluster(Arc::new(mk_namespace("closed")));
                fixture.gateway.set_facts(&mk_facts(&[]));
                assert!(!wakes(fixture));
                fixture.gateway.set_cluster(Arc::new(mk_namespace("open")));
            },
            true,
        ),
        (
            "the place that it got",
            |fixture| {
                let nodes = ["n1", "n2", "n3"].map(|name| mk_node(name, &[]));
                fixture.gateway.set_cluster(mk_cluster(&nodes, &[mk_placed("uid-new", "n3", 0, "1")]));
                fixture.gateway.waiting_changed(WaitingChange::Gone("uid-new".into()));
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
        assert_eq!(wakes(&fixture), is_freed, "{what}");
        assert_eq!(fixture.calls(), [], "no request asks: {what}");
    }
}

/// The seconds of the next ones in which there is a wake.
fn wakes_in(fixture: &Fixture, seconds: u64, mut each_second: impl FnMut(u64)) -> Vec<u64> {
    let is_woken = |second: &u64| {
        let is_woken = wakes(fixture);
        fixture.clock.advance(SECOND);
        each_second(*second);
        is_woken
    };
    (0..seconds).filter(is_woken).collect()
}

#[test]
fn wakes_that_free_nobody_end_and_another_change_is_another_chance() {
    let in_vain = [0, 1, 3, 7, 15, 31];
    let open = FakePolicy::default().function().importing(&["host.now"]).filter_each(|_, _| Verdict::Fits);
    for (what, members) in
        [("a policy that reads the time", vec![mk_member("clock", open, |_| {})]), ("no policy", vec![])]
    {
        let fixture = mk_fixture();
        fixture.gateway.set_roster(Arc::new(Roster::of_root(members.clone())));
        assert_eq!(wakes_in(&fixture, 300, |_| {}), in_vain, "{what}");
        // It does not fit, and then it does.
        for (mode, expected) in [(Mode::Enforce, vec![]), (Mode::Off, vec![0])] {
            fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![mk_gate(mode)])));
            assert_eq!(wakes_in(&fixture, 60, |_| {}), expected, "{what}");
        }
    }
}

#[test]
fn a_wake_that_was_not_sent_is_due_again() {
    let fixture = mk_fixture();
    fixture.gateway.set_facts(&mk_facts(&[]));
    for _ in 0..20 {
        assert!(fixture.gateway.revisit_waiting_pods().is_some());
    }
    assert!(wakes(&fixture));
    assert!(!wakes(&fixture));
}

#[test]
fn a_pod_that_was_asked_about_meanwhile_is_left_alone() {
    let shared = Arc::new((AtomicBool::new(false), Mutex::new(None::<Arc<Fixture>>)));
    let (is_open, meanwhile) = &*shared;
    let own = Arc::clone(&shared);
    let policy = FakePolicy::default().filter(move |_, nodes| {
        let (is_open, meanwhile) = &*own;
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
    show(&fixture, mk_pod_of("a"));
    // Closed to the first request and open from then on, except to the one that comes meanwhile.
    fixture.filter_about("a", &["n1"]).unwrap();
    *meanwhile.lock() = Some(Arc::clone(&fixture));
    fixture.gateway.set_roster(fixture.gateway.roster());
    assert!(!wakes(&fixture), "the newer answer counts");
    is_open.store(true, Ordering::SeqCst);
    fixture.gateway.set_roster(fixture.gateway.roster());
    assert!(wakes(&fixture));
}

/// At most one pod on a node, and the pod has been refused on each of `names`.
fn mk_crowded(names: &[&str]) -> Fixture {
    let is_taken = |view: &View, node| view.read(Read::PlacedCount(node)) != Ok(Value::Number(0));
    let one = FakePolicy::default().importing(&["placed.count"]);
    let one =
        one.filter_each(move |view, node| if is_taken(view, node) { unschedulable("one") } else { Verdict::Fits });
    let fixture = Fixture::new(vec![mk_member("one", one, |_| {})], Some(mk_nodes(&["n1"], &["n1"])));
    show(&fixture, mk_pod());
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
        assert!(!wakes(&fixture), "nothing has changed: {what}");
        fixture.gateway.set_cluster(cluster);
        assert_eq!(wakes(&fixture), is_freed, "{what}");
    }
}

#[test]
fn a_pod_that_waits_in_a_long_queue_is_freed_at_once_each_time() {
    let fixture = mk_crowded(&["n1"]);
    for turn in 0..20 {
        fixture.gateway.set_cluster(mk_nodes(&["n1"], &[]));
        assert!(wakes(&fixture), "{turn}");
        // Another pod was first, and was woken too.
        fixture.gateway.set_cluster(mk_nodes(&["n1"], &["n1"]));
        show(&fixture, mk_pod_of("first"));
        fixture.filter_about("first", &["n1"]).unwrap();
        fixture.filter(&["n1"]).unwrap();
        fixture.clock.advance(SECOND);
        assert!(!wakes(&fixture), "{turn}");
        fixture.gateway.set_cluster(mk_nodes(&["n1"], &[]));
        fixture.clock.advance(SECOND);
        assert!(wakes(&fixture), "{turn}");
        fixture.gateway.waiting_changed(WaitingChange::Gone("first".into()));
        fixture.gateway.set_cluster(mk_nodes(&["n1"], &["n1"]));
        fixture.filter(&["n1"]).unwrap();
        fixture.clock.advance(SECOND);
    }
}

#[test]
fn the_end_of_an_interval_frees_a_pod_by_itself() {
    let policy = FakePolicy::default().function().importing(&["host.now"]).filter_each(|view, _| {
        let now = view.read(Read::HostNow(60)).unwrap();
        if matches!(now, Value::Number(now) if now > START as i64) { Verdict::Fits } else { unschedulable("early") }
    });
    let fixture = Fixture::of([mk_member("clock", policy, |_| {})]);
    show(&fixture, mk_pod());
    assert_eq!(fixture.filter(&["n1"]).unwrap().len(), 1);
    let seconds = (0..60).take_while(|_| {
        fixture.clock.advance(SECOND);
        !wakes(&fixture)
    });
    // The next minute begins 40 seconds after START.
    assert_eq!(seconds.count(), 39);
}

#[test]
fn only_pods_that_exist_and_only_nodes_that_kube_scheduler_would_take_cause_wakes() {
    let full = |cpu: &str| mk_cluster(&[mk_node("n1", &[])], &[mk_placed("other", "n1", 0, cpu)]);
    for (what, cluster, is_gone, expected) in [
        ("a free node", full("6"), false, true),
        ("a full node", full("7"), false, false),
        ("a deleted pod", full("6"), true, false),
    ] {
        let fixture = Fixture::new(vec![mk_gate(Mode::Enforce)], Some(cluster));
        show(&fixture, mk_pod());
        fixture.gateway.set_facts(&mk_facts(&["n1"]));
        assert_eq!(fixture.filter(&["n1"]).unwrap().len(), 1);
        if is_gone {
            fixture.gateway.waiting_changed(WaitingChange::Gone("uid-new".into()));
        }
        fixture.gateway.set_facts(&mk_facts(&[]));
        assert_eq!(wakes(&fixture), expected, "{what}");
    }
    let fixture = Fixture::of([mk_gate(Mode::Enforce)]);
    fixture.gateway.set_facts(&mk_facts(&["n1"]));
    assert_eq!(fixture.filter(&["n1"]).unwrap().len(), 1);
    fixture.gateway.set_facts(&mk_facts(&[]));
    assert!(!wakes(&fixture), "no watch shows the pod");
}

#[test]
fn a_group_that_passes_the_pod_takes_no_pause_from_another_that_rejects_it() {
    let fixture = mk_fixture();
    let groups = [("", vec![]), ("gate", vec![mk_gate(Mode::Enforce)])]
        .map(|(name, members)| (name.into(), Group::new(members)));
    fixture.gateway.set_roster(Arc::new(Roster::new(groups.into(), vec![])));
    let names = cows(&["n1"]);
    let ask = |group| drop(fixture.gateway.filter(group, &fixture.query(Nodes::Names(&names))).unwrap());
    let each_second = |second| {
        ["", "gate"].into_iter().for_each(ask);
        // It fits now and then, and gets no node.
        fixture.gateway.set_facts(&mk_facts(if second % 2 == 0 { &["n1", "n2", "n3"] } else { &[] }));
    };
    each_second(0);
    let wakes = wakes_in(&fixture, 3600, each_second);
    assert!(wakes.len() < 70, "{wakes:?}");
}

#[test]
fn after_a_start_a_pod_that_fits_is_woken_though_no_request_has_asked_about_it() {
    for (closed, expected) in [(&["n1", "n2", "n3"][..], false), (&["n1"], true)] {
        let fixture = Fixture::of([mk_gate(Mode::Enforce)]);
        fixture.gateway.set_facts(&mk_facts(closed));
        show(&fixture, mk_pod());
        fixture.gateway.waiting_changed(WaitingChange::Listed);
        assert_eq!(wakes(&fixture), expected);
        assert!(!wakes(&fixture), "once");
    }
}

#[test]
fn decisions_that_no_request_asks_for_have_no_effects() {
    let fixture =
        Fixture::of([mk_member("bad", mk_failing(FaultKind::Trap), |config| config.on_error = Some(OnError::Fail))]);
    for pod in 0..10 {
        let uid = pod.to_string();
        show(&fixture, mk_pod_of(&uid));
        fixture.gateway.waiting_changed(WaitingChange::Listed);
    }
    assert!(!wakes(&fixture));
    let roster = fixture.gateway.roster();
    let member = roster.members().next().unwrap();
    assert_eq!((fixture.calls(), fixture.opened()), (vec![], vec![]));
    assert!(member.circuit.failed_from_start().is_none() && member.calls.last_fault().is_none());
}

/// More than are kept: the rest is woken blindly, once for each change, but not more than once a minute.
#[test]
fn twenty_thousand_pods_are_kept_and_others_are_woken_blindly_once_a_minute() {
    let fixture = Fixture::of([mk_gate(Mode::Enforce)]);
    fixture.gateway.set_facts(&mk_facts(&["n1", "n2", "n3"]));
    (0..20_000).for_each(|pod| show(&fixture, mk_pod_of(&pod.to_string())));
    fixture.filter_about("7", &["n1"]).unwrap();
    fixture.gateway.set_facts(&mk_facts(&["n1", "n2", "n3", "n4"]));
    assert!(!wakes(&fixture));
    fixture.filter_about("one too many", &["n1"]).unwrap();
    assert!(!wakes(&fixture), "nothing has changed");
    fixture.gateway.set_facts(&mk_facts(&["n1", "n2", "n3"]));
    assert!(wakes(&fixture));
    assert!(!wakes(&fixture));
    // A fact changes every second, or places of a gang end that never fits.
    let woken = wakes_in(&fixture, 240, |second| {
        fixture.filter_about("one too many", &["n1"]).unwrap();
        let closed: &[&str] = if second % 2 == 0 { &["n1", "n2", "n3", "n4"] } else { &["n1", "n2", "n3"] };
        fixture.gateway.set_facts(&mk_facts(closed));
    });
    assert_eq!(woken, [60, 120, 180]);
}

/// kube-scheduler, which asks about each pod that a wake frees once its back-off of ten seconds is over, and offers n1
/// alone: a filter that is not modelled rejects the other nodes.
struct Simulated {
    fixture: Fixture,
    groups: &'static [&'static str],
    /// When each pod may be tried again, in seconds; none: it is parked.
    due: Vec<Option<u64>>,
}

impl Simulated {
    fn new(pods: usize, groups: &'static [&'static str]) -> Self {
        let fixture = Fixture::of([]);
        let roster = groups.iter().map(|name| (Arc::from(*name), Group::new(vec![mk_gate(Mode::Enforce)])));
        fixture.gateway.set_roster(Arc::new(Roster::new(roster.collect(), vec![])));
        fixture.gateway.set_facts(&mk_facts(&["n1"]));
        (0..pods).for_each(|pod| show(&fixture, mk_pod_of(&pod.to_string())));
        Self { fixture, groups, due: vec![Some(0); pods] }
    }

    /// A second passes; returns whether there was a wake.
    fn tick(&mut self, second: u64) -> bool {
        let names = cows(&["n1"]);
        for pod in 0..self.due.len() {
            if self.due[pod].is_some_and(|due| due <= second) {
                let query = Query { pod: mk_pod_of(&pod.to_string()), ..self.fixture.query(Nodes::Names(&names)) };
                self.groups.iter().for_each(|group| drop(self.fixture.gateway.filter(group, &query).unwrap()));
                self.due[pod] = None;
            }
        }
        let is_woken = wakes(&self.fixture);
        if is_woken {
            self.due.iter_mut().for_each(|due| *due = Some(due.unwrap_or(second + 10)));
        }
        self.fixture.clock.advance(SECOND);
        is_woken
    }
}

#[test]
fn pods_in_vain_cause_few_wakes_however_many_they_are() {
    let seconds = hours() * 3_600;
    for groups in [&["a"][..], &["a", "b"]] {
        for pods in [1, 2, 20, 64] {
            for flaps in [false, true] {
                let mut simulated = Simulated::new(pods, groups);
                let wakes = (0..seconds).filter(|second| {
                    // The cluster changes each second, and a fact that decides about the free nodes if it `flaps`.
                    let gateway = &simulated.fixture.gateway;
                    gateway.set_cluster(mk_three());
                    if flaps && second % 2 == 0 {
                        gateway.set_facts(&mk_facts(if second % 4 == 0 { &["n1"] } else { &["n1", "n2", "n3"] }));
                    }
                    simulated.tick(*second)
                });
                let wakes = wakes.count();
                // One each 64 s at most, where each change is news.
                let most = if flaps { seconds as usize / 64 + 12 } else { 8 };
                println!("{} groups, {pods} pods, flaps {flaps}: {wakes} wakes in {seconds} s", groups.len());
                assert!((6..=most).contains(&wakes), "{} groups, {pods} pods, flaps {flaps}: {wakes}", groups.len());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn after_the_last_change_wakes_that_free_nobody_end(
        pods in 1..20usize,
        has_two_groups: bool,
        changes in vec((0..5u8, 1..40u64), 0..30),
    ) {
        let mut simulated = Simulated::new(pods, if has_two_groups { &["a", "b"] } else { &["a"] });
        let mut second = 0;
        for (change, seconds) in changes {
            let gateway = &simulated.fixture.gateway;
            match change {
                0 => gateway.set_facts(&mk_facts(&["n1"])),
                1 => gateway.set_facts(&mk_facts(&["n1", "n2", "n3"])),
                2 => gateway.set_cluster(mk_nodes(&["n1", "n2", "n3"], &["n2", "n3"])),
                3 => gateway.set_roster(gateway.roster()),
                _ => gateway.set_cluster(mk_three()),
            }
            for _ in 0..seconds {
                simulated.tick(second);
                second += 1;
            }
        }
        for _ in 0..600 {
            simulated.tick(second);
            second += 1;
        }
        for _ in 0..3_600 {
            prop_assert!(!simulated.tick(second), "at {second} s");
            second += 1;
        }
    }
}
