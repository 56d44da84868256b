//! The holder of the Lease binds: when it may, what it writes, and what it makes of each answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_cluster::{ApiBinder, Leadership, LeaseConfig, Pace, Standing, URL_ANNOTATION};
use plimsoll_core::{BindError, Binder, Binding, Pod, Turn};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::lease_api::{Fate, LeaseApi, Notes};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A binder in front of an API server.
struct Desk {
    api: LeaseApi,
    notes: Arc<Notes>,
    leadership: Arc<Leadership>,
    binder: Arc<ApiBinder>,
}

// === impl Desk ===

impl Desk {
    /// Its Lease lasts a second; so many lists come to an end.
    async fn new(lists: u64) -> Self {
        let (api, notes) = (LeaseApi::start().await, Notes::new(lists));
        let server = api.connect();
        let config = LeaseConfig {
            namespace: "default".into(),
            name: "plimsoll".into(),
            identity: "me".into(),
            url: "http://me:1".into(),
            pace: Pace::new(Duration::from_secs(1)),
        };
        let leadership = Arc::new(Leadership::start(&server, config, async {}));
        let binder = ApiBinder::start(&server, notes.clone(), leadership.clone(), REQUEST_TIMEOUT);
        Self { api, notes, leadership, binder: Arc::new(binder) }
    }

    async fn ready() -> Self {
        let desk = Self::new(1).await;
        desk.until("the turn", |desk| desk.binder.turn() == Turn::Mine).await;
        desk
    }

    async fn until(&self, what: &str, fits: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !fits(self) {
            assert!(started.elapsed() < Duration::from_secs(20), "waited in vain for {what}: {:?}", self.binder.turn());
            tokio::task::yield_now().await;
        }
    }

    async fn pod(&self, name: &'static str) -> Result<Arc<Pod>, BindError> {
        let binder = Arc::clone(&self.binder);
        spawn_blocking(move || binder.pod("ml", name, Instant::now() + REQUEST_TIMEOUT)).await.unwrap()
    }

    async fn bind_to(&self, pod: Arc<Pod>, node: &str, deadline: Instant) -> Result<(), BindError> {
        let (binder, binding) = (Arc::clone(&self.binder), binding(node));
        spawn_blocking(move || binder.bind(&pod, &binding, deadline)).await.unwrap()
    }

    async fn bind(&self) -> Result<(), BindError> {
        let pod = self.pod("p").await.unwrap();
        self.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await
    }

    fn shown(&self) -> Option<(String, String)> {
        let pod = self.notes.last_assumed()?;
        let device = pod.annotations().iter().find(|(key, _)| *key == "device").map(|(_, value)| value.to_owned());
        Some((pod.node()?.to_owned(), device?))
    }
}

fn binding(node: &str) -> Binding {
    Binding {
        namespace: "ml".into(),
        name: "p".into(),
        uid: "u1".into(),
        node: node.into(),
        annotations: [("device".into(), "3".into())].into(),
    }
}

