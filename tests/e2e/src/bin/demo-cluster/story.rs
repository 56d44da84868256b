//! The story itself.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use plimsoll_harness::wait_until;
use plimsoll_sample::{PODS, node_name, pod, stream, zone};
use serde_json::{Value, json};

use crate::{
    figures::Figures,
    output::say,
    stage::{Stage, created},
};

/// Two nodes each in zones a and b of the shared pool, and of a pool that is closed to the pod.
const TIGHT: [u32; 6] = [0, 1, 3, 4, 110, 111];

/// The one whose pod may not be evicted.
const PROTECTED: u32 = 1;

/// The story as far as it has been told.
pub(crate) struct Story<'s> {
    stage: &'s Stage,
    pods: Box<dyn Iterator<Item = Value>>,
    placed: usize,
}

// === impl Story ===

impl<'s> Story<'s> {
    pub(crate) fn new(stage: &'s Stage) -> Self {
        // Numbers that no pod of the sample cluster has.
        Self { stage, pods: Box::new(stream().skip(6_000)), placed: 0 }
    }

    /// Creates pods one after another, and tells where each lands and who rejected which nodes.
    pub(crate) fn place(&mut self, count: usize, title: &str) -> Result<()> {
        say(&format!("\n{title}"));
        for pod in self.pods.by_ref().take(count).map(created).collect::<Vec<_>>() {
            let (namespace, name) = name_of(&pod);
            let before = self.figures()?;
            self.stage.cluster.create(&pod)?;
            let node = self.stage.cluster.node_of(namespace, name)?;
            let refusals: Vec<String> = self
                .figures()?
                .refusals_since(&before)
                .iter()
                .map(|(policy, count)| format!("{count} {policy}"))
                .collect();
            let refusals = if refusals.is_empty() { "nobody objects".to_owned() } else { refusals.join(", ") };
            let device = self.device(&pod)?.map(|device| format!("on GPU {device}; ")).unwrap_or_default();
            say(&format!("   {:<18} -> {node}  {device}{refusals}", format!("{namespace}/{name}")));
            self.placed += 1;
        }
        Ok(())
    }

    pub(crate) fn swap(&self) -> Result<()> {
        say("\n2. A pod wants zone c, which `zone-drain` empties: kube-scheduler's own event says so");
        let mut waiting = created(pod("web", "waiting", 1));
        waiting["spec"]["nodeSelector"] = json!({"topology.kubernetes.io/zone": "c"});
        self.stage.cluster.create(&waiting)?;
        let message = self.stage.cluster.failure_of("web", "waiting-1")?;
        ensure!(
            message.contains("zone-drain: zone c is being drained"),
            "the event does not name the policy: {message}"
        );
        // The rest of the message is about preemption, which does not help here.
        say(&format!("   FailedScheduling: {}", message.split(". ").next().unwrap_or(&message)));
        say("   Another version of `zone-drain` is dropped into the directory: it drains zone a instead of c");
        let dropped = Instant::now();
        self.stage.swap_zone_drain()?;
        self.loaded("zone-drain", 2)?;
        say(&format!("   in force {} ms after the file appeared", dropped.elapsed().as_millis()));
        Ok(())
    }

    /// kube-scheduler tries a pod again when a node changes.
    pub(crate) fn waiting_pod_lands(&mut self) -> Result<()> {
        self.stage.cluster.kubectl(&["label", "node", &node_name(2), "example.com/touched=yes"])?;
        let node = self.stage.cluster.node_of("web", "waiting-1")?;
        self.placed += 1;
        say(&format!("   {:<18} -> {node}  the pod that had waited", "web/waiting-1"));
        Ok(())
    }

    pub(crate) fn crash(&self) -> Result<()> {
        say("\n3. A policy that crashes is dropped into the directory: `fragile`, onError: ignore");
        self.stage.add_fragile()?;
        self.loaded("fragile", 1)
    }

    pub(crate) fn show_faults(&self) -> Result<()> {
        let metrics = self.stage.gateway.get("/metrics")?.body;
        let panics =
            |line: &&str| line.starts_with("plimsoll_policy_calls_total") && line.contains("outcome=\"panic\"");
        let faults = metrics.lines().find(panics).context("the metrics do not tell of the crash")?;
        say(&format!("   its faults are counted: {faults}"));
        Ok(())
    }

