//! The use that kube-scheduler makes of an extender, as far as the demo needs it: filter, prioritize, choose.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// A scheduler with one extender; it keeps one connection, and the time of each call.
pub(crate) struct Scheduler {
    agent: ureq::Agent,
    base: String,
    pub(crate) filter_times: Vec<Duration>,
    pub(crate) prioritize_times: Vec<Duration>,
}

/// Where a pod went, and who rejected which nodes.
pub(crate) struct SchedulerDecision {
    pub(crate) node: Option<String>,
    pub(crate) score: Option<i64>,
    pub(crate) left: usize,
    /// The number of nodes that each reason rejected, the most first.
    pub(crate) reasons: Vec<(String, usize)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FilterResult {
    node_names: Option<Vec<String>>,
    failed_nodes: Option<BTreeMap<String, String>>,
    failed_and_unresolvable_nodes: Option<BTreeMap<String, String>>,
    error: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostPriority {
    host: String,
    score: i64,
}

// === impl Scheduler ===

impl Scheduler {
    pub(crate) fn new(extender: SocketAddr) -> Self {
        let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(5))).build().into();
        Self { agent, base: format!("http://{extender}"), filter_times: vec![], prioritize_times: vec![] }
    }

    /// One scheduling attempt.
    pub(crate) fn schedule(&mut self, pod: &Value, nodes: &[String]) -> Result<SchedulerDecision> {
        let started = Instant::now();
        let filtered = self.filter(pod, nodes)?;
        self.filter_times.push(started.elapsed());
        let reasons = histogram(&filtered);
        let left = filtered.node_names.unwrap_or_default();
        let scores = if left.len() > 1 {
            let started = Instant::now();
            let scores = self.prioritize(pod, &left)?;
            self.prioritize_times.push(started.elapsed());
            scores
        } else {
            vec![]
        };
        // Of several best nodes the scheduler takes one at random; the demo takes the first.
        let best = scores.iter().rev().max_by_key(|priority| priority.score);
        let node = best.map(|priority| priority.host.clone()).or_else(|| left.first().cloned());
        Ok(SchedulerDecision { node, score: best.map(|priority| priority.score), left: left.len(), reasons })
    }

    fn filter(&self, pod: &Value, nodes: &[String]) -> Result<FilterResult> {
        let reply = self.post("filter", &json!({"Pod": pod, "Nodes": null, "NodeNames": nodes}))?;
        let result: FilterResult = serde_json::from_str(&reply).with_context(|| format!("filter answered {reply}"))?;
        ensure!(result.error.is_empty(), "filter answered the error {}", result.error);
        Ok(result)
    }

    fn prioritize(&self, pod: &Value, nodes: &[String]) -> Result<Vec<HostPriority>> {
        let reply = self.post("prioritize", &json!({"Pod": pod, "Nodes": null, "NodeNames": nodes}))?;
        serde_json::from_str(&reply).with_context(|| format!("prioritize answered {reply}"))
    }

    /// The candidates that may be preempted, of those offered (victims' UIDs by node).
    pub(crate) fn preempt(&self, pod: &Value, candidates: &BTreeMap<String, Vec<String>>) -> Result<Vec<String>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct PreemptionResult {
            node_name_to_meta_victims: BTreeMap<String, Value>,
        }
        let victims = |uids: &Vec<String>| {
            let pods: Vec<Value> = uids.iter().map(|uid| json!({ "UID": uid })).collect();
            json!({"Pods": pods, "NumPDBViolations": 0})
        };
        let offered: BTreeMap<&String, Value> = candidates.iter().map(|(node, uids)| (node, victims(uids))).collect();
        let body = json!({"Pod": pod, "NodeNameToVictims": null, "NodeNameToMetaVictims": offered});
        let reply = self.post("preempt", &body)?;
        let result: PreemptionResult =
            serde_json::from_str(&reply).with_context(|| format!("preempt answered {reply}"))?;
        Ok(result.node_name_to_meta_victims.into_keys().collect())
    }

    fn post(&self, verb: &str, body: &Value) -> Result<String> {
        let url = format!("{}/{verb}", self.base);
        let mut reply = self.agent.post(&url).content_type("application/json").send(body.to_string())?;
        Ok(reply.body_mut().read_to_string()?)
    }
}

fn histogram(result: &FilterResult) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::<&String, usize>::new();
    let failed = [&result.failed_nodes, &result.failed_and_unresolvable_nodes];
    for reason in failed.into_iter().flatten().flat_map(BTreeMap::values) {
        *counts.entry(reason).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().map(|(reason, count)| (reason.clone(), count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
