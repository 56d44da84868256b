//! The watch on an API server that is slow, forgets, cuts off, refuses and lies.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_cluster::AssumeCache;
use plimsoll_core::{Cluster, Pod};
use serde_json::{Value, json};

use crate::fake_api::{FakeApi, Followed};

/// Far longer than a test takes.
const LONG: Duration = Duration::from_mins(10);

fn node(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version.to_string()}})
}

fn pod(name: &str, node: &str, version: u64) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "web", "uid": format!("uid-{name}"), "resourceVersion": version.to_string()},
        "spec": {"nodeName": node},
    })
}

fn bound(name: &str, node: &str) -> Arc<Pod> {
    Arc::new(Pod::placed_from_json(pod(name, node, 1).to_string().as_bytes()).unwrap())
}

fn placed(cluster: &Cluster, node: &str) -> Vec<String> {
    let Some(at) = cluster.find(node) else { return vec!["no such node".to_owned()] };
    let placed = cluster.slots()[at as usize].placed.as_ref().unwrap();
    placed.pods().iter().map(|pod| pod.name().to_owned()).collect()
}

/// Three nodes in two pages, one pod, both watches open.
async fn with_three_nodes(staleness: Duration) -> (FakeApi, Followed) {
    let api = FakeApi::start((1..=3).map(|at| node(&format!("n{at}"), at)).collect(), vec![pod("p1", "n1", 4)]);
    let mut followed = api.follow(staleness);
    followed.until("the first lists", |cluster| cluster.slots().len() == 3).await;
    followed.watch.synced().await;
    (api, followed)
}

#[tokio::test]
async fn pages_become_one_cluster_and_events_change_it() {
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    assert_eq!((api.pages("/nodes"), api.pages("/pods")), (2, 1));
    assert!(followed.watch.status().doubts(LONG).is_empty());
    let pods = api.watch("/pods").await;
    assert_eq!(pods.from(), 100);
    assert!(pods.target.contains("allowWatchBookmarks=true"), "{}", pods.target);
    assert!(pods.target.contains("fieldSelector=spec.nodeName%21%3D%2C"), "{}", pods.target);
    pods.event("ADDED", &pod("p2", "n1", 101));
    followed.until("p2", |cluster| placed(cluster, "n1") == ["p1", "p2"]).await;
    pods.event("DELETED", &pod("p1", "n1", 102));
    let cluster = followed.until("the end of p1", |cluster| placed(cluster, "n1") == ["p2"]).await;
    assert_eq!(cluster.pod_count(), 1);
}

#[tokio::test]
async fn a_watch_that_expired_lists_again_and_drops_what_is_gone() {
    let expired = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    let pods = api.watch("/pods").await;
    {
        let mut world = api.world.lock().unwrap();
        (world.pods, world.version) = (vec![pod("p2", "n2", 150), pod("p3", "n2", 151), pod("p4", "n3", 152)], 200);
    }
    pods.event("ERROR", &expired);
    let cluster = followed.until("another list", |cluster| placed(cluster, "n1").is_empty()).await;
    assert_eq!((placed(&cluster, "n2"), placed(&cluster, "n3")), (vec!["p2".into(), "p3".into()], vec!["p4".into()]));
    let again = api.watch("/pods").await;
    assert_eq!(again.from(), 200);

    // The same, told by the status of the answer; and in the middle of a list.
    api.world.lock().unwrap().pods.remove(0);
    api.refuse("watch=true", 410, &expired);
    api.refuse("continue=2", 410, &expired);
    api.world.lock().unwrap().pods.push(pod("p5", "n1", 201));
    drop(again);
    let cluster = followed.until("a third list", |cluster| placed(cluster, "n1") == ["p5"]).await;
    assert_eq!(cluster.pod_count(), 3);
}

#[tokio::test]
async fn a_silent_watch_begins_anew_from_where_it_stood() {
    let (mut api, mut followed) = with_three_nodes(Duration::from_millis(400)).await;
    let pods = api.watch("/pods").await;
    pods.bookmark(170);
    // `pods` stays open, and says nothing more.
    let again = api.watch("/pods").await;
    assert!([100, 170].contains(&again.from()), "{}", again.target);
    let again = api.watch("/pods").await;
    assert_eq!(again.from(), 170);
    assert_eq!(api.pages("/pods"), 1, "no list was needed");
    again.event("ADDED", &pod("p2", "n2", 171));
    followed.until("p2", |cluster| placed(cluster, "n2") == ["p2"]).await;
    assert!(followed.watch.status().doubts(Duration::from_secs(20)).is_empty());
}

