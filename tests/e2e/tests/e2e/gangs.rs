//! A gang under a filter that counts is bound whole or not at all.

use std::{collections::BTreeSet, fs};

use plimsoll_e2e::{ControlPlane, node, pod, skip_before};
use plimsoll_harness::{tempdir, wait_until};
use serde_json::{Value, json};

use crate::volumes::ONE;

const MEMBERS: usize = 4;
const RUNS: usize = 3;

fn get(cluster: &ControlPlane, args: &[&str]) -> Value {
    let text = cluster.kubectl(&[&["get", "-o", "json"], args].concat()).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Creates a gang, waits until so many members are bound, or none after an attempt, and returns their nodes.
fn nodes_of_gang(cluster: &ControlPlane, name: &str, bound: usize) -> Vec<String> {
    let group = json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"schedulingPolicy": {"gang": {"minCount": MEMBERS}}}});
    let member = |at| pod("default", &format!("{name}-{at}"), "1", &json!({"schedulingGroup": {"podGroupName": name}}));
    let items: Vec<Value> = [group].into_iter().chain((0..MEMBERS).map(member)).collect();
    cluster.create(&json!({"apiVersion": "v1", "kind": "List", "items": items})).unwrap();
    let nodes = || -> Vec<String> {
        let pods = get(cluster, &["pods"])["items"].take();
        pods.as_array().unwrap().iter().filter_map(|pod| Some(pod["spec"]["nodeName"].as_str()?.to_owned())).collect()
    };
    let is_refused = || get(cluster, &["podgroup", name])["status"]["conditions"][0]["status"] == "False";
    let is_decided = || (if bound == 0 { is_refused() } else { nodes().len() >= bound }).then_some(());
    wait_until("the gang to be bound or refused", is_decided).unwrap();
    let nodes = nodes();
    cluster.kubectl(&["delete", "pods", "--all", "--grace-period=0", "--force"]).unwrap();
    nodes
}

#[test]
fn a_gang_that_fits_is_bound_whole_and_one_that_does_not_fit_not_at_all() {
    if skip_before(37, "has another API of pod groups") {
        return;
    }
    let (cluster, policies) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    fs::write(policies.path().join("one.wasm"), plimsoll_guests::compile("one", ONE)).unwrap();
    fs::write(policies.path().join("one.yaml"), "gang: exact\n").unwrap();
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    gateway.wait_for_log("the gateway to bind", |line| line["message"] == "this gateway leads").unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &[]).unwrap();
    for (nodes, bound) in [(0..MEMBERS - 1, 0), (MEMBERS - 1..MEMBERS + 2, MEMBERS)] {
        for at in nodes {
            cluster.create_node(&node(&format!("n{at}"), "a", "shared")).unwrap();
        }
        for run in 0..RUNS {
            let nodes = nodes_of_gang(&cluster, &format!("gang-{bound}-{run}"), bound);
            let distinct: BTreeSet<&String> = nodes.iter().collect();
            assert_eq!((nodes.len(), distinct.len()), (bound, bound), "{nodes:?}");
        }
    }
    let page = gateway.get("/metrics").unwrap().body;
    assert!(!page.contains(r#"plimsoll_binds_total{group="",outcome="refused"}"#), "{page}");
}
