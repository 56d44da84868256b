//! After any events in any order, the cluster equals the one that a list of the remaining objects would give.

mod laws;

use std::time::Duration;

use plimsoll_core::{NotReserved, Placed, Read, Selector, Slot, Value, View, WaitingPod};

use super::*;

pub(super) fn node(name: &str, zone: &str, beat: u32) -> Node {
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"{zone}"}},"resourceVersion":"{beat}"}},
            "status":{{"conditions":[{{"type":"Ready","lastHeartbeatTime":"{beat}"}}]}}}}"#
    );
    Node::steady_from_json(json.as_bytes()).unwrap()
}

/// A pod of the namespace `web`; no `node`: it is not bound.
pub(super) fn pod(name: &str, uid: &str, node: &str, app: &str) -> Pod {
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"web","uid":"{uid}","labels":{{"app":"{app}"}}}},
            "spec":{{"nodeName":"{node}","containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}]}},
            "status":{{"phase":"Running"}}}}"#
    );
    Pod::placed_from_json(json.as_bytes()).unwrap()
}

/// A pod that waits on a node for its volumes; no `node`: it is not nominated.
pub(super) fn waiting(name: &str, uid: &str, node: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"web","uid":"{uid}"}},"status":{{"nominatedNodeName":"{node}"}}}}"#
    )
}

impl ClusterStore {
    fn show_node(&mut self, node: Node) {
        self.put_node(Arc::clone(node.name()), Some(node));
    }

    fn show_pod(&mut self, pod: Pod) {
        self.put_pod(pod, true);
    }

    fn show_waiting(&mut self, json: &str) {
        self.put(Resource::Waiting.read(json));
    }
}

/// The UIDs on each node, by name.
pub(super) fn snapshot(cluster: &Cluster) -> Vec<(String, Vec<String>)> {
    let uids = |slot: &Slot| slot.placed.as_ref().unwrap().pods().iter().map(|pod| pod.uid().to_owned()).collect();
    let mut snapshot: Vec<_> = cluster.slots().iter().map(|slot| (slot.node.name().to_string(), uids(slot))).collect();
    snapshot.sort();
    snapshot
}

/// The UIDs on nodes that have no slot, by name.
pub(super) fn unlisted(cluster: &Cluster) -> Vec<(String, Vec<String>)> {
    let uids = |placed: &Arc<Placed>| placed.pods().iter().map(|pod| pod.uid().to_owned()).collect();
    let mut unlisted: Vec<_> =
        cluster.unlisted().iter().map(|(name, node)| (name.to_string(), uids(&node.placed))).collect();
    unlisted.sort();
    unlisted
}

fn with_two_nodes() -> ClusterStore {
    let mut store = ClusterStore::default();
    store.show_node(node("n1", "a", 1));
    store.show_node(node("n2", "a", 1));
    store.show_pod(pod("p1", "u1", "n1", "x"));
    store.show_pod(pod("p2", "u2", "n2", "x"));
    store.publish().unwrap();
    store
}

fn slot<'c>(cluster: &'c Cluster, name: &str) -> &'c Slot {
    &cluster.slots()[cluster.find(name).unwrap() as usize]
}

fn placed(cluster: &Cluster, name: &str) -> Vec<String> {
    slot(cluster, name).placed.as_ref().unwrap().pods().iter().map(|pod| pod.uid().to_owned()).collect()
}

#[test]
fn a_heartbeat_and_a_pod_that_says_the_same_publish_nothing() {
    let mut store = with_two_nodes();
    let before = Arc::clone(store.published());
    store.show_node(node("n1", "a", 2));
    store.show_pod(pod("p1", "u1", "n1", "x"));
    assert!(store.publish().is_none());
    assert!(Arc::ptr_eq(&before, store.published()));
}

