//! kube-scheduler offers an extender a sample of the nodes: pods for which few nodes are right.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::try_join_all;
use plimsoll_e2e::pod;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    api::{Pods, Task},
    extent::Extent,
    lab::{Lab, Policy, Setup, adjacent, give_pool, node_name, nodes, placed, plain, spaced},
    report::{Figures, rounded},
    volumes,
};

/// The nodes of a case that names no other number.
const NODES: usize = 1_000;

/// Time for the last of the other pods.
const PATIENCE: Duration = Duration::from_secs(5);

/// The tenants that have pools.
const TENANTS: [&str; 2] = ["team-a", "team-b"];

/// Pods whose pool of 3 nodes is free, one after another.
#[derive(Clone, Copy)]
pub(crate) struct Needle {
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
    /// Other pods a second.
    pub(crate) others: u32,
    /// The number of tenants with such pods.
    pub(crate) tenants: usize,
    pub(crate) replicas: usize,
}

/// Pods that wait for a pool that is full by `Insufficient cpu`, while other pods are placed elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct FullPool {
    pub(crate) nodes: usize,
    pub(crate) waiting: usize,
    /// Other pods a second.
    pub(crate) others: u32,
    /// Whether many other nodes have taints or no room.
    pub(crate) is_mixed: bool,
    /// Whether each node has a pod of lower priority, whose eviction would not help.
    pub(crate) outranks: bool,
    /// Whether the policy has resolvable reasons: at most one pod of the app on a node, and each node has one.
    pub(crate) is_resolvable: bool,
}

/// Pods of higher priority, one after another, whose pool is full of pods that fill a node each.
pub(crate) struct Preemptors {
    pub(crate) nodes: usize,
    /// The numbers of its nodes.
    pub(crate) pool: Vec<usize>,
    /// Nodes of the pool that are free: nobody need be evicted.
    pub(crate) free: usize,
    pub(crate) pods: usize,
}

// === impl Needle ===

impl Needle {
    pub(crate) async fn run(self, extent: Extent) -> Result<Figures> {
        let mut all = nodes(self.nodes);
        for (at, tenant) in TENANTS.iter().enumerate().take(self.tenants) {
            give_pool(&mut all, tenant, adjacent(self.nodes - 200 * at, 3));
        }
        let lab = Lab::start(Setup { replicas: self.replicas, ..Setup::new(all, Policy::TenantPool) }).await?;
        let stream = lab.stream(self.others, plain);
        let before = lab.counts().await?;
        let tenants = TENANTS.into_iter().take(self.tenants);
        let waits = tenants.map(|tenant| one_after_another(&lab, tenant, self.pods, extent.limit));
        let waited = try_join_all(waits).await?.concat();
        let mut figures = Figures::default();
        figures.add_waits("", &waited);
        figures.add_counts(&lab.counts().await?.since(&before));
        figures.add_waits("other ", &others(&lab, stream).await);
        Ok(figures)
    }
}

/// Creates pods of a tenant, each when the one before is bound or was waited for in vain and is deleted.
async fn one_after_another(lab: &Lab, tenant: &str, pods: usize, limit: Duration) -> Result<Vec<Option<Duration>>> {
    let mut all = vec![];
    for number in 0..pods {
        let name = format!("{tenant}-{number}");
        lab.create_pods([pod(tenant, &name, "1", &Value::Null)]).await?;
        let waited = lab.waited(&name, limit).await;
        if waited.is_none() {
            lab.delete_pod(tenant, &name).await;
        }
        all.push(waited);
    }
    Ok(all)
}

// === impl FullPool ===

impl FullPool {
    #[expect(clippy::disallowed_methods, reason = "what happens in a time is counted")]
    pub(crate) async fn run(self, extent: Extent) -> Result<Figures> {
        let mut all = nodes(self.nodes);
        if self.is_mixed {
            mix(&mut all);
        }
        let pool = give_pool(&mut all, "team-a", spaced(self.nodes, 3));
        let names: Vec<String> = (0..self.nodes).map(node_name).collect();
        let policy = if self.is_resolvable { Policy::AtMost(1, String::new()) } else { Policy::TenantPool };
        let lab = Lab::start(Setup::new(all, policy)).await?;
        let of_app = |mut pod: Value| {
            pod["metadata"]["labels"]["app"] = "one".into();
            pod
        };
        if self.outranks {
            let low = |(at, node): (usize, &String)| of_app(placed("team-a", &format!("low-{at}"), "10m", node, "low"));
            lab.create_pods(names.iter().enumerate().map(low)).await?;
        }
        let filler = |node: &String| placed("team-a", &format!("full-{node}"), "7900m", node, "high");
        lab.create_pods(pool.iter().map(filler)).await?;
        let before = lab.counts().await?;
        let stream = lab.stream(self.others, plain);
        let waiting: Vec<String> = (0..self.waiting).map(|at| format!("waiting-{at}")).collect();
        let spec = json!({"priorityClassName": "high"});
        lab.create_pods(waiting.iter().map(|name| of_app(pod("team-a", name, "1", &spec)))).await?;
        sleep(extent.window).await;
        let mut figures = Figures::default();
        figures.add_counts(&lab.counts().await?.since(&before));
        figures.add("texts", lab.read(|pods| waiting.iter().map(|name| pods[name].messages).sum::<usize>()));
        figures.add_waits("other ", &others(&lab, stream).await);
        figures.add_text("last text", &lab.read(|pods| pods[&waiting[0]].message.clone()));
        Ok(figures)
    }
}

