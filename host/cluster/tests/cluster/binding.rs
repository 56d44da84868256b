//! The holder of the Lease binds: the times at which it may, its writes, and its reading of each answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_cluster::{
    ApiBinder, ClusterWatch, Leadership, LeadershipState, LeaseConfig, LeaseTimings, URL_ANNOTATION,
};
use plimsoll_core::{BindError, Binder, Binding, Cluster, Leader, NotReserved, Pod, Slot};
use plimsoll_harness::{FakeApi, Fate};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::{PATIENCE, connect};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A binder in front of an API server.
struct Desk {
    api: FakeApi,
    watch: Arc<ClusterWatch>,
    leadership: Arc<Leadership>,
    binder: Arc<ApiBinder>,
}

// === impl Desk ===

impl Desk {
    /// Its Lease lasts a second.
    fn before(api: FakeApi) -> Self {
        let server = connect(&api);
        let config = LeaseConfig {
            namespace: "default".into(),
            name: "plimsoll".into(),
            identity: "me".into(),
            url: "http://me:1".into(),
            timings: LeaseTimings::new(Duration::from_secs(1)),
        };
        let watch = Arc::new(ClusterWatch::start(&server, Duration::from_mins(10), |_| {}, |_| {}));
        let leadership = Arc::new(Leadership::start(&server, config, async {}));
        let binder = ApiBinder::start(&server, watch.clone(), leadership.clone(), REQUEST_TIMEOUT);
        Self { api, watch, leadership, binder: Arc::new(binder) }
    }

    async fn ready() -> Self {
        let desk = Self::before(api());
        desk.until("the lead", |desk| desk.binder.leader() == Leader::ThisReplica).await;
        desk
    }

    async fn until(&self, what: &str, fits: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !fits(self) {
            assert!(started.elapsed() < PATIENCE, "waited in vain for {what}: {:?}", self.binder.leader());
            tokio::task::yield_now().await;
        }
    }

    async fn pod(&self, name: &'static str) -> Result<Arc<Pod>, BindError> {
        let binder = Arc::clone(&self.binder);
        spawn_blocking(move || binder.pod("ml", name, Instant::now() + REQUEST_TIMEOUT)).await.unwrap()
    }

    async fn bind_to(&self, pod: Arc<Pod>, node: &str, deadline: Instant) -> Result<(), BindError> {
        let (binder, binding) = (Arc::clone(&self.binder), binding(node));
        spawn_blocking(move || {
            let place = binder.reserve(&pod, binding, &|_| true).expect("nobody else asks for it");
            place.bind(&pod, deadline)
        })
        .await
        .unwrap()
    }

    async fn bind(&self) -> Result<(), BindError> {
        let pod = self.pod("p").await.unwrap();
        self.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await
    }

    /// Changes the pod of the test.
    fn change_pod(&self, change: impl FnOnce(&mut Value)) {
        let mut pod = self.api.pod("ml", "p").unwrap();
        change(&mut pod);
        self.api.put_pod(pod);
    }

    /// The node and the device of the pod of the test in the cluster in force.
    fn shown(&self) -> Option<(String, Option<String>)> {
        let cluster = self.watch.cluster();
        let all = cluster.slots().iter().flat_map(|slot| slot.placed.as_ref().unwrap().pods());
        let pod = all.into_iter().find(|pod| pod.uid() == "u1")?;
        Some((pod.node()?.to_owned(), pod.annotations().get("device").map(str::to_owned)))
    }

    fn slot(&self, node: &str) -> Slot {
        slot(&self.watch.cluster(), node)
    }
}

fn slot(cluster: &Cluster, node: &str) -> Slot {
    cluster.slots()[cluster.find(node).unwrap() as usize].clone()
}

/// Whether a cluster has the same records of the node.
fn shows(seen: &Slot) -> impl Fn(&Arc<Cluster>) -> bool {
    move |newest| slot(newest, seen.node.name()).is_same(seen)
}

/// Two nodes and a pod `ml/p`; nothing is said to those who watch.
fn api() -> FakeApi {
    let api = FakeApi::start(["n0", "n1"].map(|name| json!({"metadata": {"name": name}})), [pod("p", "u1")]).unwrap();
    api.silence_watches();
    api
}