#[tokio::test]
async fn a_watch_that_is_cut_off_goes_on_after_the_last_whole_event() {
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    let pods = api.watch("/pods").await;
    let event = json!({"type": "ADDED", "object": pod("p2", "n2", 101)}).to_string();
    let (first, second) = event.split_at(30);
    pods.raw(first);
    pods.raw(&format!("{second}\n\n{first}"));
    followed.until("p2", |cluster| placed(cluster, "n2") == ["p2"]).await;
    drop(pods);
    let again = api.watch("/pods").await;
    assert_eq!(again.from(), 101);
    assert_eq!(api.pages("/pods"), 1, "no list was needed");
}

#[tokio::test]
async fn what_makes_no_sense_lists_again() {
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    let mut watch = api.watch("/pods").await;
    for (at, line) in ["no JSON\n", "{\"type\":\"OTHER\",\"object\":{}}\n", "{\"type\":\"ADDED\"}\n"].iter().enumerate()
    {
        let name = format!("p{at}");
        api.world.lock().unwrap().pods = vec![pod(&name, "n3", 180)];
        watch.raw(line);
        followed.until("another list", |cluster| placed(cluster, "n3") == [name.as_str()]).await;
        watch = api.watch("/pods").await;
    }
    // An API server that was set back: it knows less than it said before.
    api.world.lock().unwrap().pods = vec![pod("restored", "n3", 40)];
    watch.bookmark(50);
    followed.until("another list", |cluster| placed(cluster, "n3") == ["restored"]).await;
}

