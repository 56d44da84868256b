//! A licence with 40 seats: no more pods hold one than there are, though kube-scheduler decides about many at once and the
//! leader is killed.

use std::{fs, path::Path};

use plimsoll_e2e::{Balancer, ControlPlane, may_write, node, pod};
use plimsoll_harness::{Plimsoll, tempdir, wait_until, workspace};
use serde_json::{Value, json};

const SEATS: usize = 40;

/// The large story is told by `PLIMSOLL_SEATS_NODES=200 PLIMSOLL_SEATS_PODS=400`.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Short, so that the test is; long enough for a busy machine.
const ARGS: [&str; 4] = ["--lease-duration", "4s", "--request-timeout", "2s"];

#[test]
#[allow(clippy::print_stdout, reason = "the numbers are what the story is told for")]
fn no_more_pods_hold_a_licence_than_it_has_seats_though_the_leader_is_killed() {
    let (nodes, pods) = (number("PLIMSOLL_SEATS_NODES", 50), number("PLIMSOLL_SEATS_PODS", 80));
    let (cluster, directory, balancer) =
        (ControlPlane::start().unwrap(), tempdir().unwrap(), Balancer::start().unwrap());
    lay_policy(directory.path());
    let all: Vec<Value> = (0..nodes).map(|at| node(&format!("n{at}"), "a", "lab")).collect();
    cluster.create(&json!({"apiVersion": "v1", "kind": "List", "items": all})).unwrap();
    let start = || {
        let gateway = cluster.gateway_with_kubeconfig(directory.path(), &ARGS).unwrap();
        balancer.add(&gateway);
        gateway
    };
    let mut gateways = vec![start(), start()];
    let leader = wait_until("a gateway to lead", || gateways.iter().position(may_write)).unwrap();
    let config = cluster.config_for_burst(&format!("http://{}", balancer.address), directory.path()).unwrap();
    assert!(config.contains("bindVerb: bind"), "{config}");
    let _scheduler = cluster.start_scheduler(&config).unwrap();
    let all: Vec<Value> = (0..pods).map(licensed).collect();
    cluster.create(&json!({"apiVersion": "v1", "kind": "List", "items": all})).unwrap();

    wait_until("some to be bound", || (bound(&cluster).len() >= SEATS / 4).then_some(())).unwrap();
    let refused = refusals(&gateways);
    gateways.remove(leader).signal("KILL").unwrap();
    gateways.push(start());
    wait_until("all seats to be taken", || (bound(&cluster).len() >= SEATS).then_some(())).unwrap();
    // Some give their seats back, and others take them.
    let gone = &bound(&cluster)[..SEATS / 4];
    let names: Vec<&str> =
        ["delete", "pod", "--wait=false"].into_iter().chain(gone.iter().map(String::as_str)).collect();
    cluster.kubectl(&names).unwrap();
    let is_refilled = || {
        let bound = bound(&cluster);
        assert!(bound.len() <= SEATS, "{} pods hold {SEATS} seats", bound.len());
        (bound.len() == SEATS && gone.iter().all(|name| !bound.contains(name))).then_some(())
    };
    wait_until("the seats to be taken again", is_refilled).unwrap();
    let refused = refused + refusals(&gateways);
    println!(
        "{pods} pods on {nodes} nodes: {SEATS} seats, never more; the leader was killed; {refused} refused at bind"
    );
}

/// The number of binds that policies have refused.
fn refusals(gateways: &[Plimsoll]) -> u64 {
    let of = |gateway: &Plimsoll| {
        let metrics = gateway.get_quickly("/metrics").ok()?.body;
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix(r#"plimsoll_binds_total{group="",outcome="refused"} "#))?;
        line.parse::<u64>().ok()
    };
    gateways.iter().filter_map(of).sum()
}

/// The names of the pods that have a node.
fn bound(cluster: &ControlPlane) -> Vec<String> {
    let lines = r#"{range .items[?(@.spec.nodeName)]}{.metadata.name}{"\n"}{end}"#;
    let names = cluster.kubectl(&["get", "pods", "--chunk-size=0", "-o", &format!("jsonpath={lines}")]).unwrap();
    names.lines().map(ToOwned::to_owned).collect()
}

fn lay_policy(directory: &Path) {
    let module = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/licence_seats.wasm");
    fs::copy(module, directory.join("seats.wasm")).unwrap();
    let settings = format!("{{label: licence, pool: example.com/pool, seats: {{matlab: {SEATS}}}}}");
    fs::write(directory.join("seats.yaml"), format!("settings: {settings}\n")).unwrap();
}

fn licensed(at: usize) -> Value {
    let mut pod = pod("default", &format!("p{at}"), "10m", &json!({}));
    pod["metadata"]["labels"]["licence"] = "matlab".into();
    pod
}
