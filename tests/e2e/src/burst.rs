//! A burst of pods under a filter "at most 4 pods of this app on a node".

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{Plimsoll, guest, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{Balancer, ControlPlane};

/// The number of pods that a node takes.
const MOST: usize = 4;

/// The pause between two looks at how far the pods are: more would take the machine away from those who work.
const LOOK: Duration = Duration::from_millis(50);

/// A burst that is not over by then never will be.
const PATIENCE: Duration = Duration::from_mins(5);

/// A cluster, and pods that all wait when the scheduler starts.
#[derive(Debug, Clone, Copy)]
pub struct Burst {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of pods.
    pub pods: usize,
    /// Whether the policy is the limit; otherwise it reads a label of the node.
    pub is_limited: bool,
    /// The number of replicas.
    pub replicas: usize,
    /// Whether the leader is killed when half of the pods are bound, and replaced.
    pub kills: bool,
}

/// The result of a burst.
#[derive(Debug, Clone, Copy)]
pub struct BurstOutcome {
    /// The time from the first bound pod to the last.
    pub took: Duration,
    /// Pods beyond the limit of their nodes.
    pub too_many: usize,
    /// The most pods of one node.
    pub most: usize,
    /// Binds that a policy refused.
    pub refused: u64,
    /// Binds that policies were asked about again.
    pub retries: u64,
    /// Waits of filters.
    pub waits: u64,
    /// The time of all waits, in milliseconds.
    pub waited_ms: f64,
    /// Bind calls that were waited for in vain.
    pub missed: u64,
}

// === impl Burst ===

impl Burst {
    /// A burst under the limit, with one gateway that binds.
    pub const fn of(nodes: usize, pods: usize) -> Self {
        Self { nodes, pods, is_limited: true, replicas: 1, kills: false }
    }

    /// Runs it on a control plane of its own.
    ///
    /// # Errors
    /// If something does not start, or pods stay unbound.
    pub fn run(self) -> Result<BurstOutcome> {
        let (cluster, policies, balancer) = (ControlPlane::start()?, tempdir()?, Balancer::start_sticky()?);
        self.lay_policy(policies.path())?;
        let list = |items: Vec<Value>| json!({"apiVersion": "v1", "kind": "List", "items": items});
        cluster.create(&list((0..self.nodes).map(node).collect()))?;
        let start = || -> Result<Plimsoll> {
            cluster.gateway_with_kubeconfig(policies.path(), &["--lease-duration", "4s", "--request-timeout", "2s"])
        };
        let mut gateways = (0..self.replicas).map(|_| start()).collect::<Result<Vec<_>>>()?;
        wait_until("a gateway to lead", || gateways.iter().position(may_write))?;
        // The scheduler asks the last one, which follows: it forwards the binds.
        gateways.iter().rev().for_each(|gateway| balancer.add(gateway));
        cluster.create(&list((0..self.pods).map(pod).collect()))?;
        let mut counted = Counts::default();
        let _scheduler = cluster.start_scheduler(&scheduler_config(&cluster, &balancer))?;
        let began = wait_for_bound(&gateways, 1)?;
        if self.kills {
            wait_for_bound(&gateways, self.pods / 2)?;
            let leader = gateways.iter().position(may_write).context("no gateway leads")?;
            counted.add(&gateways[leader])?;
            gateways.remove(leader).signal("KILL")?;
            gateways.push(start()?);
            gateways.last().into_iter().for_each(|gateway| balancer.add(gateway));
        }
        let ended = wait_for_bound(&gateways, self.pods)?;
        gateways.iter().try_for_each(|gateway| counted.add(gateway))?;
        let placed = placed(&cluster)?;
        ensure!(placed.values().sum::<usize>() == self.pods, "pods stayed unbound: {placed:?}");
        Ok(counted.outcome(ended - began, &placed))
    }

    fn lay_policy(self, directory: &Path) -> Result<()> {
        let (module, sidecar) = if self.is_limited {
            ("at_most", format!("settings: {{label: app, on_node: {MOST}}}\n"))
        } else {
            ("zone_drain_v1", "mode: enforce\n".to_owned())
        };
        fs::copy(guest(module), directory.join("rule.wasm"))?;
        Ok(fs::write(directory.join("rule.yaml"), sidecar)?)
    }
}

/// The sums of the metrics of all gateways.
#[derive(Debug, Default)]
struct Counts(BTreeMap<&'static str, f64>);

// === impl Counts ===

impl Counts {
    const SERIES: [&str; 5] = [
        r#"plimsoll_binds_total{group="",outcome="refused"}"#,
        "plimsoll_bind_retries_total",
        r#"plimsoll_bind_call_wait_seconds_count{group=""}"#,
        r#"plimsoll_bind_call_wait_seconds_sum{group=""}"#,
        r#"plimsoll_bind_calls_missed_total{group=""}"#,
    ];

    fn add(&mut self, gateway: &Plimsoll) -> Result<()> {
        let text = gateway.get("/metrics")?.body;
        for series in Self::SERIES {
            let value = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse::<f64>().ok());
            *self.0.entry(series).or_default() += value.unwrap_or(0.0);
        }
        Ok(())
    }

    fn outcome(&self, took: Duration, placed: &BTreeMap<String, usize>) -> BurstOutcome {
        let [refused, retries, waits, waited, missed] =
            Self::SERIES.map(|series| self.0.get(series).copied().unwrap_or(0.0));
        BurstOutcome {
            took,
            too_many: placed.values().map(|pods| pods.saturating_sub(MOST)).sum(),
            most: placed.values().copied().max().unwrap_or(0),
            refused: refused as u64,
            retries: retries as u64,
            waits: waits as u64,
            waited_ms: waited * 1e3,
            missed: missed as u64,
        }
    }
}

/// Whether a gateway says that it may bind; one that is frozen says nothing.
pub fn may_write(gateway: &Plimsoll) -> bool {
    let page = gateway.get_quickly("/api/leader").ok();
    let page = page.and_then(|page| serde_json::from_str::<Value>(&page.body).ok());
    page.is_some_and(|page| page["mayWrite"] == true)
}

/// Waits until a gateway sees this many pods on nodes; when that was.
///
/// # Errors
/// If that takes minutes.
pub fn wait_for_bound(gateways: &[Plimsoll], pods: usize) -> Result<Instant> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let metrics = gateways.iter().find_map(|gateway| gateway.get_quickly("/metrics").ok());
        let value = |name: &str| {
            let line = metrics.as_ref()?.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line?.trim().parse::<usize>().ok()
        };
        if value("plimsoll_cluster_pods").is_some_and(|bound| bound >= pods) {
            return Ok(Instant::now());
        }
        ensure!(Instant::now() < deadline, "waited {PATIENCE:?} in vain for {pods} pods to be bound");
        #[expect(
            clippy::disallowed_methods,
            reason = "a question each 2 ms takes the machine away from those who work"
        )]
        thread::sleep(LOOK);
    }
}