/// A cluster as many have it: a fifth of the nodes has one taint, a tenth another, 7 % are cordoned, a tenth has no room.
fn mix(nodes: &mut [Value]) {
    for (number, node) in nodes.iter_mut().enumerate() {
        // Names say nothing about the group.
        match (number.wrapping_mul(2_654_435_761) >> 7) % 100 {
            0..20 => node["spec"]["taints"] = json!([{"key": "gpu", "effect": "NoSchedule"}]),
            20..30 => node["spec"]["taints"] = json!([{"key": "infra", "effect": "NoSchedule"}]),
            30..37 => node["spec"]["unschedulable"] = true.into(),
            37..47 => node["status"]["allocatable"]["cpu"] = "5m".into(),
            _ => {}
        }
    }
}

// === impl Preemptors ===

impl Preemptors {
    pub(crate) async fn run(self, extent: Extent) -> Result<Figures> {
        let (lab, pool) = with_pool(self.nodes, self.pool.iter().copied()).await?;
        let (free, full) = pool.split_at(self.free);
        let victim = |number: usize, node: &str| placed("team-a", &format!("victim-{number}-{node}"), "8", node, "low");
        lab.create_pods(full.iter().map(|node| victim(0, node))).await?;
        let before = lab.counts().await?;
        let (mut waits, mut on_free) = (vec![], 0);
        for number in 1..=self.pods {
            let name = format!("high-{number}");
            lab.create_pods([pod("team-a", &name, "4", &json!({"priorityClassName": "high"}))]).await?;
            waits.push(lab.waited(&name, extent.limit).await);
            on_free += lab.read(|pods| usize::from(free.contains(&pods[&name].node)));
            lab.delete_pod("team-a", &name).await;
            // All is as before: each node that lost its pod gets another.
            lab.create_pods(lab.take_emptied().iter().map(|node| victim(number, node))).await?;
        }
        let mut figures = Figures::default();
        figures.add_waits("", &waits);
        figures.add("on the free node", on_free);
        figures.add_counts(&lab.counts().await?.since(&before));
        Ok(figures)
    }
}

/// A cluster in which a tenant has a pool; the nodes of the pool.
async fn with_pool(of: usize, numbers: impl IntoIterator<Item = usize>) -> Result<(Lab, Vec<String>)> {
    let mut all = nodes(of);
    let pool = give_pool(&mut all, "team-a", numbers);
    Ok((Lab::start(Setup::new(all, Policy::TenantPool)).await?, pool))
}

/// 200 pods that fit everywhere, at once; without and with 500 that wait for a full pool.
pub(crate) async fn wait_500(extent: Extent) -> Result<Figures> {
    let (lab, pool) = with_pool(5_000, spaced(5_000, 3)).await?;
    lab.create_pods(pool.iter().map(|node| placed("team-a", &format!("full-{node}"), "8", node, "high"))).await?;
    let mut figures = Figures::default();
    figures.add("pods/s alone", burst(&lab, "alone", extent).await?);
    let before = lab.counts().await?;
    let waiting = |number| pod("team-a", &format!("waiting-{number}"), "1", &json!({}));
    lab.create_pods((0..500).map(waiting)).await?;
    let is_rejected = |pods: &Pods| (0..500).all(|number| !pods[&format!("waiting-{number}")].message.is_empty());
    figures.add("all rejected", lab.until(extent.limit, is_rejected).await);
    let middle = lab.counts().await?;
    figures.add("pods/s beside 500", burst(&lab, "beside", extent).await?);
    figures.add("failed attempts until rejected", middle.failed - before.failed);
    figures.add_counts(&lab.counts().await?.since(&middle));
    Ok(figures)
}

