//! Several gateways behind one address: one of them binds, and no device is given twice when it dies or freezes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use plimsoll_e2e::{Balancer, ControlPlane, may_write, wait_for_bound};
use plimsoll_harness::{Plimsoll, policies, tempdir, wait_until};
use serde_json::{Value, json};

const NAMESPACE: &str = "gpu";
const NODES: usize = 64;
const DEVICES: u64 = 8;
const GI: u64 = 1 << 30;
/// The memory of each device.
const DEVICE_MEMORY: u64 = 16 * GI;

/// Short, so that the test is; long enough for a busy machine.
const ARGS: [&str; 4] = ["--lease-duration", "4s", "--request-timeout", "2s"];

/// The pods that fill one node of a pool: their number, and their size in Gi.
///
/// They fill it in whatever order they come: every size divides the next, and in a pool of nodes that compete for pods
/// all pods are of one size. Nodes of pools with several sizes have pools of their own.
const WHOLE: &[(usize, u64)] = &[(8, 16)];
const HALVES: &[(usize, u64)] = &[(16, 8)];
const MIXED: &[(usize, u64)] = &[(4, 16), (4, 8), (4, 4), (8, 2)];

/// A cluster whose GPUs are to be filled, a scheduler, and gateways behind one address.
struct Stage {
    // Dropped first to last: the scheduler and the gateways before what they talk to.
    _scheduler: plimsoll_e2e::Scheduler,
    balancer: Balancer,
    gateways: Vec<Plimsoll>,
    pods: usize,
    directory: plimsoll_harness::TempDir,
    cluster: ControlPlane,
}

/// The API server's counts in the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    pods: usize,
    lost: usize,
    /// Times that a pod was told that no node has room. There is room for each.
    unschedulable: usize,
    bound_twice: usize,
    half_allocated: usize,
    over_allocated_devices: usize,
    full_devices: usize,
}

#[test]
fn devices_are_filled_exactly_though_the_leader_is_killed_twice() {
    let mut stage = Stage::set();
    let mut kills = 0;
    for share in [4, 2] {
        stage.wait_for_bound(stage.pods / share);
        let leader = stage.leader();
        stage.gateways.remove(leader).signal("KILL").unwrap();
        kills += 1;
        stage.add_gateway();
    }
    stage.finish("kills", kills);
}

#[test]
fn devices_are_filled_exactly_though_the_leader_is_frozen_past_its_lease() {
    let stage = Stage::set();
    let mut freezes = 0;
    for share in [4, 2] {
        stage.wait_for_bound(stage.pods / share);
        let frozen = stage.leader();
        stage.gateways[frozen].signal("STOP").unwrap();
        freezes += 1;
        let another = || stage.leads().into_iter().find(|index| *index != frozen);
        wait_until("another gateway to lead", another).unwrap();
        stage.gateways[frozen].signal("CONT").unwrap();
        stage.gateways[frozen]
            .wait_for_log("the frozen leader to see that it leads no more", |line| {
                line["message"].as_str().is_some_and(|message| message.starts_with("this gateway leads no more"))
            })
            .unwrap();
    }
    stage.finish("freezes", freezes);
}

#[test]
fn a_leader_that_is_told_to_stop_hands_over_at_once() {
    let cluster = ControlPlane::start().unwrap();
    let policies = tempdir().unwrap();
    let start =
        || cluster.gateway_with_kubeconfig(policies.path(), &["--lease-duration", "60s", "--allow-empty"]).unwrap();
    // Nobody may wait for a minute: the Lease is there, and nobody holds it.
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "plimsoll", "namespace": "default"}});
    cluster.create(&lease).unwrap();
    let mut first = start();
    wait_until("the first to lead", || may_write(&first).then_some(())).unwrap();
    let second = start();
    let follows = || leader_page(&second).filter(|page| page["state"] == "follows");
    let page = wait_until("the second to follow", follows).unwrap();
    assert_eq!(page["url"], format!("http://{}", first.wire));
    first.signal("TERM").unwrap();
    assert!(first.wait().unwrap().success());
    // Well within its Lease.
    wait_until("the second to lead", || may_write(&second).then_some(())).unwrap();
    let holder = cluster.kubectl(&["get", "lease", "plimsoll", "-o", "jsonpath={.spec.holderIdentity}"]).unwrap();
    assert_eq!(leader_page(&second).unwrap()["identity"], holder);
}

// === impl Stage ===

