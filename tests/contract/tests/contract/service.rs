//! Requests that share the server: decisions off the async threads, bounded, and work after replies.

use std::{sync::Arc, time::Duration};

use plimsoll_contract::{
    check,
    rules::{Gate, member, shadow, ssd},
    server::{Server, gateway},
};
use plimsoll_core::{CallOf, Gateway, Member, Observer, Outcome, Roster, SystemClock};
use plimsoll_http::WireConfig;

use crate::world::{BY_NAME, BY_NAME_FILTERED, cluster, server_with};

const ONE_AT_A_TIME: fn() -> WireConfig = || WireConfig { max_decisions: 1, ..WireConfig::default() };

// One async thread: work that waits on it would hold up everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_waiting_policy_holds_up_nobody_else() {
    a_waiting_policy_holds_up_nobody().await;
}

#[tokio::test]
async fn a_waiting_policy_holds_up_no_runtime_of_one_thread() {
    a_waiting_policy_holds_up_nobody().await;
}

async fn a_waiting_policy_holds_up_nobody() {
    let gate: Arc<Gate> = Arc::default();
    let server = server_with(vec![member("gate", gate.policy())], WireConfig::default()).await;
    let mut slow = server.client().await.unwrap();
    let slow = tokio::spawn(async move { slow.post("/filter", BY_NAME).await });
    assert!(gate.reached(1).await);
    let mut other = server.client().await.unwrap();
    assert_eq!(other.post("/prioritize", r#"{"Pod":{},"NodeNames":[]}"#).await.unwrap().text(), "[]");
    gate.open();
    assert_eq!(slow.await.unwrap().unwrap().error().unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_waits_for_its_turn_until_its_time_is_over_and_no_longer() {
    let gate: Arc<Gate> = Arc::default();
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(plimsoll_core::NoObserver), Duration::from_millis(50));
    gateway.set_roster(Arc::new(Roster::of_root(vec![member("gate", gate.policy())])));
    gateway.set_cluster(cluster());
    let server = Server::start(gateway, ONE_AT_A_TIME()).await.unwrap();
    let post = |mut client: plimsoll_contract::client::Client| async move { client.post("/filter", BY_NAME).await };
    let first = tokio::spawn(post(server.client().await.unwrap()));
    assert!(gate.reached(1).await);
    let second = tokio::spawn(post(server.client().await.unwrap()));
    // The first holds the only turn, and goes on doing so.
    let error = check::refusal("filter", &second.await.unwrap().unwrap()).unwrap();
    assert_eq!(error, "the request's time was over before its turn: too many are being decided at once");
    assert_eq!(gate.entered(), 1);
    gate.open();
    first.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_group_is_refused_without_a_turn_and_without_a_look_at_the_body() {
    let gate: Arc<Gate> = Arc::default();
    let server = server_with(vec![member("gate", gate.policy())], ONE_AT_A_TIME()).await;
    let mut first = server.client().await.unwrap();
    let first = tokio::spawn(async move { first.post("/filter", BY_NAME).await });
    assert!(gate.reached(1).await);
    // The first holds the only turn.
    let mut other = server.client().await.unwrap();
    let reply = other.post("/gpu/prioritize", "no JSON").await.unwrap();
    assert_eq!(reply.status, 404);
    let text = reply.text();
    assert!(text.contains("there is no group 'gpu'"), "{text}");
    assert!(!first.is_finished());
    gate.open();
    assert_eq!(first.await.unwrap().unwrap().error().unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_does_not_wait_for_shadow_policies() {
    let gate: Arc<Gate> = Arc::default();
    let server = server_with(shadowed(&gate), WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    assert!(gate.reached(1).await);
    gate.open();
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_work_after_replies_is_dropped_and_counted() {
    let gate: Arc<Gate> = Arc::default();
    let server = server_with(shadowed(&gate), ONE_AT_A_TIME()).await;
    let mut client = server.client().await.unwrap();
    for _ in 0..4 {
        assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
        assert!(gate.reached(1).await);
    }
    // A fifth reply is only begun when the fourth was handed over, and its work dropped.
    client.post("/filter", BY_NAME).await.unwrap();
    assert!(server.heard.post_reply_work_dropped() >= 3, "{}", server.heard.post_reply_work_dropped());
    assert_eq!(gate.entered(), 1);
    gate.open();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_outside_of_any_policy_is_an_error_reply() {
    struct Panics;
    impl Observer for Panics {
        fn called(&self, _: CallOf<'_>, _: Outcome<'_>, _: Duration) {
            panic!("the observer fails");
        }
    }
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(Panics), Duration::from_secs(4));
    gateway.set_roster(Arc::new(Roster::of_root(vec![member("ssd", ssd())])));
    gateway.set_cluster(cluster());
    let server = Server::start(gateway, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    for (verb, status) in [("filter", 200), ("prioritize", 500)] {
        let reply = client.post(&format!("/{verb}"), BY_NAME).await.unwrap();
        assert_eq!(reply.status, status);
        let error = check::refusal(verb, &reply).unwrap();
        assert_eq!(error, "plimsoll failed on this request; its log says why");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_answers_below_its_name() {
    let group = plimsoll_core::Group::new(vec![member("ssd", ssd())]);
    let groups = [("".into(), plimsoll_core::Group::default()), ("gpu".into(), group)];
    let gateway = gateway(Roster::new(groups.into(), vec![]));
    gateway.set_cluster(cluster());
    let server = Server::start(gateway, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    for path in ["/gpu/filter", "//gpu//filter/"] {
        assert_eq!(client.post(path, BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
    }
    let root = client.post("/filter", BY_NAME).await.unwrap();
    assert_eq!(root.json().unwrap()["NodeNames"].as_array().unwrap().len(), 2);
    assert_eq!(server.heard.answers()[0], "gpu/filter 200 decided 2");
}

fn shadowed(gate: &Arc<Gate>) -> Vec<Arc<Member>> {
    vec![member("ssd", ssd()), shadow("shadow", gate.policy())]
}
