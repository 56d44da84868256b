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
use plimsoll_core::{Cluster, Node, Placed, Pod, SchedulerFilters, Slot};
use plimsoll_harness::{skip, workspace};
use serde_json::{Value, json};

/// Pods; each is asked about four nodes.
const PODS: &str = "1000";

#[test]
fn nodes_are_rejected_as_the_plugins_of_kube_scheduler_reject_them() {
    let seed = env::var("PLIMSOLL_SEED").unwrap_or_else(|_| (RandomState::new().hash_one(0) >> 1).to_string());
    println!("PLIMSOLL_SEED={seed} runs the same again");
    let mut go = Command::new("go");
    go.current_dir(workspace().join("tests/e2e/control-plane"));
    // Like the control plane, so that Go compiles the packages of both once.
    let output = match go.args(["run", "-trimpath", "-buildvcs=false", "./filters", &seed, PODS]).output() {
        Ok(output) => output,
        Err(error) => return skip(&format!("go does not run ({error}); install Go 1.26 or newer (https://go.dev/dl)")),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut compared, mut differences) = (BTreeMap::<String, usize>::new(), Vec::new());
    for line in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
        let line = line.unwrap();
        let (expected, own) = (&line["Rejection"], rejection(&line));
        *compared.entry(expected["Plugin"].as_str().unwrap_or("fits").to_owned()).or_default() += 1;
        if own != *expected {
            differences.push(format!("{own}, expected {expected}: {line}"));
        }
    }
    println!("{compared:?}");
    assert!(differences.is_empty(), "{} differences, such as\n{}", differences.len(), differences[0]);
    assert_eq!((compared.len(), compared.values().sum()), (7, 4_000), "{compared:?}");
}

fn rejection(line: &Value) -> Value {
    let bytes = |object: &Value| Bytes::from(object.to_string());
    let placed = line["Placed"].as_array().into_iter().flatten();
    let placed = placed.map(|pod| Arc::new(Pod::placed_from_json(&bytes(pod)).unwrap())).collect();
    let slot = Slot {
        node: Arc::new(Node::from_json(bytes(&line["Node"])).unwrap()),
        placed: Some(Arc::new(Placed::new(placed))),
    };
    let (pod, ignored) = (Pod::from_json(bytes(&line["Pod"])).unwrap(), ["x.com/ignored".to_owned()]);
    let Some(rejection) = SchedulerFilters::new(&pod, &Cluster::default(), &ignored).unwrap().rejection(&slot) else {
        return Value::Null;
    };
    let mut reasons = rejection.reasons;
    reasons.sort_unstable();
    json!({"Plugin": rejection.plugin, "Reasons": reasons, "Unresolvable": rejection.unresolvable})
}
