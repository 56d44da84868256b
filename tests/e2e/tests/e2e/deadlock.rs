//! An extender that is down, and the ways in which its own pods are scheduled all the same: `deploy/README.md`.

use std::{fs, net::SocketAddr};

use plimsoll_e2e::pod;
use plimsoll_harness::{policies, tempdir};
use serde_json::json;

use crate::{lay_policies, with_nodes};

#[test]
fn each_recipe_of_the_page_schedules_a_pod_while_plimsoll_is_down() {
    let (cluster, for_all, for_gpus) = (with_nodes(), tempdir().unwrap(), tempdir().unwrap());
    lay_policies(for_all.path());
    for file in ["gpu-binpack.wasm", "gpu-binpack.yaml"] {
        fs::copy(policies().join(file), for_gpus.path().join(file)).unwrap();
    }
    // Nobody listens on the port of the discard protocol.
    let down: SocketAddr = ([127, 0, 0, 1], 9).into();
    let create = |name: &str| cluster.create(&pod("web", name, "100m", &json!({}))).unwrap();

    // Without a recipe the pod waits, as plimsoll's own would.
    let scheduler = cluster.schedule_with(down, for_all.path(), &[]).unwrap();
    create("plimsoll-0");
    let message = cluster.failure_of("web", "plimsoll-0").unwrap();
    assert!(message.contains("connection refused"), "{message}");
    drop(scheduler);

    let scheduler = cluster.schedule_with(down, for_gpus.path(), &[]).unwrap();
    create("managed-resources");
    cluster.node_of("web", "managed-resources").unwrap();
    drop(scheduler);

    let scheduler = cluster.schedule_with(down, for_all.path(), &["--ignorable"]).unwrap();
    create("ignorable");
    cluster.node_of("web", "ignorable").unwrap();
    drop(scheduler);

    let another = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let client = format!(
        "leaderElection: {{leaderElect: false}}\nclientConnection: {{kubeconfig: {}}}\n",
        cluster.kubeconfig().display()
    );
    let profiles = "profiles: [{schedulerName: without-extenders}]\n";
    let _scheduler = cluster.start_scheduler(&format!("{another}{client}{profiles}")).unwrap();
    cluster.create(&pod("web", "another", "100m", &json!({"schedulerName": "without-extenders"}))).unwrap();
    cluster.node_of("web", "another").unwrap();
}
