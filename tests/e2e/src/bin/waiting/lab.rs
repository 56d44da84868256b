//! A control plane with nodes, plimsoll and a scheduler that asks it, for one case.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    ops::{Deref, Range},
    time::Duration,
};

use anyhow::Result;
use plimsoll_e2e::{Balancer, ControlPlane, Scheduler, SchedulerMetrics, may_write, pod};
use plimsoll_harness::{Plimsoll, TempDir, guest, policies, tempdir, wait_until};
use serde_json::{Value, json};

use crate::api::{Api, Task};

/// The node label that names the pool.
const POOL: &str = "example.com/pool";

/// A lease that is short, so that the next gateway of several soon leads.
const GATEWAY_ARGS: [&str; 4] = ["--lease-duration", "4s", "--request-timeout", "2s"];

/// What a case starts with.
pub(crate) struct Setup {
    pub(crate) nodes: Vec<Value>,
    pub(crate) policy: Policy,
    pub(crate) replicas: usize,
    /// Whether groups of pods are on, which are off by default.
    pub(crate) has_groups: bool,
}

/// The only policy.
pub(crate) enum Policy {
    /// The sample: `team-a` and `team-b` have pools of their own.
    TenantPool,
    /// At most so many pods with the same label `app` on a node; with more lines of its sidecar.
    AtMost(u32, String),
    /// A rule in CEL.
    Rule(&'static str),
}

/// Everything of one case; it derefs to its API server.
pub(crate) struct Lab {
    // Dropped in this order: each before what it talks to.
    _watch: Task,
    metrics: SchedulerMetrics,
    _scheduler: Scheduler,
    balancer: Balancer,
    gateways: RefCell<Vec<Plimsoll>>,
    policies: TempDir,
    api: Api,
    control_plane: ControlPlane,
}

/// What scheduler and gateways have counted so far.
#[derive(Default)]
pub(crate) struct Counts {
    /// Attempts that left a pod without a node.
    pub(crate) failed: u64,
    /// Why pods came into the queue of those that are tried, by event.
    pub(crate) events: BTreeMap<String, u64>,
    pub(crate) wakes: u64,
    /// Binds that a policy refused.
    pub(crate) refused: u64,
    pub(crate) nominations: u64,
    /// Pods that somebody else deleted: preemption.
    pub(crate) evictions: u64,
}

// === impl Setup ===

impl Setup {
    pub(crate) fn new(nodes: Vec<Value>, policy: Policy) -> Self {
        Self { nodes, policy, replicas: 1, has_groups: false }
    }
}

// === impl Policy ===

impl Policy {
    fn lay(&self, directory: &std::path::Path) -> Result<()> {
        let (module, sidecar) = match self {
            Self::TenantPool => {
                let sidecar = fs::read_to_string(policies().join("tenant-pool.yaml"))?;
                (policies().join("tenant-pool.wasm"), sidecar)
            }
            Self::AtMost(most, more) => {
                (guest("at_most"), format!("settings: {{label: app, on_node: {most}}}\n{more}\n"))
            }
            Self::Rule(text) => return Ok(fs::write(directory.join("rule.yaml"), text)?),
        };
        fs::copy(module, directory.join("rule.wasm"))?;
        Ok(fs::write(directory.join("rule.yaml"), sidecar)?)
    }
}

// === impl Lab ===

impl Lab {
    /// Starts everything, and schedules a pod so that all of it is warm.
    pub(crate) async fn start(setup: Setup) -> Result<Self> {
        let control_plane =
            if setup.has_groups { ControlPlane::start()? } else { ControlPlane::start_with_default_features()? };
        let (policies, balancer) = (tempdir()?, Balancer::start()?);
        setup.policy.lay(policies.path())?;
        let (api, watch) = Api::new(control_plane.client().await?);
        let namespace = |name: &str| json!({"metadata": {"name": name}});
        api.create("/api/v1/namespaces", ["team-a", "team-b"].map(namespace)).await?;
        let priority =
            |(name, value, policy)| json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
        let priorities =
            [("low", 100, "PreemptLowerPriority"), ("high", 1000, "PreemptLowerPriority"), ("never", 1000, "Never")];
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", priorities.map(priority)).await?;
        let wake = json!({"metadata": {"name": "plimsoll-wake"}, "storageClassName": "plimsoll-wake"});
        api.create("/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities", [wake]).await?;
        api.create("/api/v1/nodes", setup.nodes).await?;
        let args: &[&str] = if setup.replicas > 1 { &GATEWAY_ARGS } else { &[] };
        let start = |_| control_plane.gateway_with_kubeconfig(policies.path(), args);
        let gateways = (0..setup.replicas).map(start).collect::<Result<Vec<_>>>()?;
        wait_until("a gateway to lead", || gateways.iter().position(may_write))?;
        for gateway in &gateways {
            balancer.add(gateway);
        }
        let scheduler = control_plane.schedule_with(balancer.address, policies.path(), &[])?;
        let metrics = SchedulerMetrics::of(&scheduler).await?;
        let lab = Self {
            _watch: watch,
            metrics,
            _scheduler: scheduler,
            balancer,
            gateways: gateways.into(),
            policies,
            api,
            control_plane,
        };
        lab.create_pods([plain("warm-up")]).await?;
        lab.waited("warm-up", Duration::from_mins(1))
            .await
            .ok_or_else(|| anyhow::anyhow!("the first pod stays unbound"))?;
        lab.delete_pod("default", "warm-up").await;
        Ok(lab)
    }

