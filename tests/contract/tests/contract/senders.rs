//! Whole nodes are believed of those who sent them: a stranger's do not decide about a scheduler's preemption.

use plimsoll_contract::{
    client::Client,
    rules::{member, ssd},
    secure::Site,
    server::Server,
};
use plimsoll_harness::Purpose;
use plimsoll_http::WireConfig;

use crate::world::server_with;

const PREEMPT: &str = r#"{"Pod":{"metadata":{"labels":{"needs":"ssd"}}},"NodeNameToVictims":{"n1":{"Pods":[
    {"metadata":{"uid":"v","name":"v"},"spec":{"nodeName":"n1"}}],"NumPDBViolations":0}}}"#;
const NOBODY: &str = r#"{"NodeNameToMetaVictims":{}}"#;
const VICTIM: &str = r#"{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"v"}],"NumPDBViolations":0}}}"#;

/// A filter request about one node, `n1`, with this disk; the pod may be any.
fn filter(disk: &str, pod: &str) -> String {
    format!(
        r#"{{"Pod":{{"metadata":{{"uid":"{pod}","labels":{{"needs":"ssd"}}}}}},"Nodes":{{"items":[
            {{"metadata":{{"name":"n1","labels":{{"disktype":"{disk}"}}}}}}]}}}}"#
    )
}

async fn post(client: &mut Client, path: &str, body: &str) -> String {
    client.post(path, body.to_owned()).await.unwrap().text()
}

/// The answers to two clients, of whom the second sends another `n1`.
async fn poisoned(scheduler: &mut Client, stranger: &mut Client) {
    assert!(post(scheduler, "/filter", &filter("hdd", "p")).await.contains("ssd: node has no ssd"));
    assert_eq!(post(scheduler, "/preempt", PREEMPT).await, NOBODY);
    for pod in ["p", "q"] {
        assert!(post(stranger, "/filter", &filter("ssd", pod)).await.contains(r#""FailedNodes":{}"#));
        assert_eq!(post(scheduler, "/preempt", PREEMPT).await, NOBODY);
    }
    // The stranger's own belief is its own business.
    assert_eq!(post(stranger, "/preempt", PREEMPT).await, VICTIM);
    // Candidates are nodes that kube-scheduler's own filters refused for this pod: another pod's request brought them.
    assert!(post(scheduler, "/filter", &filter("ssd", "another")).await.contains(r#""FailedNodes":{}"#));
    assert_eq!(post(scheduler, "/preempt", PREEMPT).await, VICTIM);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_from_another_address_do_not_decide_about_preemption() {
    let server = Server::start(
        plimsoll_contract::server::gateway(plimsoll_core::Roster::of_root(vec![member("ssd", ssd())])),
        WireConfig::default(),
    )
    .await
    .unwrap();
    let mut scheduler = server.client().await.unwrap();
    let mut stranger = Client::connect_from([127, 0, 0, 2].into(), server.address).await.unwrap();
    poisoned(&mut scheduler, &mut stranger).await;
    // A new connection of the scheduler is still the scheduler's.
    assert_eq!(post(&mut server.client().await.unwrap(), "/preempt", PREEMPT).await, VICTIM);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_another_name_do_not_decide_about_preemption() {
    let site = Site::new().unwrap();
    let (tls, _) = site.load().unwrap();
    let server = server_with(vec![member("ssd", ssd())], WireConfig { tls: Some(tls), ..WireConfig::default() }).await;
    let client = async |name| {
        let pair = site.clients.issue_named(name, Purpose::Client, 2099).unwrap();
        Client::connect_tls(server.address, site.client_with(Some(&pair), &[]).unwrap()).await.unwrap()
    };
    poisoned(&mut client("system:kube-scheduler").await, &mut client("system:node:n1").await).await;
}
