//! The reasons in the replies about a pod that is left without a node, stable from attempt to attempt.
//!
//! kube-scheduler tries a pod again at once if the message of its condition changes. The reason of a policy may hold a
//! time or the version of the pod, a node may be rejected by another policy each time, and the message of a fault may
//! name the node that was asked first.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use crate::{
    decide::{FilterOutcome, Group, RejectedBy},
    model::excerpt,
};

/// The time for which the reasons of the first reply are repeated.
const STABLE: Duration = Duration::from_mins(1);

/// Maximum bytes of a fault's message in a reply: enough for its place and the node, which end it.
const MAX_MESSAGE: usize = 300;

/// Maximum bytes of one text for all nodes: an event holds 1,024.
const MAX_UNITED: usize = 900;

/// The same for all pods of this process.
pub(super) static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// What replies have said about one pod.
#[derive(Debug, Default)]
pub(super) struct Messages {
    first: Vec<FirstReply>,
    fault: Option<FirstFault>,
}

/// The first reply of a group within a minute.
#[derive(Debug)]
struct FirstReply {
    group: Arc<str>,
    /// Whether it is about the nominated node alone: kube-scheduler asks so before it asks about others.
    is_nominated_alone: bool,
    at: Instant,
    said: Said,
    /// Whether a later reply about the same nodes had other reasons.
    is_unstable: bool,
}

#[derive(Debug)]
struct FirstFault {
    at: Instant,
    /// The policy, with its group.
    policy: Box<str>,
    fault: String,
    text: String,
    last: Instant,
}

/// The reasons of one reply, as far as policies give them.
#[derive(Debug)]
pub(crate) struct Said {
    /// A hash of the policies' versions and of the nodes that they reject together.
    nodes: u64,
    /// A hash of the nodes with the reason of each.
    reasons: u64,
    /// All reasons as one text.
    united: Box<str>,
}

/// How a reply is to be put.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// The one reason of all nodes that policies reject, in place of their own; none: it would not be stable otherwise.
    pub(crate) united: Option<Box<str>>,
    /// Whether it is the first reply with the same nodes and other reasons.
    pub(crate) is_newly_unstable: bool,
}

// === impl Messages ===

impl Messages {
    /// The form of a reply of a group, so that its message stays what it was while the policies reject the same nodes;
    /// `is_united`: it has one text in any case.
    pub(super) fn form(
        &mut self,
        (group, is_nominated_alone): (&Arc<str>, bool),
        said: Said,
        is_united: bool,
        now: Instant,
    ) -> Form {
        let is_alike =
            |first: &&mut FirstReply| (&first.group, first.is_nominated_alone) == (group, is_nominated_alone);
        let Some(first) = self.first.iter_mut().find(is_alike) else {
            let (group, united) = (Arc::clone(group), is_united.then(|| said.united.clone()));
            self.first.push(FirstReply { group, is_nominated_alone, at: now, said, is_unstable: false });
            return Form { united, is_newly_unstable: false };
        };
        let is_fresh = now.saturating_duration_since(first.at) < STABLE;
        let has_same_nodes = first.said.nodes == said.nodes;
        let is_newly_unstable = is_fresh && has_same_nodes && !first.is_unstable && first.said.reasons != said.reasons;
        first.is_unstable = has_same_nodes && (first.is_unstable || is_newly_unstable);
        if !is_fresh || !has_same_nodes {
            (first.at, first.said) = (now, said);
        }
        let united = (is_united || first.is_unstable).then(|| first.said.united.clone());
        Form { united, is_newly_unstable }
    }

    /// `fault: message`, as it was first told. `fault` names the policy, verb and kind.
    pub(super) fn fault_text(&mut self, policy: &str, fault: String, message: &str, now: Instant) -> String {
        let is_first =
            |first: &&mut FirstFault| first.fault == fault && now.saturating_duration_since(first.at) < STABLE;
        if let Some(first) = self.fault.as_mut().filter(is_first) {
            first.last = now;
            return first.text.clone();
        }
        let text = format!("{fault}: {}", excerpt(message, MAX_MESSAGE));
        self.fault = Some(FirstFault { at: now, policy: policy.into(), fault, text: text.clone(), last: now });
        text
    }

    /// The policy of the last fault, its text, and when it occurred.
    pub(super) fn last_fault(&self) -> Option<(&str, &str, Instant)> {
        self.fault.as_ref().map(|fault| (&*fault.policy, fault.text.as_str(), fault.last))
    }
}

// === impl Said ===

impl Said {
    /// The reasons of an outcome; `slot` is the slot of a node of the request. `is_sample`: there are others of which it is
    /// not known whether policies reject them.
    pub(crate) fn of(group: &Group, outcome: &FilterOutcome, is_sample: bool, slot: impl Fn(u32) -> u32) -> Self {
        let is_of_policy = |by: &RejectedBy| matches!(by, RejectedBy::Policy(_));
        let texts: Vec<(String, bool)> =
            outcome.reasons.iter().map(|reason| (reason.to_string(), is_of_policy(&reason.by))).collect();
        let hashes: Vec<u64> = texts.iter().map(|(text, _)| HASHER.hash_one(text)).collect();
        let versions: Vec<_> =
            group.members().iter().map(|one| (&one.id, one.version, one.config.mode as u8)).collect();
        let (mut nodes, mut reasons) = (HASHER.hash_one(versions), 0u64);
        let rejected = outcome.rejected.iter().map(|rejection| (slot(rejection.node), rejection.reason));
        let others = outcome.others.iter().map(|rejection| (rejection.node, rejection.reason));
        let of_policies = rejected.chain(others).filter(|(_, reason)| !is_sample && texts[*reason as usize].1);
        for (slot, reason) in of_policies {
            // Sums, since the order of the nodes differs from request to request.
            let node = mix(u64::from(slot) + 1);
            nodes = nodes.wrapping_add(node);
            reasons = reasons.wrapping_add(mix(node ^ hashes[reason as usize]));
        }
        let mut named: Vec<&str> =
            texts.iter().filter(|(_, is_of_policy)| *is_of_policy).map(|(text, _)| text.as_str()).collect();
        named.sort_unstable();
        Self { nodes, reasons, united: excerpt(&named.join("; "), MAX_UNITED).into() }
    }
}

/// The finaliser of splitmix64.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