/// The number of pods on each node, as the API server says in the end.
fn placed(cluster: &ControlPlane) -> Result<BTreeMap<String, usize>> {
    let nodes = || {
        let path = "jsonpath={.items[*].spec.nodeName}";
        let unbound = cluster.kubectl(&["get", "pods", "--field-selector=spec.nodeName=", "-o", "name"]).ok()?;
        unbound.is_empty().then(|| cluster.kubectl(&["get", "pods", "--chunk-size=0", "-o", path]).ok()).flatten()
    };
    let mut placed = BTreeMap::new();
    for node in wait_until("every pod to be bound", nodes)?.split_whitespace() {
        *placed.entry(node.to_owned()).or_default() += 1;
    }
    Ok(placed)
}

fn scheduler_config(cluster: &ControlPlane, balancer: &Balancer) -> String {
    let extender = json!({
        "urlPrefix": format!("http://{}", balancer.address),
        "filterVerb": "filter",
        "bindVerb": "bind",
        "nodeCacheCapable": true,
        "httpTimeout": "3s",
    });
    // Full nodes first: a scheduler that spreads pods would keep the limit without a policy.
    let resources = json!([{"name": "cpu", "weight": 1}]);
    let packing = json!({
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
        "pluginConfig": [{
            "name": "NodeResourcesFit",
            "args": {"scoringStrategy": {"type": "MostAllocated", "resources": resources}},
        }],
    });
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        // The scheduler's own defaults would be the limit.
        "clientConnection": {"kubeconfig": cluster.kubeconfig(), "qps": 5000, "burst": 5000},
        "profiles": [packing],
        "extenders": [extender],
    })
    .to_string()
}

fn node(number: usize) -> Value {
    crate::node(&format!("node-{number:04}"), "a", "shared")
}

fn pod(number: usize) -> Value {
    let mut pod = crate::pod("default", &format!("burst-{number}"), "500m", &json!({}));
    pod["metadata"]["labels"] = json!({"app": "burst"});
    pod
}
