//! What `deploy/` offers is accepted by a real API server.

use plimsoll_e2e::ControlPlane;
use plimsoll_harness::workspace;

#[test]
fn the_api_server_accepts_every_object_of_the_deployment() {
    let cluster = ControlPlane::start().unwrap();
    let manifest = workspace().join("deploy/plimsoll.yaml");
    let apply = |mode: &str| {
        cluster.kubectl(&["apply", "--server-side", "--validate=strict", mode, "-f", manifest.to_str().unwrap()])
    };
    apply("--dry-run=none").unwrap();
    // Once more, now that the namespace is there: nothing is different.
    let applied = apply("--dry-run=server").unwrap();
    assert_eq!(applied.lines().count(), 4, "{applied}");
}
