//! A policy that fails, as its clients see it.

use plimsoll_contract::{
    client::Client,
    rules::{Fake, member},
};
use plimsoll_core::{Ask, FAULTS_TO_OPEN, MAX_REASON_BYTES, PodRead, Read, Value, Verdict};
use plimsoll_http::WireConfig;

use crate::world::server_with;

/// Fails about pods with the label `bad`, by a reason that is too long.
fn brittle() -> Fake {
    Fake::default().filter(|ask: &Ask, _| match ask.view.read(Read::Pod(PodRead::Label("bad"))) {
        Ok(Value::Text(_)) => Verdict::Unschedulable("x".repeat(MAX_REASON_BYTES + 1).into()),
        _ => Verdict::Fits,
    })
}

/// The error of a filter request about the pod with this UID.
async fn filter(client: &mut Client, uid: &str, labels: &str) -> String {
    let pod = format!(r#"{{"metadata":{{"name":"p","namespace":"d","uid":"{uid}","labels":{labels}}}}}"#);
    let request = format!(r#"{{"Pod":{pod},"Nodes":null,"NodeNames":["node-00000"]}}"#);
    client.post("/filter", request).await.unwrap().error().unwrap()
}

/// Decision 69.
#[tokio::test(flavor = "multi_thread")]
async fn one_pod_does_not_stop_a_policy_and_two_pods_do() {
    let server = server_with(vec![member("brittle", brittle())], WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let bad = r#"{"bad":""}"#;
    let output = filter(&mut client, "a", bad).await;
    assert!(output.starts_with("policy brittle failed to filter: output: "), "{output}");
    for _ in 1..3 * FAULTS_TO_OPEN {
        assert_eq!(filter(&mut client, "a", bad).await, output);
    }
    assert_eq!(filter(&mut client, "b", "{}").await, "");
    for fault in 0..FAULTS_TO_OPEN {
        let uid = ["c", "d"][fault as usize % 2];
        assert_eq!(filter(&mut client, uid, bad).await, output);
    }
    let open = filter(&mut client, "e", bad).await;
    assert!(open.starts_with("policy brittle failed to filter: circuit-open: too many faults in a row"), "{open}");
    // A cached answer needs no call.
    assert_eq!(filter(&mut client, "b", "{}").await, "");
}
