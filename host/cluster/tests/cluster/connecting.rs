//! The errors about credentials that cannot be used.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use plimsoll_cluster::{ApiServer, Credentials, list_once};
use plimsoll_harness::FakeApi;
use serde_json::json;
use tokio::runtime::Handle;

use crate::{Written, connect, write};

const CLUSTER: &str = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]";
const CONTEXT: &str = "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x";

fn mk_node() -> serde_json::Value {
    json!({"metadata": {"name": "n1", "uid": "n1"}})
}

fn connect_error(text: &str) -> String {
    let file = write("kubeconfig", text);
    let error = ApiServer::connect(&Credentials::File(file.path.clone()), None).unwrap_err().to_string();
    named(&file, &error)
}

fn named(file: &Written, error: &str) -> String {
    error.replace(&format!("{}/", file.path.parent().unwrap().display()), "")
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_used_says_what_was_expected() {
    let absent = ApiServer::connect(&Credentials::File("/absent/kubeconfig".into()), None).unwrap_err().to_string();
    let expected = "kubeconfig /absent/kubeconfig: failed to read kubeconfig from";
    assert!(absent.starts_with(expected), "{absent}");
    let table = [
        ("{", ""),
        ("clusters: 7", ""),
        (CLUSTER, "current context"),
        (CONTEXT, "cluster"),
        ("current-context: y", "context"),
    ];
    for (text, why) in table {
        let error = connect_error(text);
        assert!(error.starts_with("kubeconfig kubeconfig: "), "{text}: {error}");
        assert!(error.ends_with(": expected a file that kubectl can use, with a current context"), "{text}: {error}");
        assert!(error.to_lowercase().contains(why), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_there_is_named() {
    let text = format!(
        "{CLUSTER}\n{CONTEXT}\nusers: [{{name: u, user: {{client-certificate: absent.pem, client-key: absent.key}}}}]"
    );
    let error = connect_error(&text);
    assert!(error.contains("absent.pem"), "{error}");
}

#[tokio::test]
async fn a_proxy_is_refused_by_name() {
    let proxied = CLUSTER.replace("127.0.0.1:1'", "127.0.0.1:1', proxy-url: 'http://proxy:3128'");
    let error = connect_error(&format!("{proxied}\n{CONTEXT}\nusers: [{{name: u, user: {{}}}}]"));
    assert!(error.starts_with("kubeconfig kubeconfig names the proxy http://proxy:3128/, and"), "{error}");
}

#[tokio::test]
async fn a_process_outside_of_a_pod_has_no_service_account() {
    if ApiServer::is_in_cluster() {
        // The tests themselves run in a pod.
        return;
    }
    let error = ApiServer::connect(&Credentials::ServiceAccount, None).unwrap_err().to_string();
    assert!(error.starts_with("no service account: "), "{error}");
    assert!(error.ends_with("elsewhere a kubeconfig must be given"), "{error}");
}

#[tokio::test]
async fn a_context_that_was_named_counts_instead_of_the_current_one() {
    let two = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}, {name: d, cluster: {server: 'http://127.0.0.1:2'}}]
contexts: [{name: x, context: {cluster: c, user: u}}, {name: y, context: {cluster: d, user: u}}]
current-context: x
users: [{name: u, user: {}}]";
    let file = write("kubeconfig", two);
    let credentials = Credentials::File(file.path.clone());
    let url = |context| ApiServer::connect(&credentials, context).map(|api| api.url().to_owned());
    assert_eq!(url(None).unwrap(), "http://127.0.0.1:1/");
    assert_eq!(url(Some("y")).unwrap(), "http://127.0.0.1:2/");
    let error = url(Some("z")).unwrap_err().to_string();
    assert!(error.contains("context"), "{error}");
}

#[tokio::test]
async fn a_single_list_gives_up_in_time_and_says_why() {
    let file = write("kubeconfig", &format!("{CLUSTER}\n{CONTEXT}\nusers: [{{name: u, user: {{}}}}]"));
    let api = ApiServer::connect(&Credentials::File(file.path.clone()), None).unwrap();
    let error = list_once(&api, Duration::from_millis(300), |_| {}).await.unwrap_err().to_string();
    let expected = "http://127.0.0.1:1/ was not heard of for 0.3 s: nodes are not listed yet: ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_list_gives_up_on_pods_that_are_forbidden_although_nodes_change_all_the_time() {
    let api = FakeApi::start([mk_node()], []).unwrap();
    api.fail_at("pods", 403);
    let (server, is_over) = (connect(&api), AtomicBool::new(false));
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                api.put_node(mk_node());
            }
        });
        let listed = tokio::task::block_in_place(|| {
            Handle::current().block_on(list_once(&server, Duration::from_millis(300), |_| {}))
        });
        is_over.store(true, Ordering::Relaxed);
        listed.unwrap_err().to_string()
    });
    assert!(error.contains("pods are not listed yet: ") && error.contains("403"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entries_of_a_config_map_are_read_or_the_refusal_is_told() {
    let api = FakeApi::start([], []).unwrap();
    api.put_config_map("finance", "budgets", json!({"team-a": "100", "note": "a\nb\n"}));
    let server = connect(&api);
    let entries = server.config_map("finance", "budgets").await.unwrap();
    assert_eq!((entries.len(), entries["team-a"].as_str()), (2, "100"));
    let absent = server.config_map("finance", "other").await.unwrap_err();
    assert_eq!(absent, "the API server answered 404: configmaps \"other\" not found");
    api.fail_at("configmaps", 403);
    let refused = server.config_map("finance", "budgets").await.unwrap_err();
    assert_eq!(refused, "the API server answered 403: the test wants it so");
}
