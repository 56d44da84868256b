//! A ConfigMap is read once, and a refusal is told in the words of the API server.

use plimsoll_cluster::{ApiServer, Credentials};
use plimsoll_harness::FakeApi;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn the_entries_of_a_config_map_are_read_or_the_refusal_is_told() {
    let api = FakeApi::start([], []).unwrap();
    api.put_config_map("finance", "budgets", json!({"team-a": "100", "note": "a\nb\n"}));
    let server = ApiServer::connect(&Credentials::File(api.kubeconfig()), None).unwrap();
    let entries = server.config_map("finance", "budgets").await.unwrap();
    assert_eq!(entries.get("team-a").map(String::as_str), Some("100"));
    assert_eq!(entries.len(), 2);
    let absent = server.config_map("finance", "other").await.unwrap_err();
    assert_eq!(absent, "the API server answered 404: configmaps \"other\" not found");
    api.fail_at("configmaps", 403);
    let refused = server.config_map("finance", "budgets").await.unwrap_err();
    assert_eq!(refused, "the API server answered 403: the test wants it so");
}
