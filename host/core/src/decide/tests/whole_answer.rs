//! A pod that is left without a node gets an answer for the whole cluster, and is nominated for a node that was not offered.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use super::fixture::*;
use crate::{
    decide::{FilterOutcome, Nodes, NominationPatch, Query, place_of},
    model::{
        Cluster, Fault, FaultKind, NodeRead, NominatedFor, Places, Pod, Read, Slot, Value, Verdict, WaitingChange,
        WaitingPod,
    },
};

const MS: Duration = Duration::from_millis(1);
const FITS: &str = "plimsoll: fits, but kube-scheduler has not looked at it";

/// The pods that have a tentative place, with their nodes.
#[derive(Default)]
pub(super) struct Held(Mutex<BTreeMap<String, String>>);

impl Places for Held {
    fn hold(&self, pod: Arc<Pod>, _: Instant) {
        self.0.lock().unwrap().insert(pod.uid().to_owned(), pod.node().unwrap().to_owned());
    }

    fn leave(&self, uid: &str) {
        self.0.lock().unwrap().remove(uid);
    }
}

/// Nodes `n0`, `n1`, ..., of which the first three are the pool.
pub(super) fn mk_pool(count: usize, change: impl Fn(usize, &mut Json), pods: &[Json]) -> Arc<Cluster> {
    let node = |at: usize| {
        let labels = if at < 3 { &[("pool", "a")][..] } else { &[] };
        let mut node = mk_node(&format!("n{at}"), labels);
        change(at, &mut node);
        node
    };
    mk_cluster(&(0..count).map(node).collect::<Vec<_>>(), pods)
}

/// Rejects nodes outside the pool.
fn mk_policy() -> FakePolicy {
    FakePolicy::default().function().filter_each(|view, node| {
        match view.read(Read::Node(node, NodeRead::Label("pool"))) {
            Ok(Value::Text(_)) => Verdict::Fits,
            _ => unschedulable("outside the pool"),
        }
    })
}

pub(super) fn mk_fixture(cluster: Arc<Cluster>) -> (Fixture, Arc<Held>) {
    let fixture = Fixture::new(vec![mk_member("pool", mk_policy(), |_| {})], Some(cluster));
    let held = Arc::new(Held::default());
    fixture.gateway.answer_for_whole_cluster();
    fixture.gateway.set_places(Arc::clone(&held) as _);
    fixture.gateway.set_keeper(true, Box::new(|| {}));
    show(&fixture, &mk_pod(), None);
    (fixture, held)
}

pub(super) fn show(fixture: &Fixture, pod: &Arc<Pod>, own: Option<&str>) {
    let nominated = own.map(|node| NominatedFor { node: node.into(), is_own: true });
    fixture.gateway.waiting_changed(WaitingChange::Shown(WaitingPod { pod: Arc::clone(pod), nominated }));
}

