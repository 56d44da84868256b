//! The pods that wait, as operators see them.

use std::{sync::Arc, time::Instant};

use serde::Deserialize;

use super::{Asked, Entry, MAX_AGE, ReasonBy, RejectedNodes, WaitingPods};
use crate::model::{Cluster, NominatedFor, Pod, SchedulerFilters};

/// A pod that waits for a node.
#[derive(Debug, Clone)]
pub struct PendingPod {
    /// The pod as it was seen last.
    pub pod: Arc<Pod>,
    /// When it was seen first.
    pub first_seen: Instant,
    /// One for each group that kube-scheduler has asked this replica about the pod.
    pub asked: Vec<AskedAbout>,
    /// The fault that the last request has ended with, if it has.
    pub fault: Option<PendingFault>,
    /// Its nomination.
    pub nominated: Option<NominatedFor>,
    /// Whether a node would keep it, so that kube-scheduler is to be told to try it again.
    pub is_wake_due: bool,
}

/// The filter requests of a group about a pod.
#[derive(Debug, Clone)]
pub struct AskedAbout {
    /// The group.
    pub group: Arc<str>,
    /// When the first came.
    pub first: Instant,
    /// When the last came.
    pub last: Instant,
    /// The number of attempts of kube-scheduler that have led to requests.
    pub attempts: u32,
    /// Whether the last one left the pod without a node.
    pub is_refused: bool,
    /// Why the last attempt in vain was.
    pub rejected: Option<Arc<RejectedNodes>>,
}

/// A policy's fault, because of which a request about a pod had no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFault {
    /// The policy, with its group.
    pub policy: Arc<str>,
    /// As the reply had it.
    pub text: Box<str>,
    /// When it occurred.
    pub at: Instant,
}

/// The reason of the most nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MainReason {
    /// Who rejects them; of a fault the version is 0.
    pub by: ReasonBy,
    /// The reason.
    pub text: Box<str>,
    /// The number of nodes that are rejected for it, of so many; none: all, as far as is known.
    pub nodes: Option<(u32, u32)>,
}

/// The condition `PodScheduled` of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ScheduledCondition {
    r#type: String,
    /// `Unschedulable`, `SchedulerError`, `SchedulingGated`, ...
    pub reason: String,
    /// kube-scheduler's text.
    pub message: String,
    /// When its status changed last, in RFC 3339.
    #[serde(rename = "lastTransitionTime")]
    pub since: Option<String>,
}

// === impl ScheduledCondition ===

impl ScheduledCondition {
    pub(crate) fn of(pod: &Pod) -> Option<Self> {
        let conditions: Vec<Self> = serde_json::from_str(pod.field("/status/conditions")?).unwrap_or_default();
        conditions.into_iter().find(|condition| condition.r#type == "PodScheduled")
    }
}

// === impl WaitingPods ===

impl WaitingPods {
    /// All pods that wait.
    pub(crate) fn pending(&self, now: Instant) -> Vec<PendingPod> {
        let table = self.0.lock();
        table.pods.values().filter(|entry| entry.waits(now)).map(|entry| entry.to_pending(now)).collect()
    }

    /// The pod with this name that waits; of several the one that was asked about last.
    pub(crate) fn pending_pod(&self, namespace: &str, name: &str, now: Instant) -> Option<PendingPod> {
        let table = self.0.lock();
        let has_name = |entry: &&Entry| entry.pod.name() == name && entry.pod.namespace() == namespace;
        let named = table.pods.values().filter(has_name).filter(|entry| entry.waits(now));
        named.max_by_key(|entry| (entry.is_shown, entry.last_asked())).map(|entry| entry.to_pending(now))
    }
}

// === impl Entry ===

impl Entry {
    /// Whether it still waits, as far as is known: most likely a pod that a request has left a node is bound.
    fn waits(&self, now: Instant) -> bool {
        let failed = self.messages.last_fault().map(|(.., at)| at);
        let is_refused = || self.asked.iter().max_by_key(|asked| asked.at).is_none_or(|asked| asked.is_refused);
        let is_in_vain = failed >= self.last_asked() || is_refused();
        let last = failed.max(self.last_asked());
        self.is_shown || (is_in_vain && last.is_some_and(|at| now.saturating_duration_since(at) < MAX_AGE))
    }

    fn to_pending(&self, now: Instant) -> PendingPod {
        let fault = self.messages.last_fault().filter(|(.., at)| self.last_asked().is_none_or(|last| last <= *at));
        // Without a watch the pod's own status says it: then nobody but kube-scheduler nominates.
        let of_status = || self.pod.nominated_node().map(|node| NominatedFor { node: node.into(), is_own: false });
        PendingPod {
            pod: Arc::clone(&self.pod),
            first_seen: self.first_seen,
            asked: self.asked.iter().map(Asked::to_shown).collect(),
            fault: fault.map(|(policy, text, at)| PendingFault { policy: policy.into(), text: text.into(), at }),
            nominated: if self.is_shown { self.nominated.clone() } else { of_status() },
            is_wake_due: self.is_shown && self.decided.is_free && self.budget.allows_wake(now),
        }
    }
}

// === impl Asked ===

impl Asked {
    fn to_shown(&self) -> AskedAbout {
        let Self { group, first, at, attempts, is_refused, rejected, .. } = self;
        let (group, rejected) = (Arc::clone(group), rejected.clone());
        AskedAbout { group, first: *first, last: *at, attempts: *attempts, is_refused: *is_refused, rejected }
    }
}

// === impl PendingPod ===

impl PendingPod {
    /// The reason of the most nodes in the last answer. If kube-scheduler has asked about no node, its own filters have
    /// rejected all.
    pub fn main_reason(&self) -> Option<MainReason> {
        if let Some(fault) = &self.fault {
            let by = ReasonBy::Policy { id: Arc::clone(&fault.policy), version: 0 };
            return Some(MainReason { by, text: fault.text.clone(), nodes: None });
        }
        if self.asked.is_empty() {
            let condition = self.condition().filter(|condition| condition.reason == "Unschedulable")?;
            return Some(MainReason { by: ReasonBy::KubeScheduler, text: condition.message.into(), nodes: None });
        }
        let last = self.asked.iter().max_by_key(|asked| asked.last).filter(|last| last.is_refused)?;
        let rejected = last.rejected.as_ref()?;
        let most = rejected.reasons.first()?;
        let nodes = Some((most.nodes, rejected.nodes));
        Some(MainReason { by: most.by.clone(), text: most.text.clone(), nodes })
    }

    /// The condition by which kube-scheduler says why the pod has no node.
    pub fn condition(&self) -> Option<ScheduledCondition> {
        ScheduledCondition::of(&self.pod)
    }

    /// Why kube-scheduler does not try the pod.
    pub fn not_tried(&self) -> Option<&'static str> {
        SchedulerFilters::new(&self.pod, &Cluster::default(), &[]).ok()?.not_tried()
    }
}
