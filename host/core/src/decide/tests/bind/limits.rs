//! Random limits, counted by filters, by binds or by both, and binds from many threads: no limit is passed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Barrier},
    thread,
};

use proptest::{collection::vec, prelude::*};
use serde_json::{Value as Json, json};

use super::{
    super::fixture::{FakePolicy, mk_member, unschedulable},
    api::{Bound, Desk, End, mk_waiting},
};
use crate::{
    decide::{BindOutcome, Member},
    model::{BindError, MetadataEntry, NodeRead, PlacedRead, Read, Selector, Value, Verdict, View},
};

const NODES: [&str; 3] = ["n1", "n2", "n3"];
const IMPORTS: [&str; 2] = ["placed.count", "cluster.count"];

/// A quantity that binds change, as a policy reads it before its pod is there.
#[derive(Debug, Clone, Copy)]
enum Quantity {
    /// Pods of an app on the node, one by one.
    OnNode,
    /// The same as one read.
    OnNodeLabelled,
    /// Millicores that are requested on the node.
    RequestedOnNode,
    /// Pods of an app in the cluster.
    InCluster,
    /// The same, as a limit that has been reached.
    InClusterAtLeast,
    /// Millicores that are requested in the cluster.
    RequestedInCluster,
    /// Pods in the cluster that the policy itself has annotated.
    Annotated,
}

/// The verb that checks a limit: the filter, the bind, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Filter,
    Bind,
    Both,
}

#[derive(Debug, Clone, Copy)]
struct Limit {
    quantity: Quantity,
    /// The most pods, or cores.
    most: i64,
    by: By,
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let quantity = prop_oneof![
        Just(Quantity::OnNode),
        Just(Quantity::OnNodeLabelled),
        Just(Quantity::RequestedOnNode),
        Just(Quantity::InCluster),
        Just(Quantity::InClusterAtLeast),
        Just(Quantity::RequestedInCluster),
        Just(Quantity::Annotated),
    ];
    let by = prop_oneof![Just(By::Filter), Just(By::Bind), Just(By::Both)];
    (quantity, 1..8i64, by).prop_map(|(quantity, most, by)| Limit { quantity, most, by })
}

fn number(view: &View, read: Read<'_>) -> i64 {
    match view.read(read) {
        Ok(Value::Number(number)) => number,
        other => panic!("{read:?}: {other:?}"),
    }
}

impl Limit {
    /// Whether one pod more is within the limit.
    fn has_room(self, view: &View, node: u32) -> bool {
        let web = Selector { label: Some(("app", "web")), ..Selector::all() };
        let is_web = |pod: u32| view.read(Read::Placed(node, pod, PlacedRead::Label("app"))) == Ok(Value::text("web"));
        match self.quantity {
            Quantity::OnNode => {
                let pods = number(view, Read::PlacedCount(node)) as u32;
                ((0..pods).filter(|pod| is_web(*pod)).count() as i64) < self.most
            }
            Quantity::OnNodeLabelled => {
                number(view, Read::PlacedCountLabelled { node, namespace: "ml", key: "app", value: "web" }) < self.most
            }
            Quantity::RequestedOnNode => number(view, Read::Node(node, NodeRead::Requested("cpu"))) < self.most * 1_000,
            Quantity::InCluster => number(view, Read::ClusterCount(web)) < self.most,
            Quantity::InClusterAtLeast => {
                number(view, Read::ClusterAtLeast { selector: web, n: self.most as u64 }) == 0
            }
            Quantity::RequestedInCluster => {
                number(view, Read::ClusterRequested { selector: web, name: "cpu" }) < self.most * 1_000
            }
            Quantity::Annotated => {
                let selector = Selector { annotation: Some(("e.com/held", "1")), ..Selector::all() };
                number(view, Read::ClusterCount(selector)) < self.most
            }
        }
    }

    fn is_of_node(self) -> bool {
        matches!(self.quantity, Quantity::OnNode | Quantity::OnNodeLabelled | Quantity::RequestedOnNode)
    }

    fn member(self, at: usize) -> Arc<Member> {
        let mut policy = FakePolicy::default().function().importing(&IMPORTS);
        if self.by != By::Bind {
            policy = policy.filter_each(move |view, node| {
                // Another thread is let in between the read and the place.
                let has_room = self.has_room(view, node);
                thread::yield_now();
                if has_room { Verdict::Fits } else { unschedulable("full") }
            });
        }
        // The annotation is written by all, since one limit counts it.
        policy = policy.bind(move |ask, node| {
            let has_room = self.by == By::Filter || self.has_room(&ask.view, node);
            thread::yield_now();
            Ok(if has_room { Ok(vec![MetadataEntry::new("e.com/held", "1")]) } else { Err("full".to_owned()) })
        });
        mk_member(&format!("limit-{at}"), policy, |_| {})
    }
}

