//! Nominations are written under their conditions, and the watch tells whose they are.

use std::time::Duration;

use plimsoll_cluster::{ClusterWatch, NominateError};
use plimsoll_core::{Pod, WaitingChange};
use plimsoll_harness::FakeApi;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{api_watch::soon, connect};

fn pod(uid: &str, node: Option<&str>, nominated: Option<&str>) -> Value {
    let mut pod = json!({"metadata": {"name": "p", "namespace": "ml", "uid": uid}, "spec": {}, "status": {}});
    if let Some(node) = node {
        pod["spec"]["nodeName"] = node.into();
    }
    if let Some(nominated) = nominated {
        pod["status"]["nominatedNodeName"] = nominated.into();
    }
    pod
}

fn read(pod: &Value) -> Pod {
    Pod::from_json(pod.to_string().into()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_nominated_if_it_has_no_node_and_the_nomination_that_it_was_seen_with() {
    let changed = Err(NominateError::Changed);
    let table = [
        (None, None, None, Some("n1"), Ok(()), Some("n1")),
        (None, Some("n1"), Some("n1"), Some("n2"), Ok(()), Some("n2")),
        (None, Some("n1"), Some("n1"), None, Ok(()), None),
        (None, None, None, None, Ok(()), None),
        (None, Some("n3"), None, Some("n1"), changed.clone(), Some("n3")),
        (None, Some("n3"), Some("n1"), Some("n2"), changed.clone(), Some("n3")),
        (None, None, Some("n1"), None, changed.clone(), None),
        (Some("n1"), None, None, Some("n2"), changed.clone(), None),
    ];
    for (node, nominated, was, wanted, expected, shown) in table {
        let now = pod("u1", node, nominated);
        let api = FakeApi::start([], [now.clone()]).unwrap();
        let result = connect(&api).nominate(&read(&now), was, wanted).await;
        assert_eq!(result, expected, "{now}: {was:?} -> {wanted:?}");
        assert_eq!(api.pod("ml", "p").unwrap()["status"]["nominatedNodeName"].as_str(), shown);
    }
    let api = FakeApi::start([], [pod("u2", None, None)]).unwrap();
    let nominate = |pod: Value| {
        let (server, pod) = (connect(&api), read(&pod));
        async move { server.nominate(&pod, None, Some("n1")).await }
    };
    assert_eq!(nominate(pod("u1", None, None)).await, changed, "another pod has its name");
    api.delete_pod("ml", "p");
    assert_eq!(nominate(pod("u2", None, None)).await, changed, "it is gone");
    api.fail_at("/status", 403);
    let forbidden = "the API server answered 403: the test wants it so".to_owned();
    assert_eq!(nominate(pod("u2", None, None)).await, Err(NominateError::Forbidden(forbidden)));
    let mut odd = pod("u2", None, None);
    odd["metadata"]["name"] = "p/../q".into();
    let odd = nominate(odd).await;
    assert!(matches!(&odd, Err(NominateError::Other(why)) if why.contains("no name that Kubernetes takes")), "{odd:?}");
    api.stop_listening();
    assert!(matches!(nominate(pod("u2", None, None)).await, Err(NominateError::Other(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watch_tells_an_own_nomination_from_one_of_others() {
    let api = FakeApi::start([], []).unwrap();
    let (sender, mut told) = mpsc::unbounded_channel();
    let tell = move |change| {
        if let WaitingChange::Shown(waiting) = change {
            drop(sender.send(waiting));
        }
    };
    let _watch = ClusterWatch::start(&connect(&api), Duration::from_mins(10), |_| {}, tell);
    api.put_pod(pod("u1", None, Some("n1")));
    let waiting = soon("the pod", told.recv()).await.unwrap();
    assert_eq!(waiting.nominated.map(|nominated| nominated.is_own), Some(false));
    connect(&api).nominate(&waiting.pod, Some("n1"), Some("n2")).await.unwrap();
    let nominated = soon("the nomination", told.recv()).await.unwrap().nominated.unwrap();
    assert_eq!((&*nominated.node, nominated.is_own), ("n2", true));
}
