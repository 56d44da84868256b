//! What pods wait for changes, and kube-scheduler has no event for it: a rule reads a label of their namespace.

use std::time::{Duration, Instant};

use anyhow::Result;
use hyper::Method;
use plimsoll_e2e::pod;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    api::Pods,
    extent::Extent,
    lab::{Lab, Policy, Setup, nodes},
    report::{Figures, rounded},
};

/// More than kube-scheduler offers.
const NODES: usize = 150;

const RULE: &str = r#"
cel:
  filter:
  - expression: pod.namespace == "default" || pod.namespaceLabels["open"] == "yes"
    message: the namespace is closed
"#;

/// No node is right, and it fails for nodes that no request names: they are cordoned.
const FAILING: &str = r#"
cel:
  filter:
  - expression: 'pod.namespace == "default" || (node.labels["broken"] == "" ? false : int(node.labels["broken"]) > 0)'
    message: the second version
"#;

/// Pods of two closed namespaces, of which the first is opened.
#[derive(Clone, Copy)]
pub(crate) struct Closed {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) before: Before,
}

/// What happens before the namespace is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// Its pods are deleted.
    Deletion,
    /// plimsoll is killed, and starts again.
    Restart,
}

// === impl Closed ===

impl Closed {
    #[expect(clippy::disallowed_methods, reason = "what happens in a time is counted")]
    pub(crate) async fn run(self, extent: Extent) -> Result<Figures> {
        let lab = Lab::start(Setup::new(nodes(NODES), Policy::Rule(RULE))).await?;
        let names = |namespace: &str, count| (0..count).map(|at| format!("{namespace}-{at}")).collect::<Vec<_>>();
        let (first, second) = (names("team-a", self.first), names("team-b", self.second));
        let began = Instant::now();
        for (namespace, names) in [("team-a", &first), ("team-b", &second)] {
            lab.create_pods(names.iter().map(|name| pod(namespace, name, "1m", &Value::Null))).await?;
        }
        let is_told = |pods: &Pods| first.iter().chain(&second).all(|name| !pods[name].message.is_empty());
        let mut figures = Figures::default();
        // A pod takes some milliseconds of kube-scheduler, and as many of the API server.
        figures.add("all rejected", lab.until(extent.limit * 10, is_told).await);
        figures.add("after s", rounded(began.elapsed().as_secs_f64()));
        let before = lab.counts().await?;
        match self.before {
            Before::Nothing => {}
            Before::Deletion => lab.delete_pods("team-a").await?,
            Before::Restart => lab.kill_leader()?,
        }
        let opened = Instant::now();
        lab.patch("/api/v1/namespaces/team-a", &json!({"metadata": {"labels": {"open": "yes"}}})).await?;
        if self.before != Before::Deletion {
            let is_bound = |pods: &Pods| first.iter().all(|name| pods[name].waited.is_some());
            figures.add("bound", lab.until(extent.limit, is_bound).await);
            figures.add("s", rounded(opened.elapsed().as_secs_f64()));
        }
        sleep(extent.window.saturating_sub(opened.elapsed())).await;
        figures.add_counts(&lab.counts().await?.since(&before));
        Ok(figures)
    }
}

/// A version that fails only for nodes that no request names.
pub(crate) async fn reload(extent: Extent) -> Result<Figures> {
    let mut all = nodes(NODES);
    for node in &mut all[NODES - 20..] {
        node["metadata"]["labels"]["broken"] = "yes".into();
        node["spec"]["unschedulable"] = true.into();
    }
    let lab = Lab::start(Setup::new(all, Policy::Rule(RULE))).await?;
    let names: Vec<String> = (0..20).map(|at| format!("team-a-{at}")).collect();
    lab.create_pods(names.iter().map(|name| pod("team-a", name, "1m", &Value::Null))).await?;
    lab.until(extent.limit, |pods| names.iter().all(|name| !pods[name].message.is_empty())).await;
    lab.lay(&Policy::Rule(FAILING))?;
    // kube-scheduler has an event for a label of the pod.
    let (before, began) = (lab.counts().await?, Instant::now());
    let (mut rounds, mut told) = (0, 0);
    while began.elapsed() < extent.window {
        for name in &names {
            let labels = json!({"metadata": {"labels": {"at": began.elapsed().as_millis().to_string()}}});
            lab.call(Method::PATCH, &format!("/api/v1/namespaces/team-a/pods/{name}"), &labels).await?;
        }
        let is_told = |pods: &Pods| names.iter().all(|name| pods[name].message.contains("the second version"));
        told += u32::from(lab.until(Duration::from_secs(1), is_told).await);
        rounds += 1;
        sleep(Duration::from_secs(1)).await;
    }
    let mut figures = Figures::default();
    figures.add("rounds", rounds);
    figures.add("with the second version's reason", told);
    // Without any the case would show nothing.
    let faults = "plimsoll_policy_unasked_faults_total";
    let page = lab.gateway_says("/metrics")?;
    let faults = page.lines().filter(|line| line.starts_with(faults));
    figures.add_text("faults", &faults.collect::<Vec<_>>().join(" "));
    figures.add_text("readyz", &lab.gateway_says("/readyz")?);
    figures.add_counts(&lab.counts().await?.since(&before));
    Ok(figures)
}