#[test]
fn what_has_not_changed_stays_the_same_record_in_the_same_slot() {
    let mut store = with_two_nodes();
    let before = Arc::clone(store.published());
    store.show_pod(pod("p3", "u3", "n2", "x"));
    store.show_node(node("n3", "a", 1));
    let after = store.publish().unwrap();
    for name in ["n1", "n2"] {
        assert_eq!(before.find(name), after.find(name));
        assert!(Arc::ptr_eq(&slot(&before, name).node, &slot(&after, name).node));
    }
    let same_pods =
        |name| Arc::ptr_eq(slot(&before, name).placed.as_ref().unwrap(), slot(&after, name).placed.as_ref().unwrap());
    assert!(same_pods("n1") && !same_pods("n2"));
    assert_eq!(placed(&after, "n2"), ["u2", "u3"]);
    assert_eq!(slot(&after, "n2").placed.as_ref().unwrap().requested().unwrap().get("cpu"), 2000);

    // A label of the node changes, its pods do not.
    store.show_node(node("n1", "b", 1));
    let relabelled = store.publish().unwrap();
    assert!(!Arc::ptr_eq(&slot(&after, "n1").node, &slot(&relabelled, "n1").node));
    assert!(Arc::ptr_eq(slot(&after, "n1").placed.as_ref().unwrap(), slot(&relabelled, "n1").placed.as_ref().unwrap()));
}

#[test]
fn the_last_node_moves_into_the_slot_of_one_that_goes() {
    let mut store = with_two_nodes();
    store.show_node(node("n3", "a", 1));
    let before = store.publish().unwrap();
    store.remove_node("n1");
    let after = store.publish().unwrap();
    assert_eq!((after.find("n1"), after.slots().len()), (None, 2));
    assert_eq!(after.find("n3"), before.find("n1"));
    assert_eq!(after.find("n2"), before.find("n2"));
    assert_eq!(snapshot(&after), [("n2".into(), vec!["u2".into()]), ("n3".into(), vec![])]);
}

#[test]
fn pods_wait_for_their_node_and_are_there_when_it_comes_back() {
    let mut store = ClusterStore::default();
    store.show_pod(pod("p1", "u1", "n1", "x"));
    let waiting = store.publish().unwrap();
    assert!(waiting.slots().is_empty());
    assert_eq!(unlisted(&waiting), [("n1".into(), vec!["u1".into()])]);
    store.show_node(node("n1", "a", 1));
    let listed = store.publish().unwrap();
    assert_eq!((placed(&listed, "n1"), unlisted(&listed)), (vec!["u1".into()], vec![]));
    store.remove_node("n1");
    let lost = store.publish().unwrap();
    assert_eq!((lost.slots().len(), unlisted(&lost).len()), (0, 1));
    store.show_node(node("n1", "a", 2));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
    store.remove_pod(&pod("p1", "u1", "n1", "x"));
    store.remove_node("n1");
    assert!(unlisted(&store.publish().unwrap()).is_empty());
    assert!(store.entries.is_empty());
}

/// The number of pods of the app `x` in the cluster, as policies read it.
fn count(cluster: &Arc<Cluster>) -> i64 {
    count_of(cluster, Selector { label: Some(("app", "x")), ..Selector::all() })
}

