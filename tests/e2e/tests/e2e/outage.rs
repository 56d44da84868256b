//! plimsoll itself goes away, under a scheduler that cannot do without it.

use plimsoll_e2e::{ControlPlane, node, pod};
use plimsoll_harness::{ReservedPort, tempdir};
use serde_json::Value;

use crate::{lay_policies, populate};

/// `ignorable` is false: while nobody answers, nothing is scheduled, and nothing past the policies.
#[test]
fn a_killed_gateway_that_comes_back_loses_no_pod_and_binds_none_twice() {
    let (cluster, policies) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    populate(&cluster);
    lay_policies(policies.path());
    let port = ReservedPort::reserve().unwrap();
    let start = || cluster.gateway_at(&port.address().to_string(), policies.path(), &[]).unwrap();
    let gateway = start();
    let _scheduler = cluster.schedule_with(port.address(), policies.path(), &[]).unwrap();
    let create = |names: &[String]| names.iter().for_each(|name| cluster.create(&small(name)).unwrap());

    create(&names("before"));
    cluster.node_of("web", "before-0").unwrap();
    // Dropped is killed, as SIGKILL does.
    drop(gateway);
    create(&names("during"));
    let message = cluster.failure_of("web", "during-0").unwrap();
    assert!(message.contains("connection refused"), "{message}");
    let unbound = cluster.kubectl(&["get", "pod", "-n", "web", "during-0", "-o", "jsonpath={.spec.nodeName}"]).unwrap();
    assert_eq!(unbound, "", "it may not be scheduled past the policies");

    let _gateway = start();
    create(&names("after"));
    // kube-scheduler tries a pod that failed again when the cluster changes, or after some minutes.
    cluster.create_node(&node("wake", "c", "shared")).unwrap();
    for name in ["before", "during", "after"].into_iter().flat_map(names) {
        let node = cluster.node_of("web", &name).unwrap();
        assert!(["shared-a", "shared-b"].contains(&node.as_str()), "{name} is on {node}");
    }
    let scheduled = cluster.kubectl(&["get", "events", "-n", "web", "--field-selector=reason=Scheduled", "-o", NAMES]);
    let mut scheduled: Vec<String> = scheduled.unwrap().split_whitespace().map(str::to_owned).collect();
    let all = scheduled.len();
    scheduled.sort();
    scheduled.dedup();
    assert_eq!((scheduled.len(), all), (18, 18), "each pod was scheduled once: {scheduled:?}");
}

const NAMES: &str = "jsonpath={.items[*].involvedObject.name}";

fn names(stage: &str) -> Vec<String> {
    (0..6).map(|at| format!("{stage}-{at}")).collect()
}

fn small(name: &str) -> Value {
    pod("web", name, "100m", &Value::Null)
}
