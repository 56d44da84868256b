//! The story itself, scene by scene.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{Plimsoll, wait_until};
use plimsoll_sample::{NODES, PODS, node_name, placed_pod, pod, stream};
use serde_json::Value;

use crate::{
    load::Load,
    scheduler::{Scheduler, SchedulerDecision},
    stage::Stage,
};

/// The nodes that are offered for preemption: in two pools, one of them closed to the pod.
const OFFERED: [u32; 6] = [104, 106, 108, 110, 112, 114];

/// The gateway, and what has been told of it so far.
pub(crate) struct Story<'a> {
    gateway: &'a Plimsoll,
    stage: &'a Stage,
    scheduler: Scheduler,
    load: Load,
    nodes: Vec<String>,
    pods: Box<dyn Iterator<Item = Value>>,
}

// === impl Story ===

impl<'a> Story<'a> {
    pub(crate) fn new(gateway: &'a Plimsoll, stage: &'a Stage) -> Self {
        Self {
            gateway,
            stage,
            scheduler: Scheduler::new(gateway.wire),
            load: Load::start(gateway.wire),
            nodes: (0..NODES).map(node_name).collect(),
            pods: Box::new(stream()),
        }
    }

    /// Schedules pods one after another, and tells where each goes and who rejected which nodes.
    pub(crate) fn place(&mut self, count: usize, title: &str) -> Result<()> {
        println!("\n{title}");
        for pod in self.pods.by_ref().take(count) {
            let decision = self.scheduler.schedule(&pod, &self.nodes)?;
            let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default();
            println!("{}", line(&format!("{}/{}", text("namespace"), text("name")), &decision));
        }
        Ok(())
    }

    pub(crate) fn edit(&self) -> Result<()> {
        println!("\n2. The rule `zone-drain` is edited: it drains zone a instead of c");
        let saved = Instant::now();
        print!("{}", self.stage.edit_zone_drain()?);
        let answered = wait_until("an answer by the new rule", || self.load.answered_with("zone a is being drained"))?;
        let after = answered.saturating_duration_since(saved);
        println!("   first answer by it {} after the file was saved", text(after));
        Ok(())
    }

    pub(crate) fn crash(&self) -> Result<()> {
        println!("\n3. A policy that crashes is dropped into the directory: `fragile`, onError: ignore");
        self.stage.add_fragile()?;
        let loaded = |line: &Value| line["message"] == "policy loaded" && line["policy"] == "fragile";
        self.gateway.wait_for_log("the policy to be in force", loaded).map(drop)
    }

    pub(crate) fn show_faults(&self) -> Result<()> {
        let metrics = self.gateway.get("/metrics")?.body;
        let panics = |line: &&str| line.starts_with("plimsoll_policy_calls_total") && line.contains("panic");
        let faults = metrics.lines().find(panics).context("the metrics do not tell of the crash")?;
        println!("   its faults are counted: {faults}");
        Ok(())
    }

    pub(crate) fn preempt(&self) -> Result<()> {
        println!("\n4. A pod finds no room, and the scheduler offers six nodes with a victim each");
        let mut urgent = pod("team-a", "store", 4_711);
        urgent["spec"]["priority"] = 1_000.into();
        let offered: BTreeMap<_, _> = OFFERED.into_iter().filter_map(victim).collect();
        let kept = self.scheduler.preempt(&urgent, &offered)?;
        for node in offered.keys() {
            let fate = if kept.contains(node) {
                "may be preempted"
            } else {
                "dropped: with the victim gone it would still be refused"
            };
            println!("   {node:<10} {fate}");
        }
        Ok(())
    }

    pub(crate) fn end(self) -> Result<()> {
        let totals = self.load.stop();
        println!("\n5. In figures (of a build that is hardly optimised; `make bench` measures speed)");
        for (verb, mut times) in
            [("filter", self.scheduler.filter_times), ("prioritize", self.scheduler.prioritize_times)]
        {
            times.sort_unstable();
            let last = times.len().saturating_sub(1);
            let at = |percent: usize| text(times.get(last * percent / 100).copied().unwrap_or_default());
            println!("   {verb:<11} {} calls, p50 {}, p99 {}", times.len(), at(50), at(99));
        }
        println!("   meanwhile a second scheduler called {} times without a pause", totals.calls);
        ensure!(totals.failure.is_none(), "a call failed: {}", totals.failure.unwrap_or_default());
        println!("   failed calls: 0");
        Ok(())
    }
}

/// A pod of the sample cluster that runs on the node, as kube-scheduler names a victim: node and UID.
fn victim(node: u32) -> Option<(String, Vec<String>)> {
    let name = node_name(node);
    let pod = (0..PODS).map(placed_pod).find(|pod| pod["spec"]["nodeName"] == name.as_str())?;
    Some((name, vec![pod["metadata"]["uid"].as_str()?.to_owned()]))
}

fn line(pod: &str, decision: &SchedulerDecision) -> String {
    let place = decision.node.as_deref().unwrap_or("no node");
    let score = decision.score.map_or_else(String::new, |score| format!("score {score}"));
    let reasons: Vec<String> = decision.reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let reasons = if reasons.is_empty() { "nobody objects".to_owned() } else { reasons.join(", ") };
    format!("   {pod:<16} -> {place:<9} {score:<9} {:>3} left; {reasons}", decision.left)
}

/// Three digits and a unit: `41.2 ms`.
fn text(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 1e-3 => format!("{:.1} us", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}