fn on(node: &str, device: &str) -> (String, String) {
    (node.to_owned(), device.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_bound_before_the_cluster_was_listed_in_this_term() {
    let desk = Desk::new(0).await;
    desk.until("a list", |desk| *desk.notes.lists.borrow() == 1).await;
    assert!(matches!(desk.leadership.standing(), Standing::Leads(_)));
    assert!(matches!(desk.binder.turn(), Turn::Nobody(why) if why.contains("lists the cluster")));
    let early = Instant::now();
    assert!(matches!(desk.bind().await, Err(BindError::NotLeader(_))));
    desk.notes.allowed.send_replace(1);
    desk.until("the turn", |desk| desk.binder.turn() == Turn::Mine).await;
    // Its decision may rest on what was there before the list.
    let pod = desk.pod("p").await.unwrap();
    let old = desk.bind_to(Arc::clone(&pod), "n1", early + REQUEST_TIMEOUT).await;
    assert!(matches!(old, Err(BindError::NotLeader(why)) if why.contains("after the request")));
    assert!(desk.api.change(|objects| objects.bindings.is_empty()));
    desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_names_the_pod_as_it_was_read_and_is_assumed() {
    let desk = Desk::ready().await;
    desk.bind().await.unwrap();
    let (query, body) = desk.api.change(|objects| objects.bindings[0].clone());
    assert_eq!(query, "timeout=222ms");
    let metadata = json!({
        "name": "p", "namespace": "ml", "uid": "u1", "resourceVersion": "1", "annotations": {"device": "3"},
    });
    let target = json!({"apiVersion": "v1", "kind": "Node", "name": "n1"});
    assert_eq!(body, json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}));
    assert_eq!(desk.shown(), Some(on("n1", "3")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_bound_there_already_is_shown_with_the_annotations_that_it_has() {
    let desk = Desk::ready().await;
    let pod = desk.pod("p").await.unwrap();
    desk.api.change(|objects| {
        let pod = objects.pods.get_mut("p").unwrap();
        pod["spec"]["nodeName"] = "n1".into();
        pod["metadata"]["annotations"] = json!({"device": "7"});
        pod["metadata"]["resourceVersion"] = "2".into();
    });
    desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await.unwrap();
    assert_eq!(desk.shown(), Some(on("n1", "7")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_bound_elsewhere_is_a_conflict() {
    let desk = Desk::ready().await;
    let pod = desk.pod("p").await.unwrap();
    desk.api.change(|objects| objects.pods.get_mut("p").unwrap()["spec"]["nodeName"] = "n2".into());
    let result = desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await;
    assert_eq!(result, Err(BindError::Conflict("pod p is already assigned".into())));
    assert_eq!(desk.shown(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_changed_is_bound_only_if_no_policy_could_have_read_the_change() {
    for (changed, is_bound) in [("/status", true), ("/metadata/labels", false), ("/spec", false)] {
        let desk = Desk::ready().await;
        let pod = desk.pod("p").await.unwrap();
        desk.api.change(|objects| {
            let pod = objects.pods.get_mut("p").unwrap();
            pod["metadata"]["resourceVersion"] = "2".into();
            pod["status"] = json!({});
            pod.pointer_mut(changed).unwrap()["changed"] = "yes".into();
        });
        let result = desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await;
        assert_eq!(result.is_ok(), is_bound, "{changed}: {result:?}");
        assert_eq!(desk.api.change(|objects| objects.bindings.len()), if is_bound { 2 } else { 1 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_is_found_out() {
    let desk = Desk::ready().await;
    desk.api.change(|objects| objects.fates.push_back(Fate::LostAnswer));
    desk.bind().await.unwrap();
    assert_eq!(desk.shown(), Some(on("n1", "3")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_that_was_not_carried_out_is_assumed_until_it_cannot_be_any_more() {
    for fate in [Fate::Lost, Fate::Refused(504)] {
        let desk = Desk::ready().await;
        desk.api.change(|objects| objects.fates.push_back(fate));
        let started = Instant::now();
        let result = desk.bind().await;
        assert!(matches!(&result, Err(BindError::Api(why)) if why.contains("was not bound")), "{result:?}");
        assert!(started.elapsed() > Pace::new(Duration::from_secs(1)).settle());
        assert_eq!(desk.shown(), Some(on("n1", "3")));
        assert_eq!(*desk.notes.forgotten.lock().unwrap(), ["u1"]);
        // The scheduler tries again.
        desk.bind().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_as_the_api_server_says_it() {
    let desk = Desk::ready().await;
    desk.api.change(|objects| objects.fates.push_back(Fate::Refused(403)));
    assert_eq!(desk.bind().await, Err(BindError::Api("as the test wants (403)".into())));
    assert_eq!(desk.shown(), None);
    assert!(matches!(desk.pod("q").await, Err(BindError::NoPod)));
    for name in ["../../../nodes/n1", "a/b", "", "p?x=1", "P"] {
        let result = desk.pod(Box::leak(name.into())).await;
        assert!(matches!(result, Err(BindError::NoPod)), "{name}: {result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_renew_writes_no_more() {
    let desk = Desk::ready().await;
    let pod = desk.pod("p").await.unwrap();
    desk.api.change(|objects| objects.lease_is_stuck = true);
    desk.until("the end of the turn", |desk| desk.binder.turn() != Turn::Mine).await;
    let result = desk.bind_to(pod, "n1", Instant::now() + REQUEST_TIMEOUT).await;
    assert!(matches!(result, Err(BindError::NotLeader(_))), "{result:?}");
    assert!(desk.api.change(|objects| objects.bindings.is_empty()));
    // Mended, it leads again, in a term that begins with a list.
    desk.notes.allowed.send_replace(10);
    desk.api.change(|objects| objects.lease_is_stuck = false);
    desk.until("the turn", |desk| desk.binder.turn() == Turn::Mine).await;
    assert_eq!(*desk.notes.lists.borrow(), desk.leadership.terms());
    desk.bind().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_names_the_leader_until_the_lease_is_let_go() {
    let desk = Desk::new(1).await;
    desk.until("the turn", |desk| desk.binder.turn() == Turn::Mine).await;
    let lease = desk.api.change(|objects| objects.lease.clone().unwrap());
    assert_eq!(lease["metadata"]["annotations"][URL_ANNOTATION], "http://me:1");
    assert!(lease["spec"]["holderIdentity"].as_str().unwrap().starts_with("me_"));
    desk.leadership.stop().await;
    assert_ne!(desk.binder.turn(), Turn::Mine);
    let lease = desk.api.change(|objects| objects.lease.clone().unwrap());
    assert_eq!(lease["spec"]["holderIdentity"], "");
    assert!(lease["metadata"]["annotations"][URL_ANNOTATION].is_null());

    let desk = Desk::new(1).await;
    desk.api.change(|objects| {
        objects.lease = Some(json!({
            "metadata": {"name": "plimsoll", "resourceVersion": "77", "annotations": {URL_ANNOTATION: "http://peer:1"}},
            "spec": {"holderIdentity": "peer", "leaseDurationSeconds": 60},
        }));
    });
    desk.until("the peer", |desk| desk.binder.turn() == Turn::Peer("http://peer:1".into())).await;
}