/// Pods a second of 200 that are created at once.
async fn burst(lab: &Lab, prefix: &str, extent: Extent) -> Result<f64> {
    let names: Vec<String> = (0..200).map(|number| format!("{prefix}-{number}")).collect();
    let began = Instant::now();
    lab.create_pods(names.iter().map(|name| plain(name))).await?;
    lab.until(extent.limit, |pods| names.iter().all(|name| pods[name].waited.is_some())).await;
    let bound = lab.read(|pods| names.iter().filter(|name| pods[*name].waited.is_some()).count());
    Ok(rounded(bound as f64 / began.elapsed().as_secs_f64()))
}

/// Two pods that may not preempt, for one last place.
#[expect(clippy::disallowed_methods, reason = "what happens in a time is counted")]
pub(crate) async fn never(extent: Extent) -> Result<Figures> {
    let (lab, pool) = with_pool(NODES, spaced(NODES, 3)).await?;
    lab.create_pods(pool[1..].iter().map(|node| placed("team-a", &format!("full-{node}"), "8", node, "high"))).await?;
    let before = lab.counts().await?;
    let names = ["never-0", "never-1"];
    let spec = json!({"priorityClassName": "never"});
    lab.create_pods(names.map(|name| pod("team-a", name, "8", &spec))).await?;
    lab.until(extent.limit, |pods| names.iter().any(|name| pods[*name].waited.is_some())).await;
    let middle = lab.counts().await?;
    sleep(extent.window).await;
    let mut figures = Figures::default();
    figures.add_waits("", &names.map(|name| lab.read(|pods| pods[name].waited)));
    figures.add("failed attempts until one is bound", middle.failed - before.failed);
    figures.add_counts(&lab.counts().await?.since(&middle));
    Ok(figures)
}

/// 200 pods with volumes, and each node of their pool has as many volumes as it takes: kube-scheduler's filter knows
/// that, plimsoll does not. A pod of another tenant is in the same place, but outranks those with the volumes.
#[expect(clippy::disallowed_methods, reason = "what happens in a time is counted")]
pub(crate) async fn unmodelled(extent: Extent) -> Result<Figures> {
    let mut all = nodes(NODES);
    let pools =
        [give_pool(&mut all, "team-a", spaced(NODES, 3)), give_pool(&mut all, "team-b", adjacent(NODES - 200, 3))];
    let lab = Lab::start(Setup::new(all, Policy::TenantPool)).await?;
    let takes_one = |node: &String| {
        let driver = json!({"name": volumes::DRIVER, "nodeID": node, "allocatable": {"count": 1}});
        json!({"metadata": {"name": node}, "spec": {"drivers": [driver]}})
    };
    lab.create("/apis/storage.k8s.io/v1/csinodes", pools.iter().flatten().map(takes_one)).await?;
    let with_volume = |mut pod: Value| {
        pod["spec"]["volumes"] = volumes::mounts(pod["metadata"]["name"].as_str().unwrap_or_default());
        pod
    };
    for ((tenant, pool), priority) in TENANTS.iter().zip(&pools).zip(["high", "low"]) {
        volumes::create_bound(&lab, tenant, pool).await?;
        lab.create_pods(pool.iter().map(|node| with_volume(placed(tenant, node, "1", node, priority)))).await?;
    }
    let names: Vec<String> = (0..200).map(|number| format!("waiting-{number}")).collect();
    volumes::create_bound(&lab, "team-a", &names).await?;
    volumes::create_bound(&lab, "team-b", &["preemptor".to_owned()]).await?;
    let before = lab.counts().await?;
    let high = json!({"priorityClassName": "high"});
    let waiting = names.iter().map(|name| with_volume(pod("team-a", name, "1", &high)));
    lab.create_pods(waiting.chain([with_volume(pod("team-b", "preemptor", "1", &high))])).await?;
    sleep(extent.window / 2).await;
    let middle = lab.counts().await?;
    sleep(extent.window / 2).await;
    let mut figures = Figures::default();
    let end = lab.counts().await?;
    figures.add("failed attempts in the second half", end.failed - middle.failed);
    figures.add_counts(&end.since(&before));
    figures.add_waits("preemptor ", &[lab.read(|pods| pods["preemptor"].waited)]);
    figures.add_text("text", &lab.read(|pods| pods["waiting-0"].message.clone()));
    Ok(figures)
}

/// How long the other pods waited; they are the last.
async fn others(lab: &Lab, stream: Task) -> Vec<Option<Duration>> {
    drop(stream);
    let waits = |pods: &Pods| -> Vec<Option<Duration>> {
        let others = pods.iter().filter(|(name, _)| name.starts_with("other-"));
        others.map(|(_, pod)| pod.waited).collect()
    };
    lab.until(PATIENCE, |pods| waits(pods).iter().all(Option::is_some)).await;
    lab.read(waits)
}