fn mk_web(at: usize) -> Json {
    let mut pod = mk_waiting(&format!("p{at}"));
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod["spec"]["containers"] = json!([{"resources": {"requests": {"cpu": "1"}}}]);
    pod
}

/// Binds every pod to the node of its wish, from several threads.
fn bind_all(desk: &Desk, wishes: &[usize], threads: usize) -> Vec<Bound> {
    let start = Barrier::new(threads);
    let results = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let own = (0..wishes.len()).filter(|pod| pod % threads == worker);
                    own.map(|pod| (pod, desk.bind(&format!("p{pod}"), NODES[wishes[pod]]))).collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<BTreeMap<_, _>>()
    });
    results.into_values().collect()
}

/// The limit that the pods that are bound pass, if there is one.
fn passed(desk: &Desk, limits: &[Limit]) -> Option<Limit> {
    let bound = desk.api.bound();
    let on = |node: &str| bound.iter().filter(|(_, own)| own == node).count() as i64;
    let most = |limit: &Limit| {
        if limit.is_of_node() { NODES.map(on).into_iter().max().unwrap_or_default() } else { bound.len() as i64 }
    };
    limits.iter().find(|limit| most(limit) > limit.most).copied()
}

fn desk(limits: &[Limit], pods: usize) -> Desk {
    let members = limits.iter().enumerate().map(|(at, limit)| limit.member(at)).collect();
    Desk::with_nodes(&NODES, members, (0..pods).map(mk_web).collect())
}

fn any_end() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![6 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(1)), 1 => Just(Some(2))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_limit_is_passed_and_no_room_is_left_while_a_pod_is_refused(
        limits in vec(any_limit(), 1..3),
        wishes in vec(0..NODES.len(), 1..30),
        threads in 1usize..8,
        ends in vec(any_end(), 0..12),
        lags: bool,
    ) {
        let desk = desk(&limits, wishes.len());
        desk.api.lag(lags);
        let is_quiet = ends.iter().all(Option::is_none);
        for end in ends.into_iter().flatten() {
            desk.api.next_write(match end {
                0 => End::Fails(BindError::Api("it is down".to_owned())),
                1 => End::IsSilent,
                _ => End::IsLost,
            });
        }
        let results = bind_all(&desk, &wishes, threads);
        prop_assert!(passed(&desk, &limits).is_none(), "{:?} of {:?}", passed(&desk, &limits), desk.api.bound());
        if is_quiet {
            // Each node has what its own limits allow, as far as it was wished for; all together what those of the
            // cluster allow.
            let smallest = |is_of_node: bool| {
                let all = limits.iter().filter(|limit| limit.is_of_node() == is_of_node);
                all.map(|limit| limit.most as usize).min().unwrap_or(usize::MAX)
            };
            let wished = |node: usize| wishes.iter().filter(|wish| **wish == node).count().min(smallest(true));
            let expected = (0..NODES.len()).map(wished).sum::<usize>().min(smallest(false));
            let bound = results.iter().filter(|result| **result == Ok(BindOutcome::Bound)).count();
            prop_assert_eq!(bound, expected, "{:?}", results);
        }
    }
}

/// The test above finds the defects that it is for: without the comparison, or without asking the filters, limits are
/// passed.
#[test]
fn without_any_part_of_the_cure_a_limit_is_passed() {
    let limit = |by| Limit { quantity: Quantity::InCluster, most: 3, by };
    let wishes: Vec<usize> = (0..24).map(|pod| pod % NODES.len()).collect();
    let is_passed = |limit: Limit, mk_desk: &dyn Fn() -> Desk| {
        (0..200).any(|_| {
            let desk = mk_desk();
            bind_all(&desk, &wishes, 8);
            passed(&desk, &[limit]).is_some()
        })
    };
    for by in [By::Filter, By::Bind] {
        let mk_blind = || {
            let desk = desk(&[limit(by)], wishes.len());
            desk.api.reserve_blindly();
            desk
        };
        assert!(is_passed(limit(by), &mk_blind), "nothing misses the comparison: {by:?}");
    }
    let not_asked = || {
        let verdict = move |view: &View, node: u32| {
            if limit(By::Filter).has_room(view, node) { Verdict::Fits } else { unschedulable("full") }
        };
        let member = mk_member("unknown", FakePolicy::default().filter_each(verdict).function(), |_| {});
        Desk::with_nodes(&NODES, vec![member], (0..wishes.len()).map(mk_web).collect())
    };
    assert!(is_passed(limit(By::Filter), &not_asked), "nothing misses the filter");
}
