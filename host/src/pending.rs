//! The pods of `/api/pending`, and each by its name; `plimsoll pending` reads the same.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use humantime::format_rfc3339_seconds;
use plimsoll_core::{
    AskedAbout, MainReason, NominatedFor, PendingPod, Pod, ReasonBy, ReasonCount, RejectedNodes, Roster,
    ScheduledCondition,
};
use serde::{Deserialize, Serialize};

/// All pods that wait, the oldest first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PendingJson {
    pub(crate) pods: Vec<WaitingJson>,
}

/// A pod that waits, in a list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitingJson {
    pub(crate) pod: String,
    /// When it was created, or seen first.
    pub(crate) since: String,
    pub(crate) groups: Vec<Arc<str>>,
    pub(crate) attempts: u32,
    /// That of the most nodes.
    pub(crate) reason: Option<ReasonJson>,
    /// The number of nodes that the last answer is about.
    pub(crate) nodes: Option<u32>,
    /// Why kube-scheduler does not try it.
    pub(crate) not_tried: Option<String>,
    pub(crate) nominated: Option<NominatedJson>,
}

/// A reason, with the number of nodes that are rejected for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReasonJson {
    /// `policy`, `kube-scheduler` or `plimsoll`.
    pub(crate) by: String,
    pub(crate) policy: Option<Arc<str>>,
    /// The version of the policy that was asked.
    pub(crate) version: Option<u64>,
    pub(crate) text: Box<str>,
    pub(crate) nodes: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NominatedJson {
    pub(crate) node: Arc<str>,
    /// `plimsoll` or `kube-scheduler`.
    pub(crate) by: String,
}

/// Why a pod waits.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PendingPodJson {
    pub(crate) pod: String,
    pub(crate) uid: String,
    pub(crate) since: String,
    pub(crate) nominated: Option<NominatedJson>,
    /// Whether kube-scheduler is to be told to try it again.
    pub(crate) wake_due: bool,
    pub(crate) not_tried: Option<String>,
    pub(crate) condition: Option<ConditionJson>,
    /// The fault that the last request has ended with.
    pub(crate) fault: Option<FaultJson>,
    /// By group.
    pub(crate) attempts: Vec<AttemptsJson>,
    pub(crate) policies: Vec<PolicyJson>,
}

/// The condition `PodScheduled`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ConditionJson {
    pub(crate) since: Option<String>,
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FaultJson {
    pub(crate) at: String,
    pub(crate) policy: Arc<str>,
    pub(crate) text: Box<str>,
}

/// The attempts of which a group was asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttemptsJson {
    pub(crate) group: Arc<str>,
    pub(crate) attempts: u32,
    pub(crate) first: String,
    pub(crate) last: String,
    /// Whether the last answer left it no node.
    pub(crate) is_refused: bool,
    /// The last answer that left it no node.
    pub(crate) refusal: Option<RefusalJson>,
}

/// The nodes of an answer, by reason.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefusalJson {
    /// The number of nodes that it is about: all of the cluster, or those that kube-scheduler offered.
    pub(crate) nodes: u32,
    pub(crate) whole_cluster: bool,
    pub(crate) reasons: Vec<ReasonJson>,
    /// The number of nodes with other reasons, or which are left to kube-scheduler's own filters.
    pub(crate) others: u32,
}

/// A policy that has rejected nodes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyJson {
    pub(crate) policy: Arc<str>,
    /// The version in force, and when it was loaded; none: no version of it is in force.
    pub(crate) version: Option<u64>,
    pub(crate) since: Option<String>,
}

// === impl PendingJson ===

impl PendingJson {
    pub(super) fn new(pods: &[PendingPod]) -> Self {
        let mut by_age: Vec<(SystemTime, &PendingPod)> =
            pods.iter().map(|pending| (waits_since(pending), pending)).collect();
        by_age.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| id_of(&one.pod).cmp(&id_of(&other.pod))));
        Self { pods: by_age.into_iter().map(|(since, pending)| WaitingJson::new(since, pending)).collect() }
    }
}

// === impl WaitingJson ===

impl WaitingJson {
    fn new(since: SystemTime, pending: &PendingPod) -> Self {
        let main = pending.main_reason();
        Self {
            pod: id_of(&pending.pod),
            since: format_rfc3339_seconds(since).to_string(),
            groups: pending.asked.iter().map(|asked| Arc::clone(&asked.group)).collect(),
            attempts: pending.asked.iter().map(|asked| asked.attempts).sum(),
            nodes: main.as_ref().and_then(|main| Some(main.nodes?.1)),
            reason: main.map(|MainReason { by, text, nodes }| ReasonJson::new(&by, text, nodes.map(|(of, _)| of))),
            // One that was asked about has no gate.
            not_tried: pending.asked.is_empty().then(|| pending.not_tried()).flatten().map(str::to_owned),
            nominated: pending.nominated.as_ref().map(NominatedJson::new),
        }
    }
}

