//! kube-scheduler's own filters as `plimsoll run` shows them are those of its own code: `tests/e2e/control-plane/filters`,
//! a program in Go.

use std::{
    collections::BTreeMap,
    env,
    hash::{BuildHasher, RandomState},
    process::Command,
    sync::Arc,
};

use bytes::Bytes;
use plimsoll_core::{Cluster, Namespace, Node, Pod, SchedulerFilters, SchedulerRejection};
use plimsoll_harness::{skip, workspace};
use serde_json::{Value, json};

/// The nodes that each pod is asked about.
const NODES: usize = 4;

#[test]
fn nodes_are_rejected_as_the_plugins_of_kube_scheduler_reject_them() {
    let seed = env::var("PLIMSOLL_SEED").unwrap_or_else(|_| (RandomState::new().hash_one(0) >> 1).to_string());
    println!("PLIMSOLL_SEED={seed} runs the same again");
    let pairs = env::var("PLIMSOLL_ORACLE_NODES").map_or(4_000, |text| text.parse::<usize>().unwrap());
    let pods = pairs.div_ceil(NODES);
    let mut go = Command::new("go");
    go.current_dir(workspace().join("tests/e2e/control-plane"));
    go.args(["run", "-trimpath", "-buildvcs=false", "./filters", &seed, &pods.to_string()]);
    // Like the control plane, so that Go compiles the packages of both once.
    let output = match go.output() {
        Ok(output) => output,
        Err(error) => return skip(&format!("go does not run ({error}); install Go 1.26 or newer (https://go.dev/dl)")),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut compared, mut differences) = (BTreeMap::<String, usize>::new(), Vec::new());
    for line in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
        let line = line.unwrap();
        let expected = line["Rejections"].as_array().unwrap();
        for (at, (own, expected)) in rejections(&line).into_iter().zip(expected).enumerate() {
            *compared.entry(kind(expected)).or_default() += 1;
            if own != *expected {
                differences.push(format!("node {at}: {own}, expected {expected}: {line}"));
            }
        }
    }
    println!("{compared:#?}");
    assert!(differences.is_empty(), "{} differences, such as\n{}", differences.len(), differences[0]);
    assert_eq!((compared.len(), compared.values().sum()), (12, pods * NODES), "{compared:?}");
}

/// The plugin, with the reason where it has several that name no resource.
fn kind(rejection: &Value) -> String {
    match rejection["Plugin"].as_str() {
        None => "fits".to_owned(),
        Some("NodeResourcesFit") => "NodeResourcesFit".to_owned(),
        Some(plugin) => format!("{plugin}: {}", rejection["Reasons"][0].as_str().unwrap()),
    }
}

/// What is said of each node.
fn rejections(line: &Value) -> Vec<Value> {
    let bytes = |object: &Value| Bytes::from(object.to_string());
    let all = |key: &str| line[key].as_array().into_iter().flatten().map(bytes);
    let nodes = all("Nodes").map(|node| Node::from_json(node).unwrap()).collect();
    let placed = all("Placed").map(|pod| Pod::placed_from_json(&pod).unwrap()).collect();
    let namespaces = all("Namespaces").map(|namespace| Arc::new(Namespace::from_json(&namespace).unwrap()));
    let namespaces = namespaces.map(|namespace| (Arc::clone(namespace.name()), namespace)).collect();
    let cluster = Cluster::from_objects(nodes, placed).with_namespaces(Some(Arc::new(namespaces)));
    let pod = Pod::from_json(bytes(&line["Pod"])).unwrap();
    let filters = SchedulerFilters::new(&pod, &cluster, &["x.com/ignored".to_owned()]).unwrap();
    let json = |SchedulerRejection { plugin, reasons, unresolvable }: SchedulerRejection<'_>| {
        let mut reasons = reasons.into_owned();
        reasons.sort_unstable();
        json!({"Plugin": plugin, "Reasons": reasons, "Unresolvable": unresolvable})
    };
    cluster.slots().iter().map(|slot| filters.rejection(slot).map_or(Value::Null, json)).collect()
}