/// The pod, with this nomination and condition.
pub(super) fn mk_tried(nominated: Option<&str>, message: &str) -> Arc<Pod> {
    let mut pod: Json = serde_json::from_slice(mk_pod().json().unwrap()).unwrap();
    pod["status"] = json!({"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]});
    if let Some(node) = nominated {
        pod["status"]["nominatedNodeName"] = node.into();
    }
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}

/// The outcome about a window of nodes.
pub(super) fn ask(fixture: &Fixture, pod: &Arc<Pod>, window: std::ops::Range<usize>) -> FilterOutcome {
    let names: Vec<String> = window.map(|at| format!("n{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cows = cows(&names);
    let query = Query { pod: Arc::clone(pod), ..fixture.query(Nodes::Names(&cows)) };
    let (outcome, after) = fixture.gateway.filter("", &query).unwrap();
    after.run();
    outcome
}

/// How many nodes have each reason, and how many of them are resolvable on the wire.
fn histogram(outcome: &FilterOutcome) -> Vec<(String, usize, usize)> {
    let mut counts = BTreeMap::<String, (usize, usize)>::new();
    let offered = outcome.rejected.iter().map(|one| (one, Some(one.node) == outcome.nominated && !one.unresolvable));
    for (one, is_resolvable) in offered.chain(outcome.others.iter().map(|one| (one, !one.unresolvable))) {
        let (all, resolvable) = counts.entry(outcome.reason(*one).to_string()).or_default();
        (*all, *resolvable) = (*all + 1, *resolvable + usize::from(is_resolvable));
    }
    counts.into_iter().map(|(text, (all, resolvable))| (text, all, resolvable)).collect()
}

fn due(fixture: &Fixture) -> Vec<NominationPatch> {
    fixture.gateway.keep_places().0
}

pub(super) fn full(count: usize) -> Vec<Json> {
    (0..count).map(|at| mk_placed(&format!("on-{at}"), &format!("n{at}"), 0, "7")).collect()
}

#[test]
fn every_node_is_named_with_its_reason_and_the_message_is_the_same_for_every_sample() {
    let pool = |all: usize, full: usize| {
        vec![("Insufficient cpu".to_owned(), 3, full), ("pool: outside the pool".to_owned(), all - 3, 0)]
    };
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(3)));
    for window in [10..110, 40..140, 3..103] {
        assert_eq!(histogram(&ask(&fixture, &mk_pod(), window)), pool(150, 3));
    }
    // kube-scheduler has looked at all nodes.
    assert_eq!(histogram(&ask(&fixture, &mk_pod(), 10..109)), [("pool: outside the pool".to_owned(), 99, 0)]);
    // A large cluster: one text for the offered nodes, and what kube-scheduler's own filters say.
    let cordon = |at: usize, node: &mut Json| node["spec"] = json!({"unschedulable": at % 10 == 5});
    let (fixture, _) = mk_fixture(mk_pool(1_100, cordon, &full(3)));
    for first in [10, 500, 600] {
        // kube-scheduler's own status of a cordoned node counts where it has looked at it.
        let others = (0..1_100).filter(|at| at % 10 == 5 && !(first..first + 420).contains(at)).count();
        let expected =
            [("Insufficient cpu", 3, 3), ("node(s) were unschedulable", others, 0), ("pool: outside the pool", 420, 0)];
        let found = histogram(&ask(&fixture, &mk_pod(), first..first + 420));
        assert_eq!(found, expected.map(|(text, all, resolvable)| (text.to_owned(), all, resolvable)));
    }
}

/// kube-scheduler asks about the nominated node alone before it asks about all, in each attempt.
#[test]
fn the_message_about_a_nominated_pod_stays_the_same_though_the_policy_counts_its_attempts() {
    let asked = AtomicU64::new(0);
    let counting = FakePolicy::default().filter(move |_, nodes| {
        let attempt = asked.fetch_add(1, Ordering::SeqCst);
        Ok(nodes.iter().map(|_| unschedulable(&format!("attempt {attempt}"))).collect())
    });
    let fixture = Fixture::new(vec![mk_member("p", counting, |_| {})], Some(mk_pool(150, |_, _| {}, &[])));
    let pod = mk_tried(Some("n20"), "");
    show(&fixture, &pod, None);
    for _ in 0..4 {
        assert_eq!(histogram(&ask(&fixture, &pod, 20..21)), [("p: attempt 0".to_owned(), 1, 1)]);
        assert_eq!(histogram(&ask(&fixture, &pod, 0..150)), [("p: attempt 1".to_owned(), 150, 1)]);
    }
}

#[test]
fn a_policy_and_kube_scheduler_decide_together_whether_preemption_helps() {
    // n1 is cordoned, n2 is full, and so is n5, outside of the pool.
    let change = |at: usize, node: &mut Json| node["spec"] = json!({"unschedulable": at == 0 || at == 1});
    let pods: Vec<Json> = ["n2", "n5"].map(|node| mk_placed(node, node, 0, "7")).into();
    let (fixture, _) = mk_fixture(mk_pool(150, change, &pods));
    let expected = [
        ("Insufficient cpu", 1, 1),
        ("node(s) were unschedulable", 2, 0),
        // n5 fits once its pods are gone, and the policy has not said that it never fits.
        ("pool: outside the pool", 147, 1),
    ];
    let found = histogram(&ask(&fixture, &mk_pod(), 10..110));
    assert_eq!(found, expected.map(|(text, all, resolvable)| (text.to_owned(), all, resolvable)));
    // The node that kube-scheduler has nominated the pod for keeps its code.
    let found = histogram(&ask(&fixture, &mk_tried(Some("n20"), ""), 10..110));
    assert_eq!(found[2], ("pool: outside the pool".to_owned(), 147, 2));
}

#[test]
fn a_pod_is_nominated_for_a_free_node_that_was_not_offered_and_nobody_is_evicted_beside_it() {
    let (fixture, held) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
    let found = histogram(&ask(&fixture, &mk_pod(), 10..110));
    let expected = [("Insufficient cpu", 2, 0), (FITS, 1, 0), ("pool: outside the pool", 147, 0)];
    assert_eq!(found, expected.map(|(text, all, resolvable)| (text.to_owned(), all, resolvable)));
    assert_eq!(*held.0.lock().unwrap(), BTreeMap::from([("uid-new".to_owned(), "n2".to_owned())]));
    assert!(due(&fixture).is_empty(), "kube-scheduler clears a nomination with the failed attempt");
    show(&fixture, &mk_tried(None, "0/150 nodes are available"), None);
    let [patch] = &due(&fixture)[..] else { panic!("one is due") };
    assert_eq!((patch.was.as_deref(), patch.node.as_deref()), (None, Some("n2")));
    fixture.gateway.nomination_sent(patch, true);
    show(&fixture, &mk_tried(Some("n2"), "0/150 nodes are available"), Some("n2"));
    assert!(due(&fixture).is_empty());
    // It is bound.
    fixture.gateway.waiting_changed(WaitingChange::Gone("uid-new".into()));
    fixture.clock.advance(10_000 * MS);
    assert!(due(&fixture).is_empty());
}

#[test]
fn a_nomination_ends_when_it_was_tried_when_its_time_is_over_and_when_it_was_not_written() {
    type End = fn(&Fixture, &NominationPatch);
    let cases: [(&str, End, bool); 3] = [
        ("not written", |fixture, patch| fixture.gateway.nomination_sent(patch, false), false),
        (
            "tried",
            |fixture, patch| {
                fixture.gateway.nomination_sent(patch, true);
                let found = histogram(&ask(fixture, &mk_tried(Some("n2"), ""), 20..120));
                assert!(found.iter().all(|(text, ..)| text != FITS), "kube-scheduler's own status stands: {found:?}");
                assert_eq!(found[0], ("Insufficient cpu".to_owned(), 2, 2));
                fixture.clock.advance(1_000 * MS);
            },
            true,
        ),
        (
            "its time is over",
            |fixture, patch| {
                fixture.gateway.nomination_sent(patch, true);
                fixture.clock.advance(5_000 * MS);
            },
            true,
        ),
    ];
    for (what, end, is_taken_back) in cases {
        let (fixture, held) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
        ask(&fixture, &mk_pod(), 10..110);
        fixture.clock.advance(100 * MS);
        end(&fixture, &due(&fixture)[0]);
        let patches = due(&fixture);
        assert_eq!(patches.len(), usize::from(is_taken_back), "{what}");
        for patch in patches {
            assert_eq!((patch.was.as_deref(), patch.node.as_deref()), (Some("n2"), None), "{what}");
            fixture.gateway.nomination_sent(&patch, true);
        }
        assert!(held.0.lock().unwrap().is_empty(), "{what}");
    }
}

#[test]
fn a_nomination_that_an_earlier_attempt_has_cleared_is_repeated_twice() {
    // The API server's reply comes before, between or after what the watch shows.
    for reply in 0..=3 {
        let (fixture, held) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
        ask(&fixture, &mk_pod(), 10..110);
        fixture.clock.advance(100 * MS);
        for repeated in [true, true, false] {
            let [patch] = &due(&fixture)[..] else { panic!("one is due") };
            assert_eq!(patch.node.as_deref(), Some("n2"));
            // The watch may be behind.
            for (at, (nominated, own)) in [(None, None), (Some("n2"), Some("n2")), (None, None)].into_iter().enumerate()
            {
                if at == reply {
                    fixture.gateway.nomination_sent(patch, true);
                }
                assert!(due(&fixture).is_empty());
                show(&fixture, &mk_tried(nominated, ""), own);
            }
            if reply == 3 {
                fixture.gateway.nomination_sent(patch, true);
            }
            assert_eq!(held.0.lock().unwrap().is_empty(), !repeated);
        }
        assert!(due(&fixture).is_empty());
    }
}

#[test]
fn nominations_of_a_restarted_replica_are_taken_back_and_those_of_preemption_are_left_alone() {
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
    show(&fixture, &mk_tried(Some("n1"), ""), Some("n1"));
    fixture.clock.advance(5_000 * MS);
    let patches = due(&fixture);
    assert_eq!(patches.iter().map(|patch| patch.was.as_deref()).collect::<Vec<_>>(), [Some("n1")]);
    fixture.gateway.nomination_sent(&patches[0], true);
    // Preemption has chosen a node meanwhile: the patch would evict a second victim.
    ask(&fixture, &mk_pod(), 10..110);
    let chosen = |node: &str| {
        let nominated = Some(NominatedFor { node: node.into(), is_own: false });
        let pod = mk_tried(Some(node), "evicts");
        fixture.gateway.waiting_changed(WaitingChange::Shown(WaitingPod { pod, nominated }));
    };
    chosen("n0");
    fixture.clock.advance(100 * MS);
    assert!(due(&fixture).is_empty());
    ask(&fixture, &mk_pod(), 10..110);
    fixture.clock.advance(100 * MS);
    assert!(due(&fixture).is_empty(), "it was there before the question");
    // It chooses the node that plimsoll has nominated: the end is its own.
    show(&fixture, &mk_pod(), None);
    ask(&fixture, &mk_pod(), 10..110);
    fixture.clock.advance(100 * MS);
    fixture.gateway.nomination_sent(&due(&fixture)[0], true);
    chosen("n2");
    fixture.clock.advance(5_000 * MS);
    assert!(due(&fixture).is_empty());
}

#[test]
fn five_nominations_in_vain_are_all_until_there_is_another_node() {
    // Ten nodes of the pool, which a filter that is not modelled rejects.
    let change = |at: usize, node: &mut Json| {
        if at < 10 {
            node["metadata"]["labels"] = json!({"pool": "a"});
        }
    };
    let cluster = mk_pool(150, change, &[]);
    let (fixture, _) = mk_fixture(Arc::clone(&cluster));
    let (mut pod, mut tries) = (mk_pod(), 0);
    for attempt in 0..30 {
        ask(&fixture, &pod, 10 + attempt..110 + attempt);
        fixture.clock.advance(200 * MS);
        let chosen = due(&fixture).into_iter().find(|patch| patch.node.is_some());
        let Some(patch) = chosen else { break };
        fixture.gateway.nomination_sent(&patch, true);
        tries += 1;
        pod = mk_tried(patch.node.as_deref(), "");
    }
    assert_eq!(tries, 5);
    let found = histogram(&ask(&fixture, &mk_pod(), 10..110));
    assert_eq!(found, [("pool: outside the pool".to_owned(), 140, 0)], "the others are left to kube-scheduler");
    fixture.clock.advance(61_000 * MS);
    ask(&fixture, &mk_pod(), 10..110);
    fixture.clock.advance(200 * MS);
    let patches = due(&fixture);
    assert!(patches.iter().all(|patch| patch.node.is_none()), "no node is new");
    for patch in &patches {
        fixture.gateway.nomination_sent(patch, true);
    }
    fixture.gateway.set_cluster(mk_pool(
        150,
        |at, node| {
            if at < 11 {
                change(at.min(9), node);
            }
        },
        &[],
    ));
    ask(&fixture, &mk_pod(), 20..120);
    fixture.clock.advance(200 * MS);
    assert!(due(&fixture).iter().any(|patch| patch.node.is_some()), "all nodes are new records");
}

#[test]
fn a_nomination_that_kube_scheduler_had_no_time_to_try_is_followed_by_a_longer_one() {
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
    for seconds in [5, 10, 20, 40, 80, 80] {
        ask(&fixture, &mk_pod(), 10..110);
        fixture.clock.advance(100 * MS);
        fixture.gateway.nomination_sent(&due(&fixture)[0], true);
        fixture.clock.advance((seconds * 1_000 - 1) * MS);
        assert!(due(&fixture).is_empty(), "{seconds}");
        fixture.clock.advance(MS);
        fixture.gateway.nomination_sent(&due(&fixture)[0], true);
    }
}

#[test]
fn a_node_that_five_pods_have_tried_in_vain_is_left_to_kube_scheduler() {
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
    let of = |uid: usize, nominated: Option<&str>| {
        let mut pod: Json = serde_json::from_slice(mk_tried(nominated, "").json().unwrap()).unwrap();
        pod["metadata"]["uid"] = json!(format!("uid-{uid}"));
        Arc::new(Pod::from_json(bytes(&pod)).unwrap())
    };
    for uid in 0..7 {
        if uid == 6 {
            // It is remembered for ten minutes.
            fixture.clock.advance(600_000 * MS);
            assert!(due(&fixture).is_empty());
        }
        show(&fixture, &of(uid, None), None);
        ask(&fixture, &of(uid, None), 10..110);
        fixture.clock.advance(100 * MS);
        let patches = due(&fixture);
        assert_eq!(patches.len(), usize::from(uid != 5), "{uid}");
        for patch in &patches {
            fixture.gateway.nomination_sent(patch, true);
            ask(&fixture, &of(uid, Some("n2")), 10..110);
            fixture.clock.advance(1_000 * MS);
            fixture.gateway.nomination_sent(&due(&fixture)[0], true);
        }
    }
}

#[test]
fn a_node_is_the_same_whoever_is_nominated_for_it() {
    let q = Arc::new(Pod::from_json(bytes(&mk_placed("q", "n2", 0, "1"))).unwrap());
    let reserved = [(q.uid().into(), q)].into_iter().collect();
    let cluster = Arc::into_inner(mk_pool(3, |_, _| {}, &[mk_placed("q", "n2", 0, "1")])).unwrap();
    let cluster = cluster.with_reserved(Arc::new(reserved));
    let slot = &cluster.slots()[cluster.find("n2").unwrap() as usize];
    let empty = Slot { node: Arc::clone(&slot.node), placed: None };
    assert_eq!(place_of(&cluster, slot), place_of(&cluster, &empty));
    assert_ne!(place_of(&Cluster::default(), slot), place_of(&cluster, &empty), "a pod that is bound changes it");
}

#[test]
fn a_fault_about_nodes_that_were_not_offered_has_no_effect_but_that_they_are_left_out() {
    let failing = FakePolicy::default().filter(|ask, nodes| {
        let is_pool = |node: &u32| ask.view.read(Read::Node(*node, NodeRead::Label("pool"))) != Ok(Value::Absent);
        if nodes.iter().any(is_pool) {
            return Err(Fault::new(FaultKind::Trap, "it fails"));
        }
        Ok(vec![unschedulable("no"); nodes.len()])
    });
    let fixture = Fixture::new(vec![mk_member("p", failing, |_| {})], Some(mk_pool(150, |_, _| {}, &full(2))));
    fixture.gateway.answer_for_whole_cluster();
    for attempt in 0..20 {
        let pod = mk_pod_of(&attempt.to_string());
        let found = histogram(&ask(&fixture, &pod, 10..110));
        assert_eq!(found, [("Insufficient cpu".to_owned(), 2, 2), ("p: no".to_owned(), 100, 0)]);
    }
    assert!(fixture.opened().is_empty() && fixture.calls().iter().all(|call| call.outcome.is_ok()));
}

#[test]
fn a_rejection_of_offered_nodes_by_the_model_counts_no_more_once_it_is_certain() {
    // kube-scheduler ignores the resource: it offers the nodes all the same.
    let mut pod: Json = serde_json::from_slice(mk_pod().json().unwrap()).unwrap();
    pod["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1".into();
    let pod = Arc::new(Pod::from_json(bytes(&pod)).unwrap());
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
    for (attempt, expected) in [(0, 3), (1, 3), (2, 3), (3, 2)] {
        fixture.clock.advance(60 * MS);
        let found = histogram(&ask(&fixture, &pod, 10..110));
        let named: usize = found.iter().filter(|(text, ..)| text.contains("Insufficient")).map(|(_, all, _)| all).sum();
        assert_eq!(named, expected, "{attempt}: {found:?}");
    }
    let differences = || fixture.gateway.model_differences().into_iter().map(|one| one.reason).collect::<Vec<_>>();
    assert_eq!(differences(), ["Insufficient example.com/gpu".into()]);
    // It goes on as long as it is seen, and ends an hour after that.
    for (pod, expected) in [(&pod, 1), (&pod, 1), (&mk_pod_of("other"), 1), (&mk_pod_of("other"), 0)] {
        fixture.clock.advance(Duration::from_mins(35));
        ask(&fixture, pod, 10..110);
        assert_eq!(differences().len(), expected);
    }
}
