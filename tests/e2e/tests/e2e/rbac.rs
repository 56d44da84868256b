//! What `deploy/` grants is enough, and not more than that.

use std::{collections::BTreeSet, fs};

use plimsoll_e2e::{ControlPlane, chart, render};
use plimsoll_harness::{tempdir, workspace};
use serde_json::json;

/// What the chart's roles add to what every account may do: resource, names, verbs.
const IN_ITS_NAMESPACE: [&str; 5] = [
    "leases.coordination.k8s.io [] [] [create]",
    "leases.coordination.k8s.io [] [plimsoll] [get update]",
    "nodes [] [] [get list watch]",
    "pods [] [] [get list watch]",
    "pods/binding [] [] [create]",
];

#[test]
fn the_chart_grants_what_plimsoll_needs_and_nothing_else() {
    let cluster = ControlPlane::start_with_rbac().unwrap();
    install(&cluster);
    assert_eq!(granted(&cluster, "plimsoll"), BTreeSet::from(IN_ITS_NAMESPACE.map(str::to_owned)));
    // Elsewhere it has no Lease.
    let elsewhere = IN_ITS_NAMESPACE.iter().filter(|rule| !rule.starts_with("leases")).map(|rule| (*rule).to_owned());
    assert_eq!(granted(&cluster, "default"), elsewhere.collect());
}

/// Applies what the chart renders with bind, and the second scheduler.
fn install(cluster: &ControlPlane) {
    let directory = tempdir().unwrap();
    let manifest = directory.path().join("plimsoll.yaml");
    fs::write(&manifest, render(Some(&chart().join("ci/bind.yaml"))).unwrap()).unwrap();
    cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plimsoll"}})).unwrap();
    for file in [manifest, workspace().join("deploy/second-scheduler.yaml")] {
        cluster.kubectl(&["apply", "--server-side", "--validate=strict", "-f", file.to_str().unwrap()]).unwrap();
    }
}

/// What plimsoll's account may do in a namespace beyond what any account may.
fn granted(cluster: &ControlPlane, namespace: &str) -> BTreeSet<String> {
    let list = |account: &str| {
        let account = format!("--as=system:serviceaccount:plimsoll:{account}");
        let groups = ["--as-group=system:serviceaccounts", "--as-group=system:authenticated"];
        let args = ["auth", "can-i", "--list", "--namespace", namespace, &account, groups[0], groups[1]];
        let printed = cluster.kubectl(&args).unwrap();
        printed
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<BTreeSet<_>>()
    };
    list("plimsoll").difference(&list("nobody")).cloned().collect()
}