#[tokio::test]
async fn a_refusal_is_told_until_it_ends() {
    let api = FakeApi::start(vec![node("n1", 1)], vec![]);
    let forbidden = json!({"kind": "Status", "code": 403, "message": "nodes is forbidden"});
    for _ in 0..3 {
        api.refuse("/nodes", 403, &forbidden);
    }
    let mut followed = api.follow(LONG);
    let is_told = |status: &plimsoll_cluster::WatchStatus| {
        status
            .doubts(LONG)
            .contains(&"nodes are not listed yet: the API server answered 403: nodes is forbidden".to_owned())
    };
    followed.until_status("the refusal", is_told).await;
    assert!(followed.now().slots().is_empty());
    followed.until("the list", |cluster| cluster.slots().len() == 1).await;
    followed.until_status("the end of it", |status| status.doubts(LONG).is_empty()).await;
    assert_eq!(followed.watch.status().nodes.failures, 3);
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_left_out_alone() {
    let broken = json!({"metadata": {"name": "broken"}, "status": {"allocatable": {"cpu": "lots"}}});
    let api = FakeApi::start(vec![node("n1", 1), broken, node("n3", 3)], vec![]);
    let mut followed = api.follow(LONG);
    let cluster = followed.until("the list", |cluster| cluster.slots().len() == 2).await;
    assert_eq!((cluster.find("broken"), followed.watch.status().nodes.unreadable_now), (None, 1));
    assert!(followed.watch.status().gaps()[0].starts_with("1 nodes cannot be read"));
    assert!(followed.watch.status().doubts(LONG).is_empty());
}

/// A pod that Kubernetes would not take.
fn unreadable(name: &str, node: &str, version: u64) -> Value {
    let mut pod = pod(name, node, version);
    pod["spec"]["containers"] = json!([{"resources": {"requests": {"cpu": "lots"}}}]);
    pod
}

#[tokio::test]
async fn a_pod_that_cannot_be_read_any_more_takes_its_node_out_of_sight_until_it_is_gone() {
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    let pods = api.watch("/pods").await;
    // The old state of the pod is no longer true, and its new one is not known.
    pods.event("MODIFIED", &unreadable("p1", "n1", 101));
    followed.until("n1 to be out of sight", |cluster| cluster.find("n1").is_none()).await;
    let gaps = followed.watch.status().gaps();
    assert!(gaps[0].contains("web/p1"), "{gaps:?}");
    assert!(followed.watch.status().doubts(LONG).is_empty(), "a tenant must not take the gateway out of service");
    pods.event("MODIFIED", &pod("p1", "n1", 102));
    followed.until("n1 with p1", |cluster| placed(cluster, "n1") == ["p1"]).await;
    pods.event("ADDED", &unreadable("p2", "n1", 103));
    followed.until("n1 to be out of sight again", |cluster| cluster.find("n1").is_none()).await;
    // The end of a pod that cannot be read is its end all the same.
    pods.event("DELETED", &unreadable("p2", "n1", 104));
    followed.until("n1 with p1 alone", |cluster| placed(cluster, "n1") == ["p1"]).await;
    pods.event("DELETED", &unreadable("p1", "n1", 105));
    followed.until("n1 without pods", |cluster| placed(cluster, "n1").is_empty()).await;
    followed.until_status("no gap", |status| status.gaps().is_empty()).await;
}

#[tokio::test]
async fn a_list_ends_what_could_not_be_read_and_is_gone() {
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    let pods = api.watch("/pods").await;
    pods.event("ADDED", &unreadable("p2", "n2", 101));
    followed.until("n2 to be out of sight", |cluster| cluster.find("n2").is_none()).await;
    followed.watch.relist().await;
    assert_eq!(placed(&followed.now(), "n2"), Vec::<String>::new());
    assert!(followed.watch.status().gaps().is_empty());
}

#[tokio::test]
async fn a_node_that_cannot_be_read_any_more_is_not_in_view() {
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    let nodes = api.watch("/nodes").await;
    let broken = |version: u64| {
        let mut node = node("n2", version);
        node["status"] = json!({"allocatable": {"cpu": "lots"}});
        node
    };
    nodes.event("MODIFIED", &broken(101));
    followed.until("n2 to be gone", |cluster| cluster.find("n2").is_none()).await;
    nodes.event("MODIFIED", &node("n2", 102));
    followed.until("n2 to be back", |cluster| cluster.find("n2").is_some()).await;
    nodes.event("DELETED", &broken(103));
    followed.until("n2 to be gone", |cluster| cluster.find("n2").is_none()).await;
    followed.until_status("no gap", |status| status.gaps().is_empty()).await;
}

#[tokio::test]
async fn a_reserved_place_is_in_force_when_the_call_returns() {
    let (mut api, mut followed) = with_three_nodes(LONG).await;
    followed.watch.reserve(bound("p2", "n2"), &|_| true).unwrap();
    assert_eq!(placed(&followed.now(), "n2"), ["p2"]);
    assert_eq!(followed.watch.status().reserved, 1);
    let pods = api.watch("/pods").await;
    pods.event("ADDED", &pod("p2", "n2", 101));
    followed.until_status("the watch to show it", |status| status.reserved == 0).await;
    assert_eq!(placed(&followed.now(), "n2"), ["p2"]);

    let id = followed.watch.reserve(bound("p3", "n2"), &|_| true).unwrap();
    followed.watch.release(&id);
    assert_eq!(placed(&followed.now(), "n2"), ["p2"]);
    pods.event("DELETED", &pod("p2", "n2", 102));
    followed.until("the end of p2", |cluster| placed(cluster, "n2").is_empty()).await;
}

#[tokio::test]
async fn a_fresh_list_that_was_asked_for_is_in_force_when_the_call_returns() {
    let (api, followed) = with_three_nodes(LONG).await;
    let id = followed.watch.reserve(bound("ghost", "n2"), &|_| true).unwrap();
    followed.watch.settle_at(&id, None, Instant::now());
    {
        let mut world = api.world.lock().unwrap();
        (world.pods, world.version) = (vec![pod("p2", "n3", 150)], 200);
        world.nodes.remove(0);
    }
    followed.watch.relist().await;
    let cluster = followed.now();
    assert_eq!(cluster.find("n1"), None);
    assert_eq!((placed(&cluster, "n2"), placed(&cluster, "n3")), (vec![], vec!["p2".to_owned()]));
    assert_eq!(followed.watch.status().reserved, 0);
}
