//! Pods, created one after another, and the time until all are bound.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use plimsoll_e2e::{ControlPlane, Scheduler, SchedulerMetrics};
use serde_json::json;

use crate::{
    contender::Extender,
    objects::{self, NAMESPACE, node, pod},
};

/// Scheduled before the clock starts: the scheduler lists the nodes, and the extender sees its first requests.
const WARM_UP: usize = 60;

/// The number of nodes that are created at once.
const AT_ONCE: usize = 16;

/// A run that is not over by then never will be.
const PATIENCE: Duration = Duration::from_mins(2);

/// A client of the API server.
pub(crate) struct Load {
    nodes: Api<Node>,
    pods: Api<Pod>,
}

/// The result of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) pods_per_second: f64,
    /// Mean of `scheduler_scheduling_algorithm_duration_seconds`, which an extender's calls are a part of.
    pub(crate) algorithm_ms: f64,
    /// Processor time of the extender for one pod: a figure that a busy machine does not change.
    pub(crate) extender_ms: f64,
}

// === impl Load ===

impl Load {
    pub(crate) async fn new(control_plane: &ControlPlane) -> Result<Self> {
        let client = control_plane.client().await?;
        let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
        Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await?;
        Ok(Self { nodes: Api::all(client.clone()), pods: Api::namespaced(client, NAMESPACE) })
    }

    /// Creates nodes, each with its status, which `create` leaves out.
    pub(crate) async fn create_nodes(&self, numbers: Range<usize>) -> Result<()> {
        let create = async |number: usize| -> Result<()> {
            let node = node(number)?;
            self.nodes.create(&PostParams::default(), &node).await?;
            let status = Patch::Merge(json!({"status": node.status}));
            self.nodes.patch_status(&objects::name(number), &PatchParams::default(), &status).await?;
            Ok(())
        };
        stream::iter(numbers).map(create).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Times a scheduler with this many pods, and deletes them; with rules, they must have been obeyed.
    pub(crate) async fn run(
        &self,
        scheduler: &Scheduler,
        extender: &Extender,
        pods: usize,
        has_rules: bool,
    ) -> Result<Outcome> {
        let metrics = SchedulerMetrics::of(scheduler).await?;
        self.schedule("warm-up", WARM_UP).await?;
        let (before, used) = (algorithm(&metrics).await?, extender.processor_ms());
        let started = Instant::now();
        self.schedule("pod", pods).await?;
        let took = started.elapsed();
        let (after, used) = (algorithm(&metrics).await?, extender.processor_ms() - used);
        if has_rules {
            self.check().await?;
        }
        self.delete_all().await?;
        ensure!(after.1 > before.1, "the scheduler has scheduled nothing");
        Ok(Outcome {
            pods_per_second: pods as f64 / took.as_secs_f64(),
            algorithm_ms: (after.0 - before.0) / (after.1 - before.1) * 1e3,
            extender_ms: used / pods as f64,
        })
    }

    /// Creates pods one after another, and waits until each is bound.
    async fn schedule(&self, prefix: &str, pods: usize) -> Result<()> {
        for number in 0..pods {
            self.pods.create(&PostParams::default(), &pod(&format!("{prefix}-{number}"))?).await?;
        }
        // The API server answers this from an index, so that asking costs the scheduler little.
        let unbound = ListParams::default().fields("spec.nodeName=").match_any();
        self.wait_until("every pod to be bound", &unbound).await
    }

    /// A figure means nothing if the extender was not obeyed.
    async fn check(&self) -> Result<()> {
        for pod in self.pods.list(&ListParams::default().match_any()).await? {
            let node = pod.spec.and_then(|spec| spec.node_name).unwrap_or_default();
            ensure!(objects::is_allowed(&node), "a pod is on {node}, which the rules forbid");
        }
        Ok(())
    }

    async fn delete_all(&self) -> Result<()> {
        self.pods.delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default()).await?;
        self.wait_until("every pod to be gone", &ListParams::default().match_any()).await
    }

    /// Waits until no pod is listed.
    async fn wait_until(&self, what: &str, listed: &ListParams) -> Result<()> {
        let started = Instant::now();
        while !self.pods.list_metadata(listed).await?.items.is_empty() {
            ensure!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

/// Seconds that a scheduler has spent in the scheduling algorithm, and how often.
async fn algorithm(metrics: &SchedulerMetrics) -> Result<(f64, f64)> {
    let text = metrics.get("/metrics").await?;
    let value = |part: &str| -> Result<f64> {
        let name = format!("scheduler_scheduling_algorithm_duration_seconds_{part} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name)).with_context(|| name.clone())?;
        Ok(value.trim().parse()?)
    };
    Ok((value("sum")?, value("count")?))
}