fn pod(name: &str, uid: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ml", "uid": uid, "labels": {"app": "p"}},
        "spec": {"containers": []},
    })
}

fn binding(node: &str) -> Binding {
    Binding {
        namespace: "ml".into(),
        name: "p".into(),
        uid: "u1".into(),
        node: node.into(),
        annotations: [("device".into(), "3".into())].into(),
        labels: [].into(),
    }
}

fn on(node: &str, device: &str) -> (String, Option<String>) {
    (node.to_owned(), Some(device.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_bound_before_the_cluster_was_listed_in_this_term() {
    let api = api();
    api.hold_at("/api/v1/nodes");
    let desk = Desk::before(api);
    let leads = |desk: &Desk| matches!(desk.leadership.leadership_state(), LeadershipState::Leads(_));
    desk.until("the Lease", leads).await;
    assert!(matches!(desk.binder.leader(), Leader::Nobody(why) if why.contains("lists the cluster")));
    let early = Instant::now();
    assert!(matches!(desk.bind().await, Err(BindError::NotLeader(_))));
    desk.api.recover();
    desk.until("the lead", |desk| desk.binder.leader() == Leader::ThisReplica).await;
    // Its decision may rest on the state before the list.
    let pod = desk.pod("p").await.unwrap();
    let old = desk.bind_to(Arc::clone(&pod), "n1", early + REQUEST_TIMEOUT).await;
    assert!(matches!(old, Err(BindError::NotLeader(why)) if why.contains("after the request")));
    assert_eq!(desk.api.bindings(), 0);
    desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_names_the_pod_as_it_was_read_and_is_reserved() {
    let desk = Desk::ready().await;
    let version = desk.api.pod("ml", "p").unwrap()["metadata"]["resourceVersion"].clone();
    desk.bind().await.unwrap();
    let (url, body) = desk.api.last_binding().unwrap();
    assert_eq!(url, "/api/v1/namespaces/ml/pods/p/binding?timeout=222ms");
    let metadata = json!({
        "name": "p", "namespace": "ml", "uid": "u1", "resourceVersion": version, "annotations": {"device": "3"}, "labels": {},
    });
    let target = json!({"apiVersion": "v1", "kind": "Node", "name": "n1"});
    assert_eq!(body, json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}));
    assert_eq!(desk.shown(), Some(on("n1", "3")));
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_written_with_the_node_and_never_to_an_api_server_that_drops_them() {
    let desk = Desk::ready().await;
    let pod = desk.pod("p").await.unwrap();
    let bind = || async {
        let binding = Binding { labels: [("rack".into(), "r1".into())].into(), ..binding("n1") };
        let (binder, pod) = (Arc::clone(&desk.binder), Arc::clone(&pod));
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let write =
            move || binder.reserve(&pod, binding, &|_| true).expect("nobody else asks for it").bind(&pod, deadline);
        spawn_blocking(write).await.unwrap()
    };
    desk.api.set_minor_version("34");
    let error = bind().await.unwrap_err().to_string();
    assert!(error.contains("version 1.34 drops the labels of a Binding"), "{error}");
    assert_eq!(desk.api.bindings(), 0);
    desk.api.set_minor_version("35+");
    bind().await.unwrap();
    let (_, body) = desk.api.last_binding().unwrap();
    assert_eq!(body["metadata"]["labels"], json!({"rack": "r1"}));
    assert_eq!(desk.api.pod("ml", "p").unwrap()["metadata"]["labels"], json!({"app": "p", "rack": "r1"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_bound_there_already_is_shown_with_the_annotations_that_it_has() {
    let desk = Desk::ready().await;
    let pod = desk.pod("p").await.unwrap();
    desk.change_pod(|pod| {
        pod["spec"]["nodeName"] = "n1".into();
        pod["metadata"]["annotations"] = json!({"device": "7"});
    });
    desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await.unwrap();
    assert_eq!(desk.shown(), Some(on("n1", "7")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_bound_elsewhere_is_a_conflict() {
    let desk = Desk::ready().await;
    let pod = desk.pod("p").await.unwrap();
    desk.change_pod(|pod| pod["spec"]["nodeName"] = "n0".into());
    let result = desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await;
    assert_eq!(result, Err(BindError::Conflict("precondition failed".into())));
    // It is shown where it was read to be.
    assert_eq!(desk.shown(), Some(("n0".to_owned(), None)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_changed_is_bound_only_if_no_policy_could_have_read_the_change() {
    for (changed, is_bound) in [("/status", true), ("/metadata/labels", false), ("/spec", false)] {
        let desk = Desk::ready().await;
        let pod = desk.pod("p").await.unwrap();
        desk.change_pod(|pod| {
            pod["status"] = json!({});
            pod.pointer_mut(changed).unwrap()["changed"] = "yes".into();
        });
        let result = desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await;
        assert_eq!(result.is_ok(), is_bound, "{changed}: {result:?}");
        assert_eq!(desk.api.bindings(), if is_bound { 2 } else { 1 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_is_found_out() {
    let desk = Desk::ready().await;
    desk.api.decide([Fate::LostAnswer]);
    desk.bind().await.unwrap();
    assert_eq!(desk.shown(), Some(on("n1", "3")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_a_binding_that_was_not_carried_out_is_held_until_it_cannot_be_any_more() {
    for fate in [Fate::Lost, Fate::Refused(504)] {
        let desk = Desk::ready().await;
        desk.api.decide([fate]);
        let started = Instant::now();
        let result = desk.bind().await;
        assert!(matches!(&result, Err(BindError::Api(why)) if why.contains("was not bound")), "{result:?}");
        assert!(started.elapsed() > LeaseTimings::new(Duration::from_secs(1)).settle());
        assert_eq!(desk.shown(), None);
        // The scheduler tries again.
        desk.bind().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_as_the_api_server_says_it() {
    let desk = Desk::ready().await;
    desk.api.decide([Fate::Refused(403)]);
    assert_eq!(desk.bind().await, Err(BindError::Api("the test wants it so (403)".into())));
    assert_eq!(desk.shown(), None);
    assert!(matches!(desk.pod("q").await, Err(BindError::NoPod)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_renew_writes_no_more() {
    let desk = Desk::ready().await;
    let pod = desk.pod("p").await.unwrap();
    desk.api.fail_at("/leases", 500);
    desk.until("the end of the lead", |desk| desk.binder.leader() != Leader::ThisReplica).await;
    let result = desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await;
    assert!(matches!(result, Err(BindError::NotLeader(_))), "{result:?}");
    assert_eq!(desk.api.bindings(), 0);
    // Mended, it leads again.
    desk.api.recover();
    desk.until("the lead", |desk| desk.binder.leader() == Leader::ThisReplica).await;
    desk.bind().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_names_the_leader_until_the_lease_is_let_go() {
    let desk = Desk::ready().await;
    let lease = desk.api.lease().unwrap();
    assert_eq!(lease["metadata"]["annotations"][URL_ANNOTATION], "http://me:1");
    assert!(lease["spec"]["holderIdentity"].as_str().unwrap().starts_with("me_"));
    desk.leadership.stop().await;
    assert_ne!(desk.binder.leader(), Leader::ThisReplica);
    let lease = desk.api.lease().unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "");
    assert!(lease["metadata"]["annotations"][URL_ANNOTATION].is_null());

    let desk = Desk::before(api());
    desk.api.put_lease(held_by("peer", "http://peer:1"));
    desk.until("the peer", |desk| desk.binder.leader() == Leader::Peer("http://peer:1".into())).await;
}

fn held_by(holder: &str, url: &str) -> Value {
    json!({
        "metadata": {"name": "plimsoll", "annotations": {URL_ANNOTATION: url}},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 60},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bind_is_not_forwarded_to_oneself_while_the_lease_of_the_predecessor_runs_out() {
    let api = api();
    // As a container leaves it that was killed and started again: another process, the same URL.
    api.put_lease(held_by("me_1", "http://me:1/"));
    let desk = Desk::before(api);
    let says_why = |leader: Leader| {
        let Leader::Nobody(why) = leader else { return false };
        why == "the Lease of this gateway's predecessor (me_1) has not run out"
    };
    desk.until("the reason", |desk| says_why(desk.binder.leader())).await;
    // It lets go, and so nobody is waited for.
    desk.api.put_lease(held_by("", "http://me:1/"));
    desk.until("the lead", |desk| desk.binder.leader() == Leader::ThisReplica).await;
}

/// The lowest device that no pod on the node has, as a policy would give it.
fn free_device(slot: &Slot) -> String {
    let pods = slot.placed.as_ref().unwrap().pods();
    let taken = |device: &String| pods.iter().any(|pod| pod.annotations().get("device") == Some(device));
    (0..8).map(|device| device.to_string()).find(|device| !taken(device)).unwrap()
}

/// A bind as the gateway makes it: reads, asks, reserves, writes.
fn bind_as_a_gateway(desk: &Desk, name: &str, node: &str) -> Result<String, String> {
    let deadline = Instant::now() + REQUEST_TIMEOUT;
    let pod = desk.binder.pod("ml", name, deadline).map_err(|error| error.to_string())?;
    let seen = desk.slot(node);
    let device = free_device(&seen);
    let binding = Binding {
        name: name.into(),
        uid: pod.uid().into(),
        annotations: [("device".into(), device.as_str().into())].into(),
        ..binding(node)
    };
    let place = desk.binder.reserve(&pod, binding, &shows(&seen)).map_err(|refusal| format!("{refusal:?}"))?;
    place.bind(&pod, deadline).map_err(|error| error.to_string())?;
    Ok(device)
}

/// The answer to a bind is lost, the scheduler tries the pod on another node, and the watch says nothing: the end of
/// the first attempt used to take away the reservation of the second.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_unknown_bind_leaves_alone_what_a_later_one_has_reserved() {
    let desk = Arc::new(Desk::ready().await);
    desk.api.put_pod(pod("q", "u2"));
    let bind = |name: &'static str, node: &'static str| {
        let desk = Arc::clone(&desk);
        spawn_blocking(move || bind_as_a_gateway(&desk, name, node))
    };
    desk.api.decide([Fate::Lost]);
    let first = bind("p", "n0");
    desk.until("the first Binding", |desk| desk.api.bindings() == 1).await;
    assert_eq!(desk.watch.status().reserved, 1);
    // As long as the first may be carried out, no other place is given to the pod, and its own is taken.
    let undecided = format!("{:?}", NotReserved::Undecided("n0".into()));
    assert_eq!(bind("p", "n1").await.unwrap(), Err(undecided));
    assert_eq!(bind("q", "n0").await.unwrap(), Ok("1".to_owned()));
    let lost = first.await.unwrap().unwrap_err();
    assert!(lost.contains("was not bound"), "{lost}");
    assert_eq!(bind("p", "n1").await.unwrap(), Ok("0".to_owned()));
    assert_eq!(desk.watch.status().reserved, 2);
    assert_eq!(free_device(&desk.slot("n1")), "1");
    assert_eq!(free_device(&desk.slot("n0")), "0");
}

/// The scheduler does not wait for the end of the first attempt, and neither does the next pod.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_not_reserved_on_a_node_that_is_not_as_it_was_seen() {
    let desk = Desk::before(api());
    desk.watch.synced().await;
    let pod = desk.pod("p").await.unwrap();
    let (before, other) = (desk.slot("n0"), desk.slot("n1"));
    let place = desk.binder.reserve(&pod, binding("n0"), &shows(&before)).map_err(|refusal| format!("{refusal:?}"));
    let seen = desk.slot("n0");
    let late = Binding { uid: "u9".into(), name: "r".into(), ..binding("n0") };
    let another =
        Pod::from_json(r#"{"metadata":{"name":"r","namespace":"ml","uid":"u9"}}"#.into()).map(Arc::new).unwrap();
    let reserve = |seen: &Slot, binding: Binding| desk.binder.reserve(&another, binding, &shows(seen)).map(drop);
    assert_eq!(reserve(&before, late.clone()), Err(NotReserved::Changed));
    assert_eq!(reserve(&seen, late.clone()), Ok(()));
    assert_eq!(reserve(&other, Binding { node: "n1".into(), ..late.clone() }), Ok(()));
    drop(place.unwrap());
    assert_eq!(reserve(&desk.slot("n0"), late), Ok(()));
    assert_eq!(desk.watch.status().reserved, 0);
}