    pub(crate) fn preempt(&mut self) -> Result<()> {
        say("\n4. A pod of high priority finds its six nodes full; on each of them one pod could make room");
        let names = TIGHT.map(node_name);
        for (at, node) in names.iter().enumerate() {
            let mut filler = sized("filler", at as u32, "11", "low");
            filler["spec"]["nodeName"] = node.as_str().into();
            if TIGHT[at] == PROTECTED {
                filler["metadata"]["labels"]["example.com/protected"] = "true".into();
            }
            self.stage.cluster.create(&filler)?;
        }
        let mut urgent = sized("urgent", 1, "4", "high");
        let terms = json!([{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": names},
        ]}]);
        urgent["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
        self.see_all(PODS as usize + self.placed + TIGHT.len())?;
        self.stage.cluster.create(&urgent)?;
        let chosen = self.stage.cluster.node_of("web", "urgent-1")?;
        self.placed += 1;
        let left = self.fillers()?;
        for (at, node) in TIGHT.into_iter().zip(&names) {
            let fate = match at {
                _ if !left.contains(node) => "its pod was evicted, and web/urgent-1 took its place",
                PROTECTED => "kept: preempt-guard protects its pod",
                0..60 if zone(at) == "a" => "kept: zone-drain would refuse it with its pod gone, too",
                0..60 => "kept: one eviction was enough",
                _ => "kept: tenant-pool would refuse it with its pod gone, too",
            };
            say(&format!("   {node}  {fate}"));
        }
        ensure!(!left.contains(&chosen) && left.len() == TIGHT.len() - 1, "too many evicted: {left:?} are left");
        Ok(())
    }

    pub(crate) fn end(&self) -> Result<()> {
        let figures = self.figures()?;
        say("\n5. In figures");
        say(&format!("   {} pods placed by kube-scheduler", self.placed));
        for verb in ["filter", "prioritize", "preempt"] {
            let label = format!("verb=\"{verb}\"");
            let count = figures.sum("plimsoll_request_duration_seconds_count", &[&label]);
            let seconds = figures.sum("plimsoll_request_duration_seconds_sum", &[&label]);
            say(&format!("   {verb:<11} {count:>3} calls, {:.2} ms each", 1e3 * seconds / count.max(1.0)));
        }
        let failed =
            figures.sum("plimsoll_requests_total", &[]) - figures.sum("plimsoll_requests_total", &["result=\"ok\""]);
        ensure!(failed == 0.0, "{failed} calls failed");
        say("   failed calls: 0");
        Ok(())
    }

    /// The device that `gpu-binpack` gave the pod as it was bound, if it wants one.
    fn device(&self, pod: &Value) -> Result<Option<String>> {
        if pod["metadata"]["labels"]["app"] != "train" {
            return Ok(None);
        }
        let (namespace, name) = name_of(pod);
        let path = "jsonpath={.metadata.annotations.example\\.com/gpu-device}";
        let device = self.stage.cluster.kubectl(&["get", "pod", "-n", namespace, name, "-o", path])?;
        Ok((!device.is_empty()).then_some(device))
    }

    fn figures(&self) -> Result<Figures> {
        Ok(Figures::read(&self.stage.gateway.get("/metrics")?.body))
    }

    fn loaded(&self, policy: &str, version: u64) -> Result<()> {
        let fits =
            |line: &Value| line["message"] == "policy loaded" && line["policy"] == policy && line["version"] == version;
        self.stage.gateway.wait_for_log("the policy to be in force", fits).map(drop)
    }

    /// The nodes that still have their filler.
    fn fillers(&self) -> Result<Vec<String>> {
        let query = ["get", "pods", "-n", "web", "-l", "app=filler", "-o", "jsonpath={.items[*].spec.nodeName}"];
        Ok(self.stage.cluster.kubectl(&query)?.split_whitespace().map(str::to_owned).collect())
    }

    /// Waits until plimsoll sees this many pods on nodes.
    fn see_all(&self, pods: usize) -> Result<()> {
        let all = || (self.figures().ok()?.sum("plimsoll_cluster_pods", &[]) >= pods as f64).then_some(());
        wait_until("plimsoll to see every pod", all)
    }
}

fn name_of(pod: &Value) -> (&str, &str) {
    let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

/// A pod that takes much of a node.
fn sized(app: &str, number: u32, cpu: &str, class: &str) -> Value {
    let mut pod = created(pod("web", app, number));
    pod["spec"]["priorityClassName"] = class.into();
    pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": cpu});
    pod
}
