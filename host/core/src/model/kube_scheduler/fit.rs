//! The plugin `NodeResourcesFit`.

use std::borrow::Cow;

use super::rejection::SchedulerRejection;
use crate::model::{DeviceClasses, Node, Placed, Pod};

/// What a pod requests of a node.
#[derive(Debug)]
pub(super) struct Fit<'p>(Vec<Request<'p>>);

#[derive(Debug)]
struct Request<'p> {
    resource: &'p str,
    amount: i64,
    /// For a node that lacks it.
    reason: Box<str>,
}

// === impl Fit ===

impl<'p> Fit<'p> {
    pub(super) fn new(pod: &'p Pod, ignored_resources: &[String]) -> Self {
        let requests = pod
            .requests()
            .iter()
            .filter(|(resource, amount)| *amount > 0 && !ignored_resources.iter().any(|ignored| ignored == resource));
        let reason = |resource| format!("Insufficient {resource}").into();
        Self(requests.map(|(resource, amount)| Request { resource, amount, reason: reason(resource) }).collect())
    }

    /// What the node lacks. Pods, cpu and memory are compared where the node names them, as each kubelet does: a
    /// node that is written by hand may have no `allocatable`.
    pub(super) fn rejection(
        &self,
        node: &Node,
        placed: Option<&Placed>,
        classes: &DeviceClasses,
    ) -> Option<SchedulerRejection<'_>> {
        let allocatable = node.allocatable();
        let requested = |name| placed.and_then(Placed::requested).map_or(0, |requested| requested.get(name));
        let pods = placed.map_or(0, |placed| placed.pods().len() as i64);
        let mut reasons = Vec::new();
        if allocatable.names("pods") && pods >= allocatable.get("pods") {
            reasons.push("Too many pods");
        }
        let mut unresolvable = false;
        for Request { resource, amount, reason } in &self.0 {
            let is_unknown = matches!(*resource, "cpu" | "memory") && !allocatable.names(resource);
            let total = allocatable.get(resource);
            let lacks = *amount > total.saturating_sub(requested(resource));
            if lacks && !is_unknown && classes.provider(resource, allocatable).is_none() {
                reasons.push(reason);
                unresolvable |= *amount > total;
            }
        }
        if reasons.is_empty() {
            return None;
        }
        Some(SchedulerRejection { plugin: "NodeResourcesFit", reasons: Cow::Owned(reasons), unresolvable })
    }
}