fn count_of(cluster: &Arc<Cluster>, selector: Selector<&str>) -> i64 {
    let view = View::new(Arc::default(), Arc::clone(cluster), Arc::default(), 0);
    match view.read(Read::ClusterCount(selector)) {
        Ok(Value::Number(count)) => count,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reserved_pod_counts_from_its_reservation_on_and_once() {
    let mut store = with_two_nodes();
    assert_eq!(count(store.published()), 2);
    let id = reserved(&mut store, pod("p3", "u3", "n2", "x"));
    assert_eq!(count(&store.publish().unwrap()), 3);
    store.show_pod(pod("p3", "u3", "n2", "x"));
    store.release(&id);
    store.publish();
    assert_eq!(count(store.published()), 3);
    let id = reserved(&mut store, pod("p4", "u4", "n1", "x"));
    assert_eq!(count(&store.publish().unwrap()), 4);
    store.release(&id);
    assert_eq!(count(&store.publish().unwrap()), 3);
}

#[test]
fn pods_count_whose_node_is_gone_or_out_of_view() {
    let mut store = with_two_nodes();
    store.remove_node("n1");
    assert_eq!(count(&store.publish().unwrap()), 2, "n1 is gone");
    store.put_pod(pod("p3", "u3", "n2", "x"), false);
    let out_of_view = store.publish().unwrap();
    assert_eq!((out_of_view.slots().len(), count(&out_of_view)), (0, 2), "a pod on n2 cannot be read");
    // One pod that cannot be read frees no seat of those on its node, whose labels are known.
    let in_zone = |zone| Selector { node_label: Some(("zone", zone)), ..Selector::all() };
    assert_eq!((count_of(&out_of_view, in_zone("a")), count_of(&out_of_view, in_zone("b"))), (1, 0));
    store.show_node(node("n2", "b", 2));
    let moved = store.publish().unwrap();
    assert_eq!((count_of(&moved, in_zone("a")), count_of(&moved, in_zone("b"))), (0, 1));
}

/// Reserves a pod that must be free to be reserved.
fn reserved(store: &mut ClusterStore, pod: Pod) -> ReservationId {
    store.reserve(Arc::new(pod)).unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn the_end_of_a_first_forward_does_not_end_the_second_of_the_same_pod() {
    let mut store = with_two_nodes();
    let first = store.forward(Arc::new(pod("p3", "u3", "n1", "x"))).unwrap();
    let second = store.forward(Arc::new(pod("p3", "u3", "n1", "x"))).unwrap();
    store.release(&first);
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1", "u3"]);
    store.release(&second);
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
}

/// A filter that leaves no node is decided again without the forwarded pods of the snapshot.
#[test]
fn a_forwarded_pod_that_the_watch_shows_is_published_as_a_certain_one() {
    let mut store = with_two_nodes();
    store.forward(Arc::new(pod("p3", "u3", "n1", "x")));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1", "u3"]);
    store.show_pod(pod("p3", "u3", "n1", "x"));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1", "u3"]);
    assert!(store.publish().is_none());
}

#[test]
fn a_reserved_pod_counts_until_the_watch_shows_the_pod() {
    let mut store = with_two_nodes();
    let pod_there = Arc::new(pod("p3", "u3", "n1", "x"));
    let id = store.reserve(Arc::clone(&pod_there)).unwrap();
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), store.reserved()), (vec!["u1".into(), "u3".into()], 1));

    // As it was before it was bound: the watch is behind.
    store.show_pod(pod("p3", "u3", "", "x"));
    assert_eq!((store.publish().is_none(), store.reserved()), (true, 1));

    // The same, now from the watch: nothing changes for anybody.
    store.show_pod(pod("p3", "u3", "n1", "x"));
    assert_eq!((store.publish().is_none(), store.reserved()), (true, 0));
    assert!(
        slot(store.published(), "n1").placed.as_ref().unwrap().pods().iter().any(|pod| Arc::ptr_eq(pod, &pod_there))
    );
    // The bind's own report comes too late to change anything.
    store.release(&id);
    store.settle_at(&id, Some(pod_there), Instant::now());
    assert_eq!((store.publish().is_none(), store.reserved()), (true, 0));
    store.remove_pod(&pod("p3", "u3", "n1", "x"));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
}

#[test]
fn what_the_watch_shows_is_right_where_a_reservation_was_not() {
    let mut store = with_two_nodes();
    reserved(&mut store, pod("p3", "u3", "n1", "x"));
    store.show_pod(pod("p3", "u3", "n2", "x"));
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), placed(&cluster, "n2")), (vec!["u1".into()], vec!["u2".into(), "u3".into()]));
    // The watch was faster than the next bind of the pod.
    let late = store.reserve(Arc::new(pod("p3", "u3", "n1", "x")));
    assert_eq!(late, Err(NotReserved::Placed("n2".into())));
    assert_eq!((store.publish().is_none(), store.reserved()), (true, 0));
}

