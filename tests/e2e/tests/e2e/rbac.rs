//! The rights that `deploy/` grants are enough, and not more than that.

use std::{collections::BTreeSet, fs};

use plimsoll_e2e::{ControlPlane, chart, objects, pod, render, scheduler_config};
use plimsoll_harness::{Plimsoll, policies as samples, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{lay_policies, populate};

/// The rights that the chart's roles add to those of every account: resource, names, verbs.
const IN_ITS_NAMESPACE: [&str; 10] = [
    "csistoragecapacities.storage.k8s.io [] [plimsoll-wake] [patch]",
    "deviceclasses.resource.k8s.io [] [] [get list watch]",
    "leases.coordination.k8s.io [] [] [create]",
    "leases.coordination.k8s.io [] [plimsoll] [get update]",
    "namespaces [] [] [get list watch]",
    "nodes [] [] [get list watch]",
    "persistentvolumeclaims [] [] [get list watch]",
    "pods [] [] [get list watch]",
    "pods/binding [] [] [create]",
    "pods/status [] [] [patch]",
];

#[test]
fn the_chart_grants_what_plimsoll_needs_and_nothing_else() {
    let cluster = ControlPlane::start_with_rbac().unwrap();
    install(&cluster);
    assert_eq!(granted(&cluster, "plimsoll"), BTreeSet::from(IN_ITS_NAMESPACE.map(str::to_owned)));
    // Elsewhere it has no Lease, and wakes nobody.
    let is_elsewhere = |rule: &&&str| !rule.starts_with("leases") && !rule.starts_with("csistoragecapacities");
    let elsewhere = IN_ITS_NAMESPACE.iter().filter(is_elsewhere).map(|rule| (*rule).to_owned());
    assert_eq!(granted(&cluster, "default"), elsewhere.collect());
}

#[test]
fn a_second_scheduler_and_plimsoll_place_and_bind_with_their_own_accounts() {
    let (cluster, policies) = (ControlPlane::start_with_rbac().unwrap(), tempdir().unwrap());
    populate(&cluster);
    cluster.create(&plimsoll_sample::node(160)).unwrap();
    let mut config = scheduler_config(&install(&cluster));
    lay_policies(policies.path());
    for file in ["gpu-binpack.wasm", "gpu-binpack.yaml"] {
        fs::copy(samples().join(file), policies.path().join(file)).unwrap();
    }
    let account = cluster.kubeconfig_of("plimsoll", "plimsoll").unwrap();
    let args = ["--no-compile-cache", "--kubeconfig", account.to_str().unwrap(), "--lease-namespace", "plimsoll"];
    let gateway = Plimsoll::serve(policies.path(), &args).unwrap();
    wait_until("plimsoll to see the cluster", || (gateway.get("/readyz").ok()?.status == 200).then_some(())).unwrap();

    let account = cluster.kubeconfig_of("plimsoll", "plimsoll-scheduler").unwrap();
    config["extenders"][0]["urlPrefix"] = format!("http://{}", gateway.wire).into();
    config["clientConnection"] = json!({"kubeconfig": account});
    let _scheduler = cluster.start_scheduler(&config.to_string()).unwrap();

    // A pod that names no scheduler is the default one's, which does not run here.
    cluster.create(&pod("web", "another-schedulers", "1", &json!({}))).unwrap();
    cluster.create(&pod("web", "ours", "1", &json!({"schedulerName": "plimsoll-scheduler"}))).unwrap();
    let node = cluster.node_of("web", "ours").unwrap();
    assert!(["shared-a", "shared-b"].contains(&node.as_str()), "it is on {node}");
    let mut train = plimsoll_sample::pod("web", "train", 1);
    // Priorities are given by class.
    train["spec"]["priority"] = Value::Null;
    train["spec"]["schedulerName"] = "plimsoll-scheduler".into();
    cluster.create(&train).unwrap();
    assert_eq!(cluster.node_of("web", "train-1").unwrap(), plimsoll_sample::node_name(160));
    let device = "jsonpath={.metadata.annotations.example\\.com/gpu-device}";
    let device = cluster.kubectl(&["get", "pod", "-n", "web", "train-1", "-o", device]).unwrap();
    assert!(["0", "1"].contains(&device.as_str()), "plimsoll bound it with the device {device:?}");
    let of_others = ["get", "pod", "-n", "web", "another-schedulers", "-o", "jsonpath={.spec.nodeName}"];
    assert_eq!(cluster.kubectl(&of_others).unwrap(), "");
}

/// Applies what the chart renders where plimsoll may bind, with a second scheduler.
fn install(cluster: &ControlPlane) -> Vec<Value> {
    let directory = tempdir().unwrap();
    let file = directory.path().join("plimsoll.yaml");
    let manifest = render(Some(&chart().join("ci/trusted-network.yaml"))).unwrap();
    fs::write(&file, &manifest).unwrap();
    cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plimsoll"}})).unwrap();
    cluster.kubectl(&["apply", "--server-side", "--validate=strict", "-f", file.to_str().unwrap()]).unwrap();
    objects(&manifest).unwrap()
}

/// The rights of plimsoll's account in a namespace beyond those of any account.
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
