//! What is said of credentials that cannot be used.

use std::path::Path;

use plimsoll_cluster::{ApiServer, list_once};

use crate::{Written, write};

const CLUSTER: &str = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]";
const CONTEXT: &str = "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x";

fn connect_error(text: &str) -> String {
    let file = write("kubeconfig", text);
    let error = ApiServer::connect(Some(&file.path)).unwrap_err().to_string();
    named(&file, &error)
}

fn named(file: &Written, error: &str) -> String {
    error.replace(&format!("{}/", file.path.parent().unwrap().display()), "")
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_used_says_what_was_expected() {
    let absent = ApiServer::connect(Some(Path::new("/absent/kubeconfig"))).unwrap_err().to_string();
    assert!(absent.starts_with("kubeconfig /absent/kubeconfig: "), "{absent}");
    assert!(absent.contains("No such file"), "{absent}");
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
async fn a_process_outside_of_a_pod_has_no_service_account() {
    if ApiServer::is_in_cluster() {
        // The tests themselves run in a pod.
        return;
    }
    let error = ApiServer::connect(None).unwrap_err().to_string();
    assert!(error.starts_with("no service account: "), "{error}");
    assert!(error.ends_with("elsewhere a kubeconfig must be given"), "{error}");
}

#[tokio::test]
async fn a_single_list_gives_up_in_time_and_says_why() {
    let file = write("kubeconfig", &format!("{CLUSTER}\n{CONTEXT}\nusers: [{{name: u, user: {{}}}}]"));
    let error = list_once(&file.path, std::time::Duration::from_millis(300)).await.unwrap_err().to_string();
    assert!(error.starts_with("http://127.0.0.1:1/ did not answer in time: nodes are not listed yet: "), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
}