#[test]
fn a_pod_is_on_one_node_placed_before_reserved_before_nominated() {
    let (mut store, start, on) = (with_two_nodes(), Instant::now(), u3_on);
    store.show_waiting(&waiting("p3", "u3", "n1"));
    assert_eq!(on(&mut store), [true, false]);
    store.show_waiting(&waiting("p3", "u3", "n1"));
    assert!(store.publish().is_none(), "it says the same");
    let id = reserved(&mut store, pod("p3", "u3", "n2", "x"));
    assert_eq!(on(&mut store), [false, true]);
    store.release(&id);
    assert_eq!(on(&mut store), [true, false], "the bind has failed");
    // It keeps its place for a moment, since the watch of placed pods may be behind.
    store.leave_waiting("u3".into(), start);
    let end = store.end_overdue(start).unwrap();
    assert_eq!((on(&mut store), end - start <= seconds(5)), ([true, false], true));
    store.show_waiting(&waiting("p3", "u3", "n2"));
    assert_eq!((store.end_overdue(end), on(&mut store)), (None, [false, true]), "it has come back");
    store.leave_waiting("u3".into(), end);
    store.end_overdue(end + seconds(5));
    assert_eq!(on(&mut store), [false, false]);
    store.show_waiting(&waiting("p3", "u3", "n2"));
    store.show_pod(pod("p3", "u3", "n1", "x"));
    store.show_waiting(&waiting("p3", "u3", "n2"));
    assert_eq!(on(&mut store), [true, false], "events of the other watch come too late");
}

/// Whether the pod u3 is on n1 and on n2, each time in a new snapshot.
fn u3_on(store: &mut ClusterStore) -> [bool; 2] {
    store.publish();
    ["n1", "n2"].map(|name| placed(store.published(), name).contains(&"u3".to_owned()))
}

fn u3(node: &str) -> Pod {
    pod("p3", "u3", node, "x")
}

#[test]
fn a_tentative_place_ends_in_each_of_its_ways_and_in_no_other() {
    type End = fn(&mut ClusterStore, Instant);
    let no_longer: End = |store, start| {
        store.leave_waiting("u3".into(), start + seconds(1));
        assert_eq!(u3_on(store), [true, false], "the watch of placed pods may be behind");
        assert_eq!(store.end_overdue(start + seconds(1)), Some(start + seconds(2)));
        store.end_overdue(start + seconds(2));
    };
    let list_and_read: End = |store, start| {
        store.begin_list(Resource::Pods);
        store.end_list(Resource::Pods, start + seconds(9));
        store.observe(&u3(""), start + seconds(9));
        store.end_forwarded("u3");
    };
    let table: [(&str, End, [bool; 2]); 14] = [
        ("nothing", |_, _| {}, [true, false]),
        ("too little time", |store, start| assert!(store.end_overdue(start + seconds(9)).is_some()), [true, false]),
        ("another is left", |store, _| store.leave("u1"), [true, false]),
        ("it is shown without a nomination", |store, _| store.show_waiting(&waiting("p3", "u3", "")), [true, false]),
        ("a list and a read without it", list_and_read, [true, false]),
        ("time", |store, start| assert_eq!(store.end_overdue(start + seconds(10)), None), [false, false]),
        ("it is left", |store, _| store.leave("u3"), [false, false]),
        ("it waits no longer", no_longer, [false, false]),
        ("it is deleted", |store, _| store.remove_pod(&u3("n1")), [false, false]),
        ("another place", |store, start| store.hold(Arc::new(u3("n2")), start + seconds(10)), [false, true]),
        ("it is bound", |store, _| store.show_pod(u3("n2")), [false, true]),
        ("a bind", |store, _| drop(reserved(store, u3("n2"))), [false, true]),
        ("a bind by another replica", |store, _| drop(store.forward(Arc::new(u3("n2")))), [false, true]),
        ("it is nominated", |store, _| store.show_waiting(&waiting("p3", "u3", "n2")), [false, true]),
    ];
    for (what, end, expected) in table {
        let (mut store, start) = (with_two_nodes(), Instant::now());
        store.hold(Arc::new(u3("n1")), start + seconds(10));
        assert_eq!((u3_on(&mut store), store.published().tentative().len()), ([true, false], 1));
        assert_eq!((store.reserved(), store.oldest_unconfirmed()), (0, None));
        assert_eq!(store.end_overdue(start), Some(start + seconds(10)));
        end(&mut store, start);
        assert_eq!(u3_on(&mut store), expected, "{what}");
        let is_tentative = store.reserved.get("u3").is_some_and(|reserved| reserved.until().is_some());
        assert_eq!(store.published().tentative().len(), usize::from(is_tentative), "{what}");
    }
}

