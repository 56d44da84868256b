//! Many binds at once, over HTTP and with real guests: no limit is passed, and no number is given twice.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use plimsoll_harness::{Client, FakeApi, Plimsoll, TempDir, guest, tempdir, wait_until};
use serde_json::{Value, json};

/// Binds under way at a time, each to a node of its own.
const CLIENTS: usize = 32;

struct Stage {
    api: FakeApi,
    gateway: Plimsoll,
    _policies: TempDir,
}

/// The outcome of all binds.
struct Outcome {
    /// The errors of those that failed.
    failed: Vec<String>,
    retries: u64,
    took: Duration,
}

// === impl Stage ===

impl Stage {
    fn set(policies: &[(&str, &str, String)], pods: impl Iterator<Item = Value>) -> Self {
        let directory = tempdir().unwrap();
        for (name, module, sidecar) in policies {
            lay(directory.path(), name, module, sidecar);
        }
        let nodes = (0..CLIENTS).map(|node| json!({"metadata": {"name": format!("n{node}")}}));
        let first =
            json!({"metadata": {"name": "first", "namespace": "ml", "uid": "first"}, "spec": {"containers": []}});
        let api = FakeApi::start(nodes, pods.chain([first])).unwrap();
        let kubeconfig = api.kubeconfig();
        let args = ["--no-compile-cache", "--lease-namespace", "default", "--lease-duration", "4s", "--kubeconfig"];
        let args = [&args[..], &[kubeconfig.to_str().unwrap()]].concat();
        let gateway = Plimsoll::serve(directory.path(), &args).unwrap();
        // A gateway that has just begun to lead lists the cluster before it binds.
        let body = json!({"PodName": "first", "PodNamespace": "ml", "PodUID": "first", "Node": "n0"});
        let is_bound = || gateway.ask("/bind", &body).ok()?["Error"].as_str().is_none_or(str::is_empty).then_some(());
        wait_until("the gateway to bind", is_bound).unwrap();
        Self { api, gateway, _policies: directory }
    }

    /// Binds this many pods, which kube-scheduler has decided about before; each client takes the next one.
    #[expect(clippy::disallowed_methods, reason = "the time is printed, and nothing is tested by it")]
    fn bind_all(&self, pods: usize) -> Outcome {
        let (next, start) = (AtomicUsize::new(0), Barrier::new(CLIENTS));
        let failed = thread::scope(|scope| {
            let bind = |client: usize| {
                let mut connection = Client::connect(self.gateway.wire).unwrap();
                let mut failed = Vec::new();
                start.wait();
                loop {
                    let pod = next.fetch_add(1, Ordering::Relaxed);
                    if pod >= pods {
                        return failed;
                    }
                    let (name, uid, node) = (format!("p{pod}"), format!("u{pod}"), format!("n{client}"));
                    let body = json!({"PodName": name, "PodNamespace": "ml", "PodUID": uid, "Node": node});
                    let reply = connection.post("/bind", body.to_string().as_bytes()).unwrap();
                    let reply: Value = serde_json::from_slice(reply).unwrap();
                    failed.extend(reply["Error"].as_str().filter(|error| !error.is_empty()).map(ToOwned::to_owned));
                }
            };
            let begun = Instant::now();
            let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || bind(client))).collect();
            let failed = clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>();
            (failed, begun.elapsed())
        });
        let metrics = self.gateway.get("/metrics").unwrap().body;
        let retries = metrics.lines().find_map(|line| line.strip_prefix("plimsoll_bind_retries_total "));
        let (failed, took) = failed;
        Outcome { failed, retries: retries.unwrap().parse().unwrap(), took }
    }

    fn placed(&self) -> Vec<Value> {
        let mut placed = Vec::new();
        self.api.each_placed_pod(|pod| placed.push(pod.clone()));
        placed.retain(|pod| pod["metadata"]["name"] != "first");
        placed
    }
}

fn lay(directory: &Path, name: &str, module: &str, sidecar: &str) {
    fs::copy(guest(module), directory.join(format!("{name}.wasm"))).unwrap();
    fs::write(directory.join(format!("{name}.yaml")), sidecar).unwrap();
}

fn pod(number: usize, labels: &Value) -> Value {
    json!({
        "metadata": {"name": format!("p{number}"), "namespace": "ml", "uid": format!("u{number}"), "labels": labels},
        "spec": {"containers": []},
    })
}

#[allow(clippy::print_stdout, reason = "the figures are what the story is told for")]
fn tell(what: &str, pods: usize, outcome: &Outcome) {
    let Outcome { failed, retries, took } = outcome;
    let per_second = pods as f64 / took.as_secs_f64();
    println!(
        "{what}: {pods} binds, {CLIENTS} at a time: {per_second:.0}/s, {retries} retries, {} refused",
        failed.len()
    );
}

#[test]
fn of_many_binds_at_once_no_more_succeed_than_a_filter_that_counts_allows() {
    let sidecar = "settings: {label: licence, in_cluster: 40}\n".to_owned();
    let pods = 96;
    let stage =
        Stage::set(&[("seats", "at_most", sidecar)], (0..pods).map(|pod| self::pod(pod, &json!({"licence": "x"}))));
    let outcome = stage.bind_all(pods);
    tell("a limit of the cluster", pods, &outcome);
    assert_eq!(stage.placed().len(), 40);
    let expected = "seats: the cluster has its pods (asked again at bind: the cluster has changed since the filter)";
    assert!(outcome.failed.iter().all(|error| error == expected), "{:?}", outcome.failed);
    assert_eq!(outcome.failed.len(), pods - 40);
}

#[test]
fn two_policies_that_read_each_others_annotations_give_no_number_twice() {
    let sidecar = |own: &str, other: &str| {
        format!(
            "timeout: 1s\nmatch: {{podSelector: {{matchLabels: {{kind: {own}}}}}}}\nsettings: {{own: example.com/{own}, other: example.com/{other}, most: 1000}}\n"
        )
    };
    let policies = [("a", "numbers", sidecar("a", "b")), ("b", "numbers", sidecar("b", "a"))];
    let pods = 96;
    let kind = |pod: usize| if pod.is_multiple_of(2) { "a" } else { "b" };
    let stage = Stage::set(&policies, (0..pods).map(|pod| self::pod(pod, &json!({"kind": kind(pod)}))));
    let outcome = stage.bind_all(pods);
    tell("two policies that read each other's annotations", pods, &outcome);
    assert_eq!(outcome.failed, Vec::<String>::new());
    let placed = stage.placed();
    let number = |pod: &Value| {
        let annotations = pod["metadata"]["annotations"].as_object().unwrap();
        annotations.values().next().unwrap().as_str().unwrap().parse::<usize>().unwrap()
    };
    let numbers: BTreeSet<usize> = placed.iter().map(number).collect();
    assert_eq!((placed.len(), numbers.len()), (pods, pods));
    assert_eq!(numbers.last(), Some(&(pods - 1)), "and none is left out");
}
