//! The watch on an API server that is slow, forgets, cuts off, refuses and lies.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use plimsoll_cluster::ClusterWatch;
use plimsoll_core::{Cluster, NodeRead, Places, Pod, PodRead, Quantities, Read, View, WaitingChange};
use plimsoll_harness::FakeApi;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{PATIENCE, connect};

/// Far longer than a test takes.
const LONG: Duration = Duration::from_mins(10);

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/pods";
const NAMESPACES: &str = "/api/v1/namespaces";
const CLAIMS: &str = "/api/v1/persistentvolumeclaims";

/// An API server and a watch on it.
struct Followed {
    api: FakeApi,
    watch: ClusterWatch,
    published: watch::Receiver<Arc<Cluster>>,
    waiting: Arc<Mutex<Vec<WaitingChange>>>,
}

// === impl Followed ===

impl Followed {
    /// Follows an API server with the nodes n1 to n3 and the pod p1 on n1.
    async fn three_nodes(staleness: Duration) -> Self {
        let api = FakeApi::start(["n1", "n2", "n3"].map(node), [pod("p1", "n1")]).unwrap();
        let followed = Self::follow(api, staleness);
        followed.watch.synced().await;
        followed
    }

    fn follow(api: FakeApi, staleness: Duration) -> Self {
        let (sender, published) = watch::channel(Arc::default());
        let publish = move |cluster| drop(sender.send_replace(cluster));
        let waiting = Arc::<Mutex<Vec<_>>>::default();
        let told = Arc::clone(&waiting);
        let watch =
            ClusterWatch::start(&connect(&api), staleness, publish, move |change| told.lock().unwrap().push(change));
        Self { api, watch, published, waiting }
    }

    /// Waits for a cluster that fits.
    async fn until(&mut self, what: &str, fits: impl Fn(&Arc<Cluster>) -> bool) -> Arc<Cluster> {
        let found = soon(what, self.published.wait_for(fits)).await;
        Arc::clone(&found.unwrap())
    }

    /// Waits for something that no cluster shows.
    async fn until_so(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let poll = async {
            while !is_so(self) {
                tokio::task::yield_now().await;
            }
        };
        soon(what, poll).await;
    }

    /// The number of lists of pods.
    fn lists(&self) -> usize {
        self.api.requests(PODS).iter().filter(|target| !target.contains("watch=true")).count()
    }

    /// The positions from which pods were watched.
    fn positions(&self) -> Vec<u64> {
        let targets = self.api.requests(PODS);
        let versions = targets.iter().filter_map(|target| target.split("resourceVersion=").nth(1));
        versions.map(|version| version.split('&').next().unwrap().parse().unwrap()).collect()
    }
}

pub(crate) async fn soon<T>(what: &str, done: impl Future<Output = T>) -> T {
    #[expect(clippy::disallowed_methods, reason = "the simulation has no part in a test outside of the crate")]
    let done = tokio::time::timeout(PATIENCE, done).await;
    done.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn pod(name: &str, node: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "web"}, "spec": {"nodeName": node}})
}

/// A pod that Kubernetes would not take.
fn unreadable(name: &str, node: &str) -> Value {
    let mut pod = pod(name, node);
    pod["spec"]["containers"] = json!([{"resources": {"requests": {"cpu": "lots"}}}]);
    pod
}