impl Stage {
    /// Everything is there, and every pod is created at once.
    fn set() -> Self {
        let cluster = ControlPlane::start().unwrap();
        let (directory, balancer) = (tempdir().unwrap(), Balancer::start().unwrap());
        lay_policy(directory.path());
        cluster.create(&json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": NAMESPACE}})).unwrap();
        let (nodes, pods) = objects();
        cluster.create(&list(&nodes)).unwrap();
        let config = cluster.config_for_burst(&format!("http://{}", balancer.address), directory.path()).unwrap();
        let scheduler = cluster.start_scheduler(&config).unwrap();
        let count = pods.len();
        let mut stage = Self { _scheduler: scheduler, balancer, gateways: vec![], pods: count, directory, cluster };
        stage.add_gateway();
        stage.add_gateway();
        stage.cluster.create(&list(&pods)).unwrap();
        stage
    }

    fn add_gateway(&mut self) {
        let gateway = self.cluster.gateway_with_kubeconfig(self.directory.path(), &ARGS).unwrap();
        self.balancer.add(&gateway);
        self.gateways.push(gateway);
    }

    /// Those that say that they lead; one that is frozen says nothing.
    fn leads(&self) -> Vec<usize> {
        (0..self.gateways.len()).filter(|index| may_write(&self.gateways[*index])).collect()
    }

    fn leader(&self) -> usize {
        wait_until("a gateway to lead", || self.leads().first().copied()).unwrap()
    }

    fn wait_for_bound(&self, count: usize) {
        wait_for_bound(&self.gateways, count).unwrap();
    }

    /// Waits until everything is bound, and checks every device.
    #[allow(clippy::print_stdout, reason = "the numbers are what the story is told for")]
    fn finish(&self, what: &str, count: usize) {
        self.wait_for_bound(self.pods);
        let tally = self.tally();
        let Tally { pods, lost, unschedulable, bound_twice, half_allocated, over_allocated_devices, full_devices } =
            tally;
        println!(
            "pods {pods}, {what} {count}, bound twice {bound_twice}, lost {lost}, unschedulable {unschedulable}, half \
             allocated {half_allocated}, over-allocated devices {over_allocated_devices}, full devices {full_devices}"
        );
        let expected = Tally { pods: self.pods, full_devices: NODES * DEVICES as usize, ..Tally::default() };
        assert_eq!(tally, expected);
    }

    fn tally(&self) -> Tally {
        let get = |what: &str, selector: &str| -> Vec<Value> {
            let text = self.cluster.kubectl(&["get", what, "-n", NAMESPACE, selector, "-o", "json"]).unwrap();
            let list: Value = serde_json::from_str(&text).unwrap();
            list["items"].as_array().unwrap().clone()
        };
        let pods = get("pods", "--chunk-size=0");
        let mut tally = Tally { pods: pods.len(), ..Tally::default() };
        let mut devices: BTreeMap<(String, String), u64> = BTreeMap::new();
        for pod in &pods {
            let annotations = &pod["metadata"]["annotations"];
            let (node, device) = (&pod["spec"]["nodeName"], &annotations["example.com/gpu-device"]);
            tally.lost += usize::from(node.is_null());
            tally.half_allocated += usize::from(node.is_null() != device.is_null());
            if let (Some(node), Some(device)) = (node.as_str(), device.as_str()) {
                let gi: u64 =
                    annotations["example.com/gpu-mem"].as_str().unwrap().trim_end_matches("Gi").parse().unwrap();
                *devices.entry((node.to_owned(), device.to_owned())).or_default() += gi * GI;
            }
        }
        tally.over_allocated_devices = devices.values().filter(|used| **used > DEVICE_MEMORY).count();
        tally.full_devices = devices.values().filter(|used| **used == DEVICE_MEMORY).count();
        let failed = get("events", "--field-selector=reason=FailedScheduling");
        let is_unschedulable =
            |event: &&Value| event["message"].as_str().is_some_and(|text| text.contains("nodes are available"));
        tally.unschedulable = failed.iter().filter(is_unschedulable).count();
        let mut scheduled = BTreeSet::new();
        for event in get("events", "--field-selector=reason=Scheduled") {
            let again = !scheduled.insert(event["involvedObject"]["uid"].to_string());
            tally.bound_twice += usize::from(again || event["count"].as_u64().unwrap_or(1) > 1);
        }
        tally
    }
}

fn leader_page(gateway: &Plimsoll) -> Option<Value> {
    serde_json::from_str(&gateway.get_quickly("/api/leader").ok()?.body).ok()
}

fn lay_policy(directory: &Path) {
    fs::copy(policies().join("gpu-binpack.wasm"), directory.join("gpu-binpack.wasm")).unwrap();
    // Pods say what they need in an annotation, so that kube-scheduler itself does not count.
    fs::write(directory.join("gpu-binpack.yaml"), "mode: enforce\n").unwrap();
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// Nodes, and pods that fill them; sizes come mixed.
fn objects() -> (Vec<Value>, Vec<Value>) {
    let (mut nodes, mut pods) = (vec![], vec![]);
    for index in 0..NODES {
        let (pool, fill) = match index {
            0..16 => ("whole".to_owned(), WHOLE),
            16..48 => ("halves".to_owned(), HALVES),
            _ => (format!("mixed-{index}"), MIXED),
        };
        nodes.push(node(index, &pool));
        for (count, gi) in fill {
            for number in 0..*count {
                pods.push((number * 7 + index, pod(&format!("{pool}-{index}-{gi}-{number}"), &pool, *gi)));
            }
        }
    }
    pods.sort_by_key(|(order, _)| *order);
    (nodes, pods.into_iter().map(|(_, pod)| pod).collect())
}

fn node(index: usize, pool: &str) -> Value {
    let resources = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
    let devices = vec![format!("{}Gi", DEVICE_MEMORY / GI); DEVICES as usize].join(",");
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": format!("gpu-{index}"),
            "labels": {"pool": pool},
            "annotations": {"example.com/gpu-devices": devices},
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

fn pod(name: &str, pool: &str, gi: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": {"example.com/gpu-mem": format!("{gi}Gi")}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"pool": pool},
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "10m"}}}],
        },
    })
}