// === impl PendingPodJson ===

impl PendingPodJson {
    /// `wakes`: whether this gateway tells kube-scheduler to try pods again.
    pub(super) fn new(pending: &PendingPod, roster: &Roster, wakes: bool) -> Self {
        let condition = pending.condition().map(|condition| {
            let ScheduledCondition { reason, message, since, .. } = condition;
            ConditionJson { since, reason, message }
        });
        let rejected = pending.asked.iter().filter_map(|asked| asked.rejected.as_deref());
        let by = rejected.flat_map(|rejected| &rejected.reasons).filter_map(|reason| match &reason.by {
            ReasonBy::Policy { id, .. } => Some(id),
            _ => None,
        });
        let policies: BTreeSet<&Arc<str>> = by.chain(pending.fault.as_ref().map(|fault| &fault.policy)).collect();
        Self {
            pod: id_of(&pending.pod),
            uid: pending.pod.uid().to_owned(),
            since: format_rfc3339_seconds(waits_since(pending)).to_string(),
            nominated: pending.nominated.as_ref().map(NominatedJson::new),
            wake_due: pending.is_wake_due && wakes,
            not_tried: pending.not_tried().map(str::to_owned),
            condition,
            fault: pending.fault.as_ref().map(|fault| FaultJson {
                at: time(fault.at),
                policy: Arc::clone(&fault.policy),
                text: fault.text.clone(),
            }),
            attempts: pending.asked.iter().map(AttemptsJson::new).collect(),
            policies: policies.into_iter().map(|policy| PolicyJson::new(policy, roster)).collect(),
        }
    }
}

// === impl AttemptsJson ===

impl AttemptsJson {
    fn new(asked: &AskedAbout) -> Self {
        Self {
            group: Arc::clone(&asked.group),
            attempts: asked.attempts,
            first: time(asked.first),
            last: time(asked.last),
            is_refused: asked.is_refused,
            refusal: asked.rejected.as_deref().map(RefusalJson::new),
        }
    }
}

// === impl RefusalJson ===

impl RefusalJson {
    fn new(rejected: &RejectedNodes) -> Self {
        let reason = |ReasonCount { by, text, nodes }: &ReasonCount| ReasonJson::new(by, text.clone(), Some(*nodes));
        Self {
            nodes: rejected.nodes,
            whole_cluster: rejected.is_whole,
            reasons: rejected.reasons.iter().map(reason).collect(),
            others: rejected.others,
        }
    }
}

// === impl ReasonJson ===

impl ReasonJson {
    fn new(by: &ReasonBy, text: Box<str>, nodes: Option<u32>) -> Self {
        let (policy, version) = match by {
            // That of a fault is not known.
            ReasonBy::Policy { id, version } => (Some(Arc::clone(id)), Some(*version).filter(|version| *version > 0)),
            _ => (None, None),
        };
        let by = if policy.is_some() { "policy" } else { by.as_str() }.to_owned();
        Self { by, policy, version, text, nodes }
    }
}

// === impl NominatedJson ===

impl NominatedJson {
    fn new(NominatedFor { node, is_own }: &NominatedFor) -> Self {
        Self { node: Arc::clone(node), by: if *is_own { "plimsoll" } else { "kube-scheduler" }.to_owned() }
    }
}

// === impl PolicyJson ===

impl PolicyJson {
    fn new(policy: &Arc<str>, roster: &Roster) -> Self {
        let member = roster.members().find(|member| member.id == *policy && !member.is_stand_in());
        Self {
            policy: Arc::clone(policy),
            version: member.map(|member| member.version),
            since: member.map(|member| format_rfc3339_seconds(member.calls.since()).to_string()),
        }
    }
}

fn id_of(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace(), pod.name())
}

/// When the pod was created; if that is not known, when it was seen first.
fn waits_since(pending: &PendingPod) -> SystemTime {
    match u64::try_from(pending.pod.created()) {
        Ok(created) if created > 0 => UNIX_EPOCH + Duration::from_secs(created),
        _ => at(pending.first_seen),
    }
}

fn time(instant: Instant) -> String {
    format_rfc3339_seconds(at(instant)).to_string()
}

/// The time of day of a moment that has passed.
fn at(instant: Instant) -> SystemTime {
    SystemTime::now().checked_sub(instant.elapsed()).unwrap_or(UNIX_EPOCH)
}