    /// Kills the gateway that leads, and starts another one; what the killed one counted is lost.
    pub(crate) fn kill_leader(&self) -> Result<()> {
        let mut gateways = self.gateways.borrow_mut();
        let leader = wait_until("a gateway to lead", || gateways.iter().position(may_write))?;
        gateways.remove(leader).signal("KILL")?;
        let new = self.control_plane.gateway_with_kubeconfig(self.policies.path(), &GATEWAY_ARGS)?;
        self.balancer.add(&new);
        gateways.push(new);
        Ok(())
    }

    /// Puts a policy in the place of the one there is.
    pub(crate) fn lay(&self, policy: &Policy) -> Result<()> {
        policy.lay(self.policies.path())
    }

    /// What a page of the first gateway says.
    pub(crate) fn gateway_says(&self, page: &str) -> Result<String> {
        Ok(self.gateways.borrow()[0].get(page)?.body)
    }

    pub(crate) async fn counts(&self) -> Result<Counts> {
        let mut counts = Counts::default();
        self.read(|pods| {
            counts.nominations = pods.values().map(|pod| pod.nominations).sum();
            counts.evictions = pods.values().map(|pod| u64::from(pod.is_evicted)).sum();
        });
        for (series, value) in series(&self.metrics.get("/metrics").await?) {
            if series.starts_with("scheduler_schedule_attempts_total") && !series.contains(r#"result="scheduled""#) {
                counts.failed += value;
            }
            let Some(labels) = series.strip_prefix("scheduler_queue_incoming_pods_total") else { continue };
            let event = labels.split("event=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
            // Neither those that are only parked nor those that go on from the queue of the back-off.
            if !labels.contains(r#"queue="unschedulable""#) && !["PopFromBackoffQ", "BackoffComplete"].contains(&event)
            {
                *counts.events.entry(event.to_owned()).or_default() += value;
            }
        }
        for gateway in self.gateways.borrow().iter() {
            for (series, value) in series(&gateway.get("/metrics")?.body) {
                match series {
                    r#"plimsoll_wakes_total{result="sent"}"# => counts.wakes += value,
                    r#"plimsoll_binds_total{group="",outcome="refused"}"# => counts.refused += value,
                    _ => {}
                }
            }
        }
        Ok(counts)
    }
}

impl Deref for Lab {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

// === impl Counts ===

impl Counts {
    /// What was counted since an earlier time.
    pub(crate) fn since(mut self, earlier: &Self) -> Self {
        self.failed -= earlier.failed;
        // Those of a killed gateway are lost.
        self.wakes = self.wakes.saturating_sub(earlier.wakes);
        self.refused = self.refused.saturating_sub(earlier.refused);
        self.nominations -= earlier.nominations;
        self.evictions -= earlier.evictions;
        for (event, value) in &earlier.events {
            *self.events.entry(event.clone()).or_default() -= value;
        }
        self.events.retain(|_, value| *value > 0);
        self
    }
}

/// Name with labels, and value, of each line of a metrics page that is a count.
fn series(page: &str) -> impl Iterator<Item = (&str, u64)> {
    page.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        Some((series, value.parse::<f64>().ok()? as u64))
    })
}

/// So many nodes with 8 cores; names sort as numbers do, and kube-scheduler takes them in that order.
pub(crate) fn nodes(count: usize) -> Vec<Value> {
    (0..count).map(|number| node(number, "general")).collect()
}

pub(crate) fn node_name(number: usize) -> String {
    format!("node-{number:05}")
}

fn node(number: usize, pool: &str) -> Value {
    let name = node_name(number);
    let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, POOL: pool}},
        "spec": {},
        "status": {
            "capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// Gives a tenant some of the nodes; their names.
pub(crate) fn give_pool(nodes: &mut [Value], tenant: &str, numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    let mut names = vec![];
    for number in numbers {
        nodes[number] = node(number, tenant);
        names.push(node_name(number));
    }
    names
}

/// The numbers of a pool's nodes whose names differ from those of other pools: kube-scheduler looks at them one after
/// another.
pub(crate) fn adjacent(of: usize, size: usize) -> Range<usize> {
    of / 2..of / 2 + size
}

/// The numbers of a pool's nodes whose names say nothing.
pub(crate) fn spaced(of: usize, size: usize) -> impl Iterator<Item = usize> {
    (0..size).map(move |at| (2 * at + 1) * of / (2 * size))
}

/// A pod that fits on every node of no tenant.
pub(crate) fn plain(name: &str) -> Value {
    pod("default", name, "10m", &Value::Null)
}

/// A pod that is on a node from the start, with a priority.
pub(crate) fn placed(namespace: &str, name: &str, cpu: &str, node: &str, priority: &str) -> Value {
    pod(namespace, name, cpu, &json!({"nodeName": node, "priorityClassName": priority}))
}