fn placed(cluster: &Cluster, node: &str) -> Vec<String> {
    let Some(at) = cluster.find(node) else { return vec!["no such node".to_owned()] };
    let placed = cluster.slots()[at as usize].placed.as_ref().unwrap();
    placed.pods().iter().map(|pod| pod.name().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_become_one_cluster_and_events_change_it() {
    let api = FakeApi::start((0..300).map(|at| node(&format!("n{at}"))), [pod("p1", "n1")]).unwrap();
    let mut followed = Followed::follow(api, LONG);
    followed.until("all nodes", |cluster| cluster.slots().len() == 300).await;
    assert!(followed.api.requests(NODES)[1].contains("continue="), "{:?}", followed.api.requests(NODES));
    followed.watch.synced().await;
    assert!(followed.watch.status().doubts(LONG).is_empty());
    followed.api.put_pod(pod("p2", "n1"));
    followed.until("p2", |cluster| placed(cluster, "n1") == ["p1", "p2"]).await;
    followed.api.delete_pod("web", "p1");
    let cluster = followed.until("the end of p1", |cluster| placed(cluster, "n1") == ["p2"]).await;
    assert_eq!(cluster.pod_count(), 1);
    let watch = followed.api.requests(PODS).pop().unwrap();
    assert!(watch.contains("allowWatchBookmarks=true"), "{watch}");
    assert!(watch.contains("fieldSelector=spec.nodeName%21%3D%2C"), "{watch}");
}

/// A pod that is nominated for a node, or for none.
fn nominated(name: &str, node: Option<&str>) -> Value {
    json!({"metadata": {"name": name, "namespace": "web"}, "spec": {}, "status": {"nominatedNodeName": node}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nominated_pod_has_its_place_from_the_list_and_from_events_until_it_is_bound_or_gone() {
    let api = FakeApi::start(["n1", "n2"].map(node), [nominated("p1", Some("n1"))]).unwrap();
    let mut followed = Followed::follow(api, LONG);
    followed.until("the list", |cluster| cluster.slots().len() == 2 && placed(cluster, "n1") == ["p1"]).await;
    followed.api.put_pod(nominated("p2", Some("n2")));
    let cluster = followed.until("p2", |cluster| placed(cluster, "n2") == ["p2"]).await;
    assert_eq!(cluster.reserved().len(), 2);
    // It has a place in every cluster between the two watches.
    followed.api.put_pod(pod("p2", "n2"));
    let is_bound = |cluster: &Arc<Cluster>| {
        assert_eq!(placed(cluster, "n2"), ["p2"]);
        cluster.reserved().len() == 1
    };
    followed.until("p2 to be bound", is_bound).await;
    followed.api.delete_pod("web", "p1");
    followed.until("the end of p1", |cluster| placed(cluster, "n1").is_empty() && cluster.reserved().is_empty()).await;
    followed.until_so("all watches", |followed| followed.watch.status().waiting.is_listed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_pods_are_told_from_the_list_and_from_events_until_they_have_a_node_or_are_gone() {
    let api = FakeApi::start([node("n1")], [nominated("p1", None)]).unwrap();
    let followed = Followed::follow(api, LONG);
    let told = |followed: &Followed| -> Vec<String> {
        let tell = |change: &WaitingChange| match change {
            WaitingChange::Shown(waiting) => {
                format!("{} {:?}", waiting.pod.name(), waiting.nominated.as_ref().map(|nominated| &*nominated.node))
            }
            WaitingChange::Gone(uid) => format!("{uid} is gone"),
            WaitingChange::Listed => "listed".to_owned(),
        };
        followed.waiting.lock().unwrap().iter().map(tell).collect()
    };
    let mut expected = vec!["p1 None", "listed"];
    followed.until_so("the list", |followed| told(followed) == expected).await;
    for (change, line) in [
        (nominated("p1", Some("n1")), r#"p1 Some("n1")"#),
        (nominated("p2", None), "p2 None"),
        (pod("p1", "n1"), "web_p1 is gone"),
    ] {
        followed.api.put_pod(change);
        expected.push(line);
        followed.until_so(line, |followed| told(followed) == expected).await;
    }
    followed.api.delete_pod("web", "p2");
    expected.push("web_p2 is gone");
    followed.until_so("the end", |followed| told(followed) == expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nominated_pods_do_not_count_while_their_watch_is_stale_and_that_is_said() {
    let staleness = Duration::from_millis(400);
    let api = FakeApi::start([node("n1")], [pod("p1", "n1"), nominated("p2", Some("n1"))]).unwrap();
    let mut followed = Followed::follow(api, staleness);
    followed.until("both pods", |cluster| cluster.find("n1").is_some() && placed(cluster, "n1") == ["p1", "p2"]).await;
    followed.api.stop_listening();
    followed.until("the end of the nomination", |cluster| placed(cluster, "n1") == ["p1"]).await;
    let gaps = followed.watch.status().gaps(staleness);
    assert!(
        gaps[0].starts_with("waiting pods have not been heard of for 0 s: nominated pods do not count: "),
        "{gaps:?}"
    );
    followed.api.recover();
    followed.until("the nomination to count again", |cluster| placed(cluster, "n1") == ["p1", "p2"]).await;
    followed.until_so("the end of it", |followed| followed.watch.status().gaps(staleness).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tentative_place_is_in_force_when_the_call_returns_and_ends_in_time() {
    let mut followed = Followed::three_nodes(LONG).await;
    let read = Pod::from_json(pod("p2", "").to_string().into()).unwrap();
    let hold = |until| followed.watch.hold(Arc::new(read.placed_on("n1", &BTreeMap::new(), &BTreeMap::new())), until);
    let started = Instant::now();
    hold(started + LONG);
    let shown = |followed: &Followed| placed(&followed.published.borrow(), "n1");
    assert_eq!(shown(&followed), ["p1", "p2"]);
    followed.watch.leave(read.uid());
    assert_eq!(shown(&followed), ["p1"]);
    hold(started + Duration::from_millis(200));
    assert_eq!(shown(&followed), ["p1", "p2"]);
    followed.until("the end of the place", |cluster| placed(cluster, "n1") == ["p1"]).await;
    // The next look at what is overdue would come later.
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_expired_lists_again_and_drops_what_is_gone() {
    let mut followed = Followed::three_nodes(LONG).await;
    followed.api.silence_watches();
    followed.api.delete_pod("web", "p1");
    followed.api.put_pod(pod("p2", "n2"));
    followed.api.recover();
    followed.api.compact();
    let cluster = followed.until("another list", |cluster| placed(cluster, "n1").is_empty()).await;
    assert_eq!(placed(&cluster, "n2"), ["p2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_watch_begins_anew_from_where_it_stood() {
    let mut followed = Followed::three_nodes(Duration::from_millis(400)).await;
    followed.api.silence_watches();
    followed.until_so("three watches", |followed| followed.positions().len() > 2).await;
    assert!(followed.positions().windows(2).all(|pair| pair[0] == pair[1]), "{:?}", followed.positions());
    followed.api.recover();
    followed.api.put_pod(pod("p2", "n2"));
    followed.until("p2", |cluster| placed(cluster, "n2") == ["p2"]).await;
    assert_eq!(followed.lists(), 1, "no list was needed");
    assert!(followed.watch.status().doubts(Duration::from_secs(20)).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_cut_off_goes_on_after_the_last_whole_event() {
    let mut followed = Followed::three_nodes(LONG).await;
    let mut last = pod("p2", "n2");
    (last["metadata"]["uid"], last["metadata"]["resourceVersion"]) = ("u2".into(), "101".into());
    let event = json!({"type": "ADDED", "object": last}).to_string();
    followed.until_so("a watch", |followed| followed.positions().len() == 1).await;
    followed.api.send_raw(PODS, &format!("{event}\n\n{}", &event[..30]));
    followed.until("p2", |cluster| placed(cluster, "n2") == ["p2"]).await;
    followed.api.cut_connections();
    followed.until_so("another watch", |followed| followed.positions().last() == Some(&101)).await;
    assert_eq!(followed.lists(), 1, "no list was needed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_lists_again() {
    let followed = Followed::three_nodes(LONG).await;
    let nonsense = ["no JSON", r#"{"type":"OTHER","object":{}}"#, r#"{"type":"ADDED"}"#];
    for (before, line) in nonsense.iter().enumerate() {
        followed.until_so("a watch", |followed| followed.positions().len() == before + 1).await;
        followed.api.send_raw(PODS, &format!("{line}\n"));
        followed.until_so("another list", |followed| followed.lists() == before + 2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_until_it_ends() {
    let api = FakeApi::start([node("n1")], []).unwrap();
    api.fail_at(NODES, 403);
    let mut followed = Followed::follow(api, LONG);
    let refusal = "nodes are not listed yet: the API server answered 403: the test wants it so".to_owned();
    followed.until_so("the refusal", |followed| followed.watch.status().doubts(LONG).contains(&refusal)).await;
    assert!(followed.watch.cluster().slots().is_empty());
    followed.api.recover();
    followed.until("the list", |cluster| cluster.slots().len() == 1).await;
    followed.until_so("the end of it", |followed| followed.watch.status().doubts(LONG).is_empty()).await;
    assert!(followed.watch.status().nodes.failures > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_be_read_is_left_out_alone() {
    let broken = json!({"metadata": {"name": "n2"}, "status": {"allocatable": {"cpu": "lots"}}});
    let api = FakeApi::start([node("n1"), broken.clone(), node("n3")], []).unwrap();
    let mut followed = Followed::follow(api, LONG);
    let cluster = followed.until("the list", |cluster| cluster.slots().len() == 2).await;
    assert_eq!((cluster.find("n2"), followed.watch.status().nodes.unreadable_now), (None, 1));
    assert!(followed.watch.status().gaps(LONG)[0].starts_with("1 nodes cannot be read"));
    followed.until_so("the lists", |followed| followed.watch.status().doubts(LONG).is_empty()).await;
    followed.api.put_node(node("n2"));
    followed.until("n2", |cluster| cluster.find("n2").is_some()).await;
    assert!(followed.watch.status().gaps(LONG).is_empty());
    followed.api.put_node(broken);
    followed.until("n2 to be gone", |cluster| cluster.find("n2").is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_cannot_be_read_any_more_takes_its_node_out_of_sight_until_it_is_gone() {
    let mut followed = Followed::three_nodes(LONG).await;
    // The old state of the pod is no longer true, and its new one is not known.
    followed.api.put_pod(unreadable("p1", "n1"));
    followed.until("n1 to be out of sight", |cluster| cluster.find("n1").is_none()).await;
    assert!(followed.watch.status().gaps(LONG)[0].starts_with("1 pods cannot be read"));
    assert!(followed.watch.status().doubts(LONG).is_empty(), "a tenant must not take the gateway out of service");
    followed.api.put_pod(pod("p1", "n1"));
    followed.until("n1 with p1", |cluster| placed(cluster, "n1") == ["p1"]).await;
    followed.api.put_pod(unreadable("p2", "n1"));
    followed.until("n1 to be out of sight again", |cluster| cluster.find("n1").is_none()).await;
    // The end of a pod that cannot be read is its end all the same.
    followed.api.delete_pod("web", "p2");
    followed.until("n1 with p1 alone", |cluster| placed(cluster, "n1") == ["p1"]).await;
    assert!(followed.watch.status().gaps(LONG).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_list_that_was_asked_for_is_in_force_when_the_call_returns() {
    let mut followed = Followed::three_nodes(LONG).await;
    followed.api.put_pod(unreadable("p2", "n2"));
    followed.until("n2 to be out of sight", |cluster| cluster.find("n2").is_none()).await;
    followed.api.silence_watches();
    followed.api.delete_pod("web", "p2");
    followed.api.put_pod(pod("p3", "n3"));
    followed.watch.relist().await;
    let cluster = Arc::clone(&followed.published.borrow());
    assert_eq!((placed(&cluster, "n2"), placed(&cluster, "n3")), (vec![], vec!["p3".to_owned()]));
    assert!(followed.watch.status().gaps(LONG).is_empty());
}

fn namespace(name: &str, tenant: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"tenant": tenant}}})
}

/// The tenant of a pod's namespace; none where the namespace is not known.
fn tenant(cluster: &Arc<Cluster>, namespace: &str) -> Option<String> {
    let pod = format!(r#"{{"metadata":{{"name":"p","namespace":"{namespace}"}}}}"#);
    let view = View::new(Arc::new(Pod::from_json(pod.into()).unwrap()), Arc::clone(cluster), Arc::default(), 0);
    let read = |read| view.read(Read::Pod(read)).unwrap();
    (read(PodRead::NamespaceKnown) == plimsoll_core::Value::Number(1)).then(|| {
        match read(PodRead::NamespaceLabel("tenant")) {
            plimsoll_core::Value::Text(text) => text.into_owned(),
            _ => "nobody".to_owned(),
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_cluster_waits_for_the_namespaces_which_follow_every_change() {
    let api = FakeApi::start([node("n0")], []).unwrap();
    api.put_namespace(namespace("web", "a"));
    api.hold_at(NAMESPACES);
    let mut followed = Followed::follow(api, LONG);
    soon("the lists of nodes and pods", followed.watch.relist()).await;
    assert!(!followed.published.has_changed().unwrap());
    let awaits_namespaces = |own: &Followed| own.watch.status().doubts(LONG) == ["namespaces are not listed yet"];
    followed.until_so("the list of waiting pods", awaits_namespaces).await;
    followed.api.recover();
    let first = followed.until("the first cluster", |cluster| cluster.slots().len() == 1).await;
    assert_eq!((tenant(&first, "web").as_deref(), tenant(&first, "ml")), (Some("a"), None));
    assert!(followed.watch.status().doubts(LONG).is_empty());
    followed.api.put_namespace(namespace("web", "b"));
    followed.api.put_namespace(json!({"metadata": {"name": "ml"}}));
    let changed = |cluster: &Arc<Cluster>| {
        (tenant(cluster, "web").as_deref(), tenant(cluster, "ml").as_deref()) == (Some("b"), Some("nobody"))
    };
    followed.until("the changes", changed).await;
    assert!(followed.watch.status().gaps(LONG).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_may_not_list_namespaces_has_its_view_and_says_what_is_missing() {
    let api = FakeApi::start([node("n0")], []).unwrap();
    api.put_namespace(namespace("web", "a"));
    api.fail_at(NAMESPACES, 403);
    let followed = Followed::follow(api, LONG);
    followed.watch.synced().await;
    assert_eq!((followed.watch.cluster().slots().len(), tenant(&followed.watch.cluster(), "web")), (1, None));
    assert!(followed.watch.status().doubts(LONG).is_empty());
    let gaps = followed.watch.status().gaps(LONG);
    assert!(gaps[0].starts_with("namespaces are not known, and policies cannot read their labels: "), "{gaps:?}");
    // Nobody waits for them either.
    soon("new lists", followed.watch.relist()).await;
}

/// A claim of the namespace `web`.
fn claim(name: &str, is_bound: bool) -> Value {
    let annotations = if is_bound { json!({"pv.kubernetes.io/bind-completed": "yes"}) } else { Value::Null };
    json!({"metadata": {"name": name, "namespace": "web", "annotations": annotations}})
}

/// Whether a pod with this claim waits for it.
fn is_late(cluster: &Cluster, claim: &str) -> Option<bool> {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": claim}});
    let pod = json!({"metadata": {"name": "p", "namespace": "web"}, "spec": {"volumes": [volume]}});
    cluster.has_late_volumes(&Pod::from_json(pod.to_string().into()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_late_until_the_watch_shows_it_bound_and_again_once_it_is_gone() {
    let api = FakeApi::start([node("n0")], []).unwrap();
    api.put_claim(claim("old", true));
    api.put_claim(claim("new", false));
    api.hold_at(CLAIMS);
    let mut followed = Followed::follow(api, LONG);
    let awaits_claims = |own: &Followed| own.watch.status().doubts(LONG) == ["claims are not listed yet"];
    followed.until_so("the other lists", awaits_claims).await;
    followed.api.recover();
    let first = followed.until("the first cluster", |cluster| cluster.slots().len() == 1).await;
    let late = |cluster: &Cluster| ["old", "new", "unknown"].map(|name| is_late(cluster, name).unwrap());
    assert_eq!(late(&first), [false, true, true]);
    followed.api.put_claim(claim("new", true));
    let bound = followed.until("the event", |cluster| late(cluster) == [false, false, true]).await;
    assert_eq!(bound.slots().len(), 1);
    followed.api.delete_claim("web", "old");
    followed.until("the end of a claim", |cluster| late(cluster) == [true, false, true]).await;
    // What happened meanwhile only a list shows.
    followed.api.hold_at(CLAIMS);
    followed.api.cut_connections();
    followed.api.delete_claim("web", "new");
    followed.api.put_claim(claim("unknown", true));
    followed.api.compact();
    followed.api.recover();
    followed.until("the new list", |cluster| late(cluster) == [true, true, false]).await;
    assert!(followed.watch.status().gaps(LONG).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_may_not_list_claims_has_its_view_and_says_what_is_missing() {
    let api = FakeApi::start([node("n0")], []).unwrap();
    api.put_claim(claim("old", true));
    api.fail_at(CLAIMS, 403);
    let followed = Followed::follow(api, LONG);
    followed.watch.synced().await;
    assert_eq!((followed.watch.cluster().slots().len(), is_late(&followed.watch.cluster(), "old")), (1, None));
    assert!(followed.watch.status().doubts(LONG).is_empty());
    let gaps = followed.watch.status().gaps(LONG);
    let missing = "claims are not known, and pods that wait for volumes get no place before their bind: ";
    assert!(gaps.len() == 1 && gaps[0].starts_with(missing), "{gaps:?}");
    soon("new lists", followed.watch.relist()).await;
}

/// Whether a policy can tell how much of `x/gpu` the node n0, which has none, has.
fn is_known(cluster: &Arc<Cluster>) -> bool {
    let view = View::new(Arc::default(), Arc::clone(cluster), Arc::from([0]), 0);
    view.read(Read::Node(0, NodeRead::ResourceKnown("x/gpu"))) == Ok(plimsoll_core::Value::Number(1))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_known_again_when_the_last_class_that_provides_it_is_gone() {
    let class =
        |name: &str, resource: &str| json!({"metadata": {"name": name}, "spec": {"extendedResourceName": resource}});
    let api = FakeApi::start([node("n0")], []).unwrap();
    api.put_device_class(class("old", "x/gpu"));
    let mut followed = Followed::follow(api, LONG);
    followed.watch.synced().await;
    assert!(!is_known(&followed.watch.cluster()));
    followed.api.put_device_class(class("new", "x/gpu"));
    followed.api.delete_device_class("old");
    followed.api.put_device_class(class("marker", "x/marker"));
    let has_marker =
        |cluster: &Arc<Cluster>| cluster.device_classes().provider("x/marker", &Quantities::default()).is_some();
    assert!(!is_known(&followed.until("all three changes", has_marker).await));
    followed.api.put_device_class(class("new", "x/other"));
    followed.until("a class with another resource", is_known).await;
    followed.api.put_device_class(json!({"metadata": {"name": "new"}, "spec": {"extendedResourceName": 7}}));
    followed.api.put_device_class(class("again", "x/gpu"));
    followed.until("a class beside one that cannot be read", |cluster| !is_known(cluster)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_without_device_classes_has_its_view_and_says_only_where_it_may_not_list_them() {
    for (status, gaps) in [(404, 0), (403, 1)] {
        let api = FakeApi::start([node("n0")], []).unwrap();
        api.put_device_class(json!({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "x/gpu"}}));
        api.fail_at("deviceclasses", status);
        let followed = Followed::follow(api, LONG);
        followed.watch.synced().await;
        assert!(is_known(&followed.watch.cluster()));
        assert!(followed.watch.status().doubts(LONG).is_empty());
        let said = followed.watch.status().gaps(LONG);
        assert_eq!(said.len(), gaps, "{said:?}");
        assert!(said.iter().all(|gap| gap.starts_with("deviceclasses are not known, and ")), "{said:?}");
    }
}
