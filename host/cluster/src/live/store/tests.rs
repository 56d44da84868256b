//! Whatever comes in whatever order, the cluster is the one that a list of what is left would give.

mod laws;

use std::time::Duration;

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

/// The UIDs on each node, by name.
pub(super) fn picture(cluster: &Cluster) -> Vec<(String, Vec<String>)> {
    let uids = |slot: &Slot| slot.placed.as_ref().unwrap().pods().iter().map(|pod| pod.uid().to_owned()).collect();
    let mut picture: Vec<_> = cluster.slots().iter().map(|slot| (slot.node.name().to_string(), uids(slot))).collect();
    picture.sort();
    picture
}

fn with_two_nodes() -> Store {
    let mut store = Store::default();
    store.put_node(node("n1", "a", 1));
    store.put_node(node("n2", "a", 1));
    store.put_pod(pod("p1", "u1", "n1", "x"));
    store.put_pod(pod("p2", "u2", "n2", "x"));
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
    store.put_node(node("n1", "a", 2));
    store.put_pod(pod("p1", "u1", "n1", "x"));
    assert!(store.publish().is_none());
    assert!(Arc::ptr_eq(&before, store.published()));
}

#[test]
fn what_has_not_changed_stays_the_same_record_in_the_same_slot() {
    let mut store = with_two_nodes();
    let before = Arc::clone(store.published());
    store.put_pod(pod("p3", "u3", "n2", "x"));
    store.put_node(node("n3", "a", 1));
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
    store.put_node(node("n1", "b", 1));
    let relabelled = store.publish().unwrap();
    assert!(!Arc::ptr_eq(&slot(&after, "n1").node, &slot(&relabelled, "n1").node));
    assert!(Arc::ptr_eq(slot(&after, "n1").placed.as_ref().unwrap(), slot(&relabelled, "n1").placed.as_ref().unwrap()));
}

#[test]
fn the_last_node_moves_into_the_slot_of_one_that_goes() {
    let mut store = with_two_nodes();
    store.put_node(node("n3", "a", 1));
    let before = store.publish().unwrap();
    store.remove_node("n1");
    let after = store.publish().unwrap();
    assert_eq!((after.find("n1"), after.slots().len()), (None, 2));
    assert_eq!(after.find("n3"), before.find("n1"));
    assert_eq!(after.find("n2"), before.find("n2"));
    assert_eq!(picture(&after), [("n2".into(), vec!["u2".into()]), ("n3".into(), vec![])]);
}

#[test]
fn pods_wait_for_their_node_and_are_there_when_it_comes_back() {
    let mut store = Store::default();
    store.put_pod(pod("p1", "u1", "n1", "x"));
    assert!(store.publish().is_none());
    store.put_node(node("n1", "a", 1));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
    store.remove_node("n1");
    assert!(store.publish().unwrap().slots().is_empty());
    store.put_node(node("n1", "a", 2));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
    store.remove_pod(&pod("p1", "u1", "n1", "x"));
    store.remove_node("n1");
    store.publish();
    assert!(store.homes.is_empty());
}

#[test]
fn an_assumed_pod_counts_until_the_watch_shows_it() {
    let mut store = with_two_nodes();
    let assumed = Arc::new(pod("p3", "u3", "n1", "x"));
    store.assume(Arc::clone(&assumed), Instant::now());
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), store.assumed()), (vec!["u1".into(), "u3".into()], 1));

    // As it was before it was bound: the watch is behind.
    store.put_pod(pod("p3", "u3", "", "x"));
    assert_eq!((store.publish().is_none(), store.assumed()), (true, 1));

    // The same, now from the watch: nothing changes for anybody.
    store.put_pod(pod("p3", "u3", "n1", "x"));
    assert_eq!((store.publish().is_none(), store.assumed()), (true, 0));
    assert!(slot(store.published(), "n1").placed.as_ref().unwrap().pods().iter().any(|pod| Arc::ptr_eq(pod, &assumed)));
    store.remove_pod(&pod("p3", "u3", "n1", "x"));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
}

#[test]
fn what_the_watch_shows_is_right_where_an_assumption_was_not() {
    let mut store = with_two_nodes();
    store.assume(Arc::new(pod("p3", "u3", "n1", "x")), Instant::now());
    store.put_pod(pod("p3", "u3", "n2", "x"));
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), placed(&cluster, "n2")), (vec!["u1".into()], vec!["u2".into(), "u3".into()]));
    // The watch was faster than the answer to the binding.
    store.assume(Arc::new(pod("p3", "u3", "n1", "x")), Instant::now());
    assert_eq!((store.publish().is_none(), store.assumed()), (true, 0));
}

#[test]
fn an_assumption_ends_with_the_pod_or_when_it_is_forgotten() {
    let mut store = with_two_nodes();
    let ends: [fn(&mut Store); 2] = [|store| store.remove_pod(&pod("p3", "u3", "n1", "x")), |store| store.forget("u3")];
    for end in ends {
        store.assume(Arc::new(pod("p3", "u3", "n1", "x")), Instant::now());
        store.publish().unwrap();
        end(&mut store);
        assert_eq!((placed(&store.publish().unwrap(), "n1"), store.assumed()), (vec!["u1".into()], 0));
    }
}

#[test]
fn only_a_list_that_began_after_the_binding_refutes_it() {
    let mut store = with_two_nodes();
    let bound = Instant::now();
    let list = |store: &mut Store, began| {
        store.begin_pods();
        store.put_pod(pod("p1", "u1", "n1", "x"));
        store.end_pods(began);
    };
    store.assume(Arc::new(pod("p3", "u3", "n1", "x")), bound);
    list(&mut store, bound.checked_sub(Duration::from_secs(1)).unwrap());
    let cluster = store.publish().unwrap();
    assert_eq!(picture(&cluster), [("n1".into(), vec!["u1".into(), "u3".into()]), ("n2".into(), vec![])]);
    list(&mut store, bound + Duration::from_secs(1));
    assert_eq!(placed(&store.publish().unwrap(), "n1"), ["u1"]);
}

#[test]
fn a_new_pod_with_an_old_ones_name_is_another_pod() {
    let mut store = with_two_nodes();
    // The one before is still shown; its successor is bound already.
    store.assume(Arc::new(pod("p1", "u9", "n2", "x")), Instant::now());
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), placed(&cluster, "n2")), (vec!["u1".into()], vec!["u9".into(), "u2".into()]));
    store.remove_pod(&pod("p1", "u1", "n1", "x"));
    store.put_pod(pod("p1", "u9", "n2", "x"));
    // What is heard of the old one now comes too late.
    store.remove_pod(&pod("p1", "u1", "n1", "x"));
    let cluster = store.publish().unwrap();
    assert_eq!((placed(&cluster, "n1"), placed(&cluster, "n2")), (vec![], vec!["u9".into(), "u2".into()]));
}
