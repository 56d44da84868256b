//! The scenario of kube-scheduler's own integration test (`test/integration/scheduler/extender`): three
//! extenders, of which the second binds; here they are three groups of one plimsoll.

use std::fs;

use plimsoll_e2e::{ControlPlane, node, pod};
use plimsoll_harness::{guest, tempdir};
use serde_json::{Value, json};

/// Group, the machines that it takes, the best of them with its score, and the extender's own fields.
const GROUPS: [(&str, &str, &str, u32, &str); 3] = [
    ("one", "[machine1, machine2, machine3]", "machine2", 100, "weight: 3"),
    (
        "two",
        "[machine2, machine3, machine5]",
        "machine3",
        100,
        "weight: 4\n  bindVerb: bind\n  managedResources: [{name: foo.com/bar, ignoredByScheduler: true}]",
    ),
    ("three", "[machine1, machine2, machine3]", "machine2", 50, "weight: 10\n  nodeCacheCapable: true"),
];

#[test]
fn of_three_groups_the_second_binds_the_pods_that_it_manages() {
    let (cluster, policies) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    for number in 1..=5 {
        cluster.create_node(&node(&format!("machine{number}"), "a", "shared")).unwrap();
    }
    let config = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         clientConnection: {{kubeconfig: {}}}\nleaderElection: {{leaderElect: false}}\nextenders:\n",
        cluster.kubeconfig().display()
    );
    for (group, only, best, points, _) in GROUPS {
        let folder = policies.path().join(group);
        fs::create_dir(&folder).unwrap();
        fs::copy(guest("machines"), folder.join("machines.wasm")).unwrap();
        let settings = format!("settings: {{only: {only}, best: {best}, points: {points}, mark: {group}}}\n");
        fs::write(folder.join("machines.yaml"), settings).unwrap();
    }
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    let stanza = |(group, _, _, _, fields)| {
        let url = format!("http://{}/{group}", gateway.wire);
        format!("- urlPrefix: {url}\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  {fields}\n")
    };
    let stanzas = GROUPS.map(stanza).concat();
    let _scheduler = cluster.start_scheduler(&(config + &stanzas)).unwrap();

    let limits = json!({"containers": [{
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"limits": {"foo.com/bar": "1"}},
    }]});
    cluster.create(&pod("default", "managed", "100m", &limits)).unwrap();
    assert_eq!(cluster.node_of("default", "managed").unwrap(), "machine2");
    assert_eq!(bound_by(&cluster, "managed"), "two");
    let metrics = gateway.get("/metrics").unwrap().body;
    assert!(metrics.contains(r#"plimsoll_binds_total{group="two",outcome="bound"} 1"#), "{metrics}");

    // The second manages no such pod: kube-scheduler binds it, and nobody marks it.
    cluster.create(&pod("default", "plain", "100m", &Value::Null)).unwrap();
    assert_eq!(cluster.node_of("default", "plain").unwrap(), "machine2");
    assert_eq!(bound_by(&cluster, "plain"), "");
}

/// The mark of the group that bound a pod.
fn bound_by(cluster: &ControlPlane, pod: &str) -> String {
    let mark = r"jsonpath={.metadata.annotations.example\.com/bound-by}";
    cluster.kubectl(&["get", "pod", pod, "-o", mark]).unwrap()
}
