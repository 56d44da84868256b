//! Namespaces are watched where that is allowed; the gateway works without them.
#![expect(
    clippy::disallowed_methods,
    reason = "the simulation has no part in what a test outside of the crate waits for"
)]

use std::{sync::Arc, time::Duration};

use plimsoll_cluster::{ApiServer, ClusterWatch, Credentials};
use plimsoll_core::{Cluster, Pod, PodRead, Read, Value, View};
use plimsoll_harness::FakeApi;
use serde_json::json;
use tokio::sync::watch;

const LONG: Duration = Duration::from_mins(3);

fn api() -> FakeApi {
    FakeApi::start([json!({"metadata": {"name": "n0"}})], []).unwrap()
}

fn namespace(name: &str, tenant: &str) -> serde_json::Value {
    json!({"metadata": {"name": name, "labels": {"tenant": tenant}}})
}

/// A watch, and each cluster that it publishes.
fn follow(api: &FakeApi) -> (ClusterWatch, watch::Receiver<Arc<Cluster>>) {
    let (publish, published) = watch::channel(Arc::default());
    let api = ApiServer::connect(&Credentials::File(api.kubeconfig()), None).unwrap();
    (ClusterWatch::start(&api, LONG, move |cluster| drop(publish.send(cluster))), published)
}

/// The tenant of a pod's namespace; none where the namespace is not known.
fn tenant(cluster: &Arc<Cluster>, namespace: &str) -> Option<String> {
    let pod = format!(r#"{{"metadata":{{"name":"p","namespace":"{namespace}"}}}}"#);
    let view = View::new(Arc::new(Pod::from_json(pod.into()).unwrap()), Arc::clone(cluster), Arc::default(), 0);
    let read = |read| view.read(Read::Pod(read)).unwrap();
    (read(PodRead::NamespaceKnown) == Value::Number(1)).then(|| match read(PodRead::NamespaceLabel("tenant")) {
        Value::Text(text) => text.into_owned(),
        _ => "nobody".to_owned(),
    })
}

async fn soon<T>(what: &str, done: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(20), done).await;
    done.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_of_namespaces_are_there_with_the_first_cluster_and_follow_every_change() {
    let api = api();
    api.put_namespace(namespace("web", "a"));
    let (watch, mut published) = follow(&api);
    watch.synced().await;
    assert_eq!(tenant(&watch.cluster(), "web").as_deref(), Some("a"));
    assert_eq!(tenant(&watch.cluster(), "ml"), None);
    api.put_namespace(namespace("web", "b"));
    api.put_namespace(json!({"metadata": {"name": "ml"}}));
    let is_changed = |cluster: &Arc<Cluster>| {
        (tenant(cluster, "web").as_deref(), tenant(cluster, "ml").as_deref()) == (Some("b"), Some("nobody"))
    };
    soon("the changes", published.wait_for(is_changed)).await.unwrap();
    assert!(watch.status().gaps().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_cluster_waits_for_the_namespaces_and_is_doubted_until_then() {
    let api = api();
    api.put_namespace(namespace("web", "a"));
    api.hold_at("/api/v1/namespaces");
    let (watch, mut published) = follow(&api);
    soon("the lists of nodes and pods", watch.relist()).await;
    assert!(!published.has_changed().unwrap());
    assert_eq!(watch.status().doubts(LONG), ["namespaces are not listed yet"]);
    api.recover();
    soon("the first cluster", published.changed()).await.unwrap();
    assert_eq!(tenant(&published.borrow(), "web").as_deref(), Some("a"));
    assert!(watch.status().doubts(LONG).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_may_not_list_namespaces_has_its_view_and_says_what_is_missing() {
    let api = api();
    api.put_namespace(namespace("web", "a"));
    api.fail_at("/api/v1/namespaces", 403);
    let (watch, _published) = follow(&api);
    watch.synced().await;
    assert_eq!((watch.cluster().slots().len(), tenant(&watch.cluster(), "web")), (1, None));
    assert!(watch.status().doubts(LONG).is_empty());
    let gaps = watch.status().gaps();
    assert!(gaps[0].starts_with("namespaces are not known, and policies cannot read their labels: "), "{gaps:?}");
    // Nobody waits for them either.
    soon("new lists", watch.relist()).await;
}