#[test]
fn a_pod_that_is_placed_or_being_bound_gets_no_tentative_place_and_a_nominated_one_gets_it() {
    let hold = |store: &mut ClusterStore| store.hold(Arc::new(u3("n2")), Instant::now() + seconds(10));
    let mut store = with_two_nodes();
    store.show_waiting(&waiting("p3", "u3", "n1"));
    hold(&mut store);
    assert_eq!(u3_on(&mut store), [false, true]);
    store.show_waiting(&waiting("p3", "u3", "n1"));
    assert_eq!(u3_on(&mut store), [false, true], "this nomination is no news");
    store.leave("u3");
    assert_eq!(u3_on(&mut store), [true, false]);
    let id = reserved(&mut store, u3("n1"));
    hold(&mut store);
    assert_eq!(u3_on(&mut store), [true, false], "it is being bound");
    store.settle_at(&id, None, Instant::now());
    hold(&mut store);
    assert_eq!(u3_on(&mut store), [true, false], "it was bound");
    store.show_pod(u3("n1"));
    hold(&mut store);
    assert_eq!((u3_on(&mut store), store.published().tentative().len()), ([true, false], 0), "it is placed");
}

#[test]
fn a_tentative_place_that_becomes_certain_on_its_node_is_published() {
    let ends: [fn(&mut ClusterStore); 2] = [|store| store.show_pod(u3("n1")), |store| drop(reserved(store, u3("n1")))];
    for end in ends {
        let mut store = with_two_nodes();
        store.hold(Arc::new(u3("n1")), Instant::now());
        assert_eq!(store.publish().unwrap().tentative().len(), 1);
        end(&mut store);
        assert!(store.publish().unwrap().tentative().is_empty());
    }
}

#[test]
fn nominated_pods_do_not_count_while_their_watch_is_silent() {
    let mut store = with_two_nodes();
    store.show_waiting(&waiting("p3", "u3", "n1"));
    store.show_waiting(&waiting("p4", "u4", "n1"));
    reserved(&mut store, pod("p4", "u4", "n2", "x"));
    store.publish();
    for (counts, expected) in [(false, vec!["u1"]), (true, vec!["u1", "u3"])] {
        store.count_nominated(counts);
        let cluster = store.publish().unwrap();
        assert_eq!(
            (placed(&cluster, "n1"), placed(&cluster, "n2").len()),
            (expected.into_iter().map(String::from).collect(), 2)
        );
        assert_eq!((cluster.reserved().contains_key("u3"), cluster.reserved().contains_key("u4")), (counts, true));
        store.count_nominated(counts);
        assert!(store.publish().is_none());
    }
}

