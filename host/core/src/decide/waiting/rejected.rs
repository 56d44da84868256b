//! Why a request has left its pod without a node: how many nodes are rejected, by whom and why.

use std::{
    fmt,
    hash::BuildHasher,
    sync::Arc,
    time::{Duration, Instant},
};

use super::messages::HASHER;
use crate::{
    decide::{FilterOutcome, Reason, RejectedBy},
    model::excerpt,
};

/// Maximum reasons that are kept of one request, and the bytes of each: 3 kB at most for each of 20,000 pods.
const MAX_REASONS: usize = 20;
const MAX_TEXT: usize = 120;

/// The log has a pod at most this often in this time.
const MAX_LINES: u8 = 5;
const PERIOD: Duration = Duration::from_mins(10);

/// The nodes of one answer that left its pod without a node, by reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedNodes {
    /// The number of nodes that the answer is about.
    pub nodes: u32,
    /// Whether these are all nodes of the cluster; if not, they are those that kube-scheduler offered.
    pub is_whole: bool,
    /// The reasons of the most nodes, those of the most first.
    pub reasons: Box<[ReasonCount]>,
    /// The number of nodes that have other reasons, or are left to kube-scheduler's own filters.
    pub others: u32,
}

/// One reason, and the number of nodes that are rejected for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonCount {
    /// Who rejects them.
    pub by: ReasonBy,
    /// One line; a long one is cut.
    pub text: Box<str>,
    /// Their number.
    pub nodes: u32,
}

/// Who rejects a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReasonBy {
    /// A policy.
    Policy {
        /// Its name with its group.
        id: Arc<str>,
        /// Its version that was asked.
        version: u64,
    },
    /// One of kube-scheduler's own filters.
    KubeScheduler,
    /// plimsoll itself.
    Plimsoll,
}

/// What the log has of a pod and a group.
#[derive(Debug)]
pub(super) struct Told {
    since: Instant,
    /// The lines since then.
    lines: u8,
    /// A hash of the reasons.
    reasons: u64,
    /// A hash of the reasons with their numbers; 0 where these differ from sample to sample.
    counts: u64,
}

// === impl RejectedNodes ===

impl RejectedNodes {
    /// The counts of an outcome that leaves no node. `whole`: the number of all nodes, if it is about all of them.
    pub(crate) fn of(outcome: &FilterOutcome, whole: Option<usize>) -> Self {
        let mut counts = vec![0; outcome.reasons.len()];
        let named = outcome.rejected.iter().chain(&outcome.others);
        named.for_each(|rejection| counts[rejection.reason as usize] += 1);
        let mut by_count: Vec<_> = counts.into_iter().zip(&outcome.reasons).filter(|(nodes, _)| *nodes > 0).collect();
        by_count.sort_by(|(a, one), (b, other)| (b, &one.text).cmp(&(a, &other.text)));
        by_count.truncate(MAX_REASONS);
        let count = |(nodes, reason): (u32, &Reason)| {
            let text = excerpt(&reason.text, MAX_TEXT).into();
            ReasonCount { by: ReasonBy::of(&reason.by), text, nodes }
        };
        let reasons: Box<[ReasonCount]> = by_count.into_iter().map(count).collect();
        let nodes = (outcome.rejected.len() + outcome.others.len()).max(whole.unwrap_or_default()) as u32;
        let others = nodes - reasons.iter().map(|reason| reason.nodes).sum::<u32>();
        Self { nodes, is_whole: whole.is_some(), reasons, others }
    }
}

impl fmt::Display for RejectedNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, reason) in self.reasons.iter().enumerate() {
            write!(f, "{}{} {reason}", if at > 0 { ", " } else { "" }, reason.nodes)?;
        }
        if self.others > 0 { write!(f, ", {} others", self.others) } else { Ok(()) }
    }
}

// === impl ReasonCount ===

impl fmt::Display for ReasonCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            ReasonBy::Policy { id, .. } => write!(f, "{id}: {}", self.text),
            ReasonBy::KubeScheduler => f.write_str(&self.text),
            ReasonBy::Plimsoll => write!(f, "plimsoll: {}", self.text),
        }
    }
}

// === impl ReasonBy ===

impl ReasonBy {
    /// The policy with its group, `kube-scheduler` or `plimsoll`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Policy { id, .. } => id,
            Self::KubeScheduler => "kube-scheduler",
            Self::Plimsoll => "plimsoll",
        }
    }

    fn of(by: &RejectedBy) -> Self {
        match by {
            RejectedBy::Policy(member) => Self::Policy { id: Arc::clone(&member.id), version: member.version },
            RejectedBy::KubeScheduler => Self::KubeScheduler,
            RejectedBy::Policies | RejectedBy::Plimsoll => Self::Plimsoll,
        }
    }
}

// === impl Told ===

impl Told {
    /// Whether the log is to have an answer: the first, one with other reasons, and after a while one with other numbers.
    pub(super) fn tells(told: &mut Option<Self>, rejected: &RejectedNodes, now: Instant) -> bool {
        // Sums, since the order of the reasons follows from their numbers. Another version with the same reasons is no news.
        let (mut reasons, mut counts) = (0u64, 0u64);
        for reason in &rejected.reasons {
            let text = reason.to_string();
            reasons = reasons.wrapping_add(HASHER.hash_one(&text));
            counts = counts.wrapping_add(HASHER.hash_one((text, reason.nodes)));
        }
        let counts = if rejected.is_whole { counts } else { 0 };
        let (since, lines) = match told {
            Some(told) if now.saturating_duration_since(told.since) < PERIOD => {
                if told.reasons == reasons || told.lines == MAX_LINES {
                    return false;
                }
                (told.since, told.lines + 1)
            }
            Some(told) if (told.reasons, told.counts) == (reasons, counts) => return false,
            _ => (now, 1),
        };
        *told = Some(Self { since, lines, reasons, counts });
        true
    }
}
