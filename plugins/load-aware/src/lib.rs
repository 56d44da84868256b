//! Keeps pods off nodes with a high measured load, and prefers those with a low one.

use plimsoll_policy::prelude::*;

/// The limit, and the sources of facts that it is compared with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct LoadAware {
    /// The source with the load of each node, as a share of its capacity: 0.85.
    load: String,
    /// A node with more than this share gets no pod.
    max_load: f64,
    /// The source with the requests that were on each node when its load was measured; none: pods that are not measured
    /// yet do not count.
    requested: Option<String>,
    /// The resource of these requests, and of the pod's own.
    resource: String,
    /// The share of its request that a pod is expected to use, before it is measured.
    expected_use: f64,
}

impl LoadAware {
    /// The load of a node with the pods that are not measured yet; none without a measurement.
    fn current_load(&self, node: &Node) -> Option<f64> {
        // Counted before the measurement is read: with `counts: false` the policy is refused as it loads, not when the
        // first measurement is there.
        let unmeasured = self.unmeasured(node);
        Some(node.fact_number(&self.load)? + unmeasured.unwrap_or(0.0))
    }

    /// The share that pods will use that came to the node since its load was measured. Pods that have left since are not
    /// subtracted: their load may still be there.
    fn unmeasured(&self, node: &Node) -> Option<f64> {
        let requested = self.requested.as_ref()?;
        let now = node.requested(&self.resource)? as f64 / self.unit();
        let before = node.fact_number(requested)?;
        Some(self.share(node, (now - before).max(0.0)))
    }

    /// The share of a node's allocatable amount that pods with this request are expected to use.
    fn share(&self, node: &Node, request: f64) -> f64 {
        let allocatable = node.allocatable(&self.resource) as f64 / self.unit();
        if allocatable > 0.0 { request * self.expected_use / allocatable } else { 0.0 }
    }

    /// Prometheus has cores, plimsoll millicores.
    fn unit(&self) -> f64 {
        if self.resource == "cpu" { 1000.0 } else { 1.0 }
    }
}

impl Filter for LoadAware {
    fn filter(&self, _: &Pod, node: &Node) -> Verdict {
        match self.current_load(node) {
            // Without the load: kube-scheduler's event counts the nodes of each reason. Without '%': it takes the text for
            // a format.
            Some(load) if load > self.max_load => Verdict::unschedulable(format!("load is above {}", self.max_load)),
            _ => Verdict::Fits,
        }
    }
}

impl Score for LoadAware {
    fn score(&self, pod: &Pod, node: &Node) -> u32 {
        let own = self.share(node, pod.request(&self.resource) as f64 / self.unit());
        self.current_load(node).map_or(0, |load| ((1.0 - load - own) * 100.0).clamp(0.0, 100.0).round() as u32)
    }
}

impl Default for LoadAware {
    fn default() -> Self {
        Self { load: "load".to_owned(), max_load: 0.8, requested: None, resource: "cpu".to_owned(), expected_use: 1.0 }
    }
}

impl Validate for LoadAware {
    fn validate(&self) -> Result<(), String> {
        if !(self.max_load > 0.0 && self.max_load <= 1.0) {
            return Err(format!("maxLoad: found {}: expected more than 0, and at most 1", self.max_load));
        }
        if !(0.0..=1.0).contains(&self.expected_use) {
            return Err(format!("expectedUse: found {}: expected 0 to 1", self.expected_use));
        }
        Ok(())
    }
}

export!(LoadAware: filter, score, validate);

#[cfg(test)]
mod tests;