#[test]
fn waiting_pods_are_told_in_order_until_they_are_gone() {
    let mut store = ClusterStore::default();
    let told = |store: &mut ClusterStore| {
        let tell = |change| match change {
            WaitingChange::Shown(WaitingPod { pod, nominated }) => {
                format!("{} {}", pod.uid(), nominated.map_or_else(String::new, |nominated| nominated.node.to_string()))
            }
            WaitingChange::Gone(uid) => format!("{uid} is gone"),
            WaitingChange::Listed => "listed".to_owned(),
        };
        store.take_waiting_changes().into_iter().map(tell).collect::<Vec<_>>()
    };
    let start = Instant::now();
    store.begin_list(Resource::Waiting);
    store.show_waiting(&waiting("p1", "u1", ""));
    store.end_list(Resource::Waiting, start);
    store.show_waiting(&waiting("p2", "u2", "n1"));
    assert_eq!(told(&mut store), ["u1 ", "listed", "u2 n1"]);
    store.remove(Resource::Waiting.read(&waiting("p1", "u1", "")), start);
    store.remove(Resource::Waiting.read(&waiting("p1", "u1", "")), start);
    assert_eq!(told(&mut store), ["u1 is gone"]);
    store.begin_list(Resource::Waiting);
    store.end_list(Resource::Waiting, start);
    assert_eq!(told(&mut store), ["u2 is gone", "listed"]);
    // Of a pod that cannot be read any more the last known state is no longer valid.
    store.show_waiting(&waiting("p3", "u3", "n1"));
    store.show_waiting(r#"{"metadata":{"uid":"u3"},"spec":7}"#);
    store.show_waiting(r#"{"metadata":{"uid":"u4"},"spec":7}"#);
    assert_eq!(told(&mut store), ["u3 n1", "u3 is gone"]);
    assert!(!store.nominated.contains_key("u3"));
}

#[test]
fn a_reservation_ends_with_the_pod_or_when_its_own_ticket_says_so() {
    let mut store = with_two_nodes();
    let ends: [fn(&mut ClusterStore, &ReservationId); 2] =
        [|store, _| store.remove_pod(&pod("p3", "u3", "n1", "x")), |store, id| store.release(id)];
    for end in ends {
        let id = reserved(&mut store, pod("p3", "u3", "n1", "x"));
        store.publish().unwrap();
        end(&mut store, &id);
        assert_eq!((placed(&store.publish().unwrap(), "n1"), store.reserved()), (vec!["u1".into()], 0));
        // The reservation is over: neither its end nor its success brings it back.
        store.settle_at(&id, Some(Arc::new(pod("p3", "u3", "n1", "x"))), Instant::now());
        assert_eq!((store.publish().is_none(), store.reserved()), (true, 0));
    }
}

#[test]
fn the_end_of_one_bind_does_not_touch_what_another_has_reserved_for_the_same_pod() {
    let mut store = with_two_nodes();
    let first = reserved(&mut store, pod("p3", "u3", "n1", "x"));
    // While it is under way no other bind of the pod gets a reservation.
    let second = store.reserve(Arc::new(pod("p3", "u3", "n2", "x")));
    assert_eq!(second, Err(NotReserved::Undecided("n1".into())));
    store.release(&first);
    reserved(&mut store, pod("p3", "u3", "n2", "x"));
    for end in [true, false] {
        if end {
            store.release(&first);
        } else {
            store.settle_at(&first, Some(Arc::new(pod("p3", "u3", "n1", "x"))), Instant::now());
        }
        store.publish();
        assert_eq!(placed(store.published(), "n1"), ["u1"]);
        assert_eq!(placed(store.published(), "n2"), ["u2", "u3"]);
    }
}

#[test]
fn only_a_list_that_began_after_the_bind_was_settled_refutes_it() {
    let mut store = with_two_nodes();
    let start = Instant::now();
    let list = |store: &mut ClusterStore, began| {
        store.begin_list(Resource::Pods);
        store.show_pod(pod("p1", "u1", "n1", "x"));
        store.end_list(Resource::Pods, began);
    };
    let id = reserved(&mut store, pod("p3", "u3", "n1", "x"));
    // Its Binding may be under way while the list is made, whenever that began.
    list(&mut store, start + seconds(10));
    assert_eq!((store.reserved(), store.oldest_unconfirmed()), (1, None));
    store.settle_at(&id, None, start + seconds(20));
    list(&mut store, start + seconds(20));
    let cluster = store.publish().unwrap();
    assert_eq!(snapshot(&cluster), [("n1".into(), vec!["u1".into(), "u3".into()]), ("n2".into(), vec![])]);
    assert_eq!(store.oldest_unconfirmed(), Some(start + seconds(20)));
    list(&mut store, start + seconds(21));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
}

#[test]
fn a_later_read_tells_what_became_of_a_bind_that_nobody_knew_of() {
    let start = Instant::now();
    for (read_on, expected) in [("", (vec![], vec![])), ("n1", (vec!["u3"], vec![])), ("n2", (vec![], vec!["u3"]))] {
        let mut store = ClusterStore::default();
        store.show_node(node("n1", "a", 1));
        store.show_node(node("n2", "a", 1));
        let id = reserved(&mut store, pod("p3", "u3", "n1", "x"));
        let read = pod("p3", "u3", read_on, "x");
        store.observe(&read, start + seconds(5));
        store.settle_at(&id, None, start + seconds(10));
        // It was under way, or may have been, when those reads began.
        for began in [9, 10] {
            store.observe(&read, start + seconds(began));
            store.publish();
            assert_eq!(placed(store.published(), "n1"), ["u3"]);
        }
        store.observe(&read, start + seconds(11));
        store.publish();
        let shown = (placed(store.published(), "n1"), placed(store.published(), "n2"));
        assert_eq!((shown.0.iter().map(|uid| &**uid).collect(), shown.1.iter().map(|uid| &**uid).collect()), expected);
    }
}

#[test]
fn a_new_pod_with_an_old_ones_name_is_another_pod() {
    let mut store = with_two_nodes();
    // The one before is still shown; its successor is bound already.
    reserved(&mut store, pod("p1", "u9", "n2", "x"));
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), placed(&cluster, "n2")), (vec!["u1".into()], vec!["u9".into(), "u2".into()]));
    store.remove_pod(&pod("p1", "u1", "n1", "x"));
    store.show_pod(pod("p1", "u9", "n2", "x"));
    // Events of the old pod come too late.
    store.remove_pod(&pod("p1", "u1", "n1", "x"));
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), placed(&cluster, "n2")), (vec![], vec!["u9".into(), "u2".into()]));
}

#[test]
fn a_cluster_names_the_pods_that_are_reserved() {
    let mut store = ClusterStore::default();
    store.show_node(node("n1", "a", 1));
    store.publish();
    let id = store.reserve(Arc::new(pod("a", "ua", "n1", "x"))).unwrap();
    let reserved = |cluster: &Cluster| cluster.reserved().get("ua").map(|pod| pod.node().unwrap().to_owned());
    assert_eq!(reserved(&store.publish().unwrap()), Some("n1".to_owned()));
    store.release(&id);
    assert_eq!(reserved(&store.publish().unwrap()), None);
}

#[test]
fn claims_are_known_once_they_are_listed_and_a_change_of_one_publishes_no_slot() {
    let claim = |name: &str, annotation: &str| {
        let annotations = format!(r#"{{"pv.kubernetes.io/{annotation}":"yes"}}"#);
        let json = format!(r#"{{"metadata":{{"name":"{name}","namespace":"web","annotations":{annotations}}}}}"#);
        Resource::Claims.read(&json)
    };
    let late = |store: &mut ClusterStore| {
        let is_news = store.publish().is_some();
        let is_late = |name| {
            let volume = format!(r#"{{"name":"v","persistentVolumeClaim":{{"claimName":"{name}"}}}}"#);
            let json = format!(r#"{{"metadata":{{"namespace":"web"}},"spec":{{"volumes":[{volume}]}}}}"#);
            store.published().has_late_volumes(&Pod::from_json(json.into()).unwrap())
        };
        (is_news, is_late("a"), is_late("b"))
    };
    let (bound, other) = ("bind-completed", "bound-by-controller");
    let mut store = with_two_nodes();
    let before = Arc::clone(store.published());
    store.begin_list(Resource::Claims);
    store.put(claim("a", bound));
    assert_eq!(late(&mut store), (false, None, None));
    store.end_list(Resource::Claims, Instant::now());
    assert_eq!(late(&mut store), (true, Some(false), Some(true)));
    let steps: [(&str, &str, bool, _); 8] = [
        ("a", bound, false, (false, Some(false), Some(true))),
        ("b", other, false, (false, Some(false), Some(true))),
        ("b", bound, false, (true, Some(false), Some(false))),
        ("a", other, false, (true, Some(true), Some(false))),
        ("b", bound, true, (true, Some(true), Some(true))),
        ("b", bound, true, (false, Some(true), Some(true))),
        ("a", bound, false, (true, Some(false), Some(true))),
        ("c", other, true, (false, Some(false), Some(true))),
    ];
    for (name, annotation, is_gone, expected) in steps {
        let claim = claim(name, annotation);
        if is_gone {
            store.remove(claim, Instant::now());
        } else {
            store.put(claim);
        }
        assert_eq!(late(&mut store), expected, "{name} {annotation} {is_gone}");
    }
    // A list that fails is begun anew; one that says the same publishes nothing.
    for (name, expected) in [
        ("a", (false, Some(false), Some(true))),
        ("b", (true, Some(true), Some(false))),
        ("", (true, Some(true), Some(true))),
    ] {
        store.begin_list(Resource::Claims);
        store.put(claim("b", bound));
        store.begin_list(Resource::Claims);
        store.put(claim(name, bound));
        store.end_list(Resource::Claims, Instant::now());
        assert_eq!(late(&mut store), expected, "a list of {name}");
    }
    let mut slots = before.slots().iter().zip(store.published().slots().iter());
    assert!(slots.all(|(old, new)| old.is_same(new)));
}
