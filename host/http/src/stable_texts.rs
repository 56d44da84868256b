//! The texts of replies that leave a pod without a node, stable from attempt to attempt.
//!
//! kube-scheduler tries a pod again at once if the message of its condition changes. The message of a fault may name the
//! node that was asked first, and the reason of a policy may hold a time or the version of the pod.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, hash_map::RandomState},
    hash::BuildHasher,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::{FilterOutcome, Group, MIN_SAMPLE, Member, PodId, Rejection, excerpt};

/// The time for which the first texts stay.
const STABLE: Duration = Duration::from_mins(1);

/// Maximum bytes of a fault's message in a reply: enough for its place and the node, which end it.
const MAX_MESSAGE: usize = 300;

/// Maximum bytes of one text for all nodes: an event holds 1,024.
const MAX_UNITED: usize = 900;

/// Maximum bytes of all texts that are kept: 30,000 pods with a few reasons each, or 14,000 with long ones for all nodes.
const MAX_KEPT: usize = 16 << 20;

/// Bytes of an entry beside its texts and nodes.
const ENTRY_BYTES: usize = 200;

/// The time between two searches for old entries, where [`MAX_KEPT`] is reached.
const PURGE_INTERVAL: Duration = Duration::from_secs(1);

/// The reason of an unstable policy about a pod whose first reasons could not be kept.
const UNSTABLE: &str = "its reasons change from attempt to attempt";

/// The warning about an unstable policy.
const CHANGED: &str = "a policy's reason changed, though its verdicts about the pod did not: replies keep the first reason for a minute, since kube-scheduler tries a pod again at once when its message changes";

/// Texts, and for each node the number of its text; no numbers if there is one text.
type NumberedTexts = (Vec<Box<str>>, Vec<(u64, usize)>);

/// What was said first about each pod.
#[derive(Debug, Default)]
pub(crate) struct StableTexts {
    hasher: RandomState,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By the hash of the pod and of the speaker: a policy's version with its kind of rejection, or a fault.
    first: HashMap<u64, First>,
    bytes: usize,
    purged: Option<Instant>,
    /// The policies, with their version, whose reasons have changed while their verdicts were the same.
    unstable: HashSet<(Arc<str>, u64)>,
}

#[derive(Debug)]
struct First {
    at: Instant,
    texts: Vec<Box<str>>,
    /// The sum of the hashes of the nodes' names; of one text for all nodes, a bit for each policy in it.
    set: u64,
    /// The hash of each node's name, in order, with the number of its text; empty if there is one text.
    nodes: Vec<(u64, usize)>,
}

/// The nodes that a policy rejects in one way.
struct Part<'r> {
    policy: &'r str,
    unresolvable: bool,
    /// The hash of each node's name, and the index of its rejection.
    nodes: Vec<(u64, usize)>,
}

// === impl StableTexts ===

impl StableTexts {
    /// `fault: message`, as it was first told about this pod. `fault` names the policy, verb and kind.
    pub(crate) fn text(&self, pod: &str, fault: String, message: &str, now: Instant) -> String {
        let key = self.hasher.hash_one((pod, &fault));
        let mut kept = self.kept.lock();
        if let Some(text) = kept.first(key, now).and_then(|first| first.texts.first()) {
            return text.to_string();
        }
        let new = format!("{fault}: {}", excerpt(message, MAX_MESSAGE));
        let first = First { at: now, texts: vec![new.as_str().into()], set: 0, nodes: vec![] };
        if kept.keep(key, first, now) { new } else { fault }
    }

    /// Gives the rejected nodes the reasons of this pod's first attempt, as far as the same version of a policy rejects
    /// the same nodes. `name` returns the name of a node of the request.
    pub(crate) fn stabilise<'n>(
        &self,
        pod: PodId<'_>,
        group: &Group,
        outcome: &mut FilterOutcome,
        name: impl Fn(usize) -> Cow<'n, str>,
        now: Instant,
    ) {
        if outcome.rejected.len() >= MIN_SAMPLE {
            return self.unite(pod, group, outcome, now);
        }
        let FilterOutcome { rejected, reasons } = outcome;
        let hash = |node: u32| self.hasher.hash_one(name(node as usize));
        let mut more = Vec::new();
        for part in Part::all(rejected, reasons, hash) {
            // The host's own reasons are constants.
            let Some(member) = group.members().iter().find(|member| *member.name == *part.policy) else { continue };
            let key = self.hasher.hash_one((pod.uid(), member.id(), member.version, part.unresolvable));
            let new = First::new(&part.nodes, |at| &reasons[rejected[at].reason as usize], now);
            let Some((texts, numbers)) = self.kept.lock().instead(key, new, pod, member, now) else { continue };
            for (index, (_, at)) in part.nodes.iter().enumerate() {
                let number = numbers.get(index).map_or(0, |(_, number)| *number);
                rejected[*at].reason = (reasons.len() + more.len() + number) as u32;
            }
            more.extend(texts);
        }
        reasons.extend(more);
    }

    /// Gives all nodes one text: kube-scheduler's message counts the nodes with each text, and its sample of the nodes
    /// changes. A text stays while no policy rejects that it does not name.
    fn unite(
        &self,
        pod: PodId<'_>,
        group: &Group,
        FilterOutcome { rejected, reasons }: &mut FilterOutcome,
        now: Instant,
    ) {
        let policies = group.members().iter().map(|member| (member.id(), member.version, member.config.mode as u8));
        let key = self.hasher.hash_one((pod.uid(), policies.collect::<Vec<_>>()));
        let bit = |reason: &str| 1 << (self.hasher.hash_one(policy_of(reason)) % 64);
        let set = reasons.iter().fold(0, |set, reason| set | bit(reason));
        let kept = |kept: &Kept| {
            let first = kept.first(key, now).filter(|first| first.set | set == first.set)?;
            first.texts.first().cloned()
        };
        let first = kept(&self.kept.lock());
        let text = first.unwrap_or_else(|| {
            // Each of them has rejected a node.
            let mut all: Vec<&str> = reasons.iter().map(|reason| &**reason).collect();
            all.sort_unstable();
            let text: Box<str> = excerpt(&all.join("; "), MAX_UNITED).into();
            let first = First { at: now, texts: vec![text.clone()], set, nodes: vec![] };
            self.kept.lock().keep(key, first, now);
            text
        });
        for rejection in rejected {
            rejection.reason = reasons.len() as u32;
        }
        reasons.push(text);
    }
}

// === impl Kept ===

impl Kept {
    /// The texts that replace new ones, and the numbers of the nodes' texts.
    fn instead(
        &mut self,
        key: u64,
        new: First,
        pod: PodId<'_>,
        member: &Member,
        now: Instant,
    ) -> Option<NumberedTexts> {
        let version = (Arc::clone(&member.id), member.version);
        let Some(first) = self.first.get(&key).filter(|first| first.is_fresh(now) && first.covers(&new)) else {
            let is_bare = !self.keep(key, new, now) && self.unstable.contains(&version);
            return is_bare.then(|| (vec![format!("{}: {UNSTABLE}", member.name).into()], vec![]));
        };
        if first.texts == new.texts && first.nodes == new.nodes {
            return None;
        }
        if first.set == new.set && self.unstable.insert(version) {
            let (policy, first, now) = (member.id(), first.texts.first(), new.texts.first());
            tracing::warn!(policy, version = member.version, %pod, first, now, "{CHANGED}");
        }
        Some((first.texts.clone(), first.nodes.clone()))
    }

    /// What was said first, if it is not too long ago.
    fn first(&self, key: u64, now: Instant) -> Option<&First> {
        self.first.get(&key).filter(|first| first.is_fresh(now))
    }

    /// Keeps an entry if there is room; returns whether there was.
    fn keep(&mut self, key: u64, new: First, now: Instant) -> bool {
        let is_due = self.purged.is_none_or(|at| now.saturating_duration_since(at) >= PURGE_INTERVAL);
        if self.bytes + new.bytes() > MAX_KEPT && is_due {
            self.first.retain(|_, first| first.is_fresh(now));
            self.bytes = self.first.values().map(First::bytes).sum();
            self.purged = Some(now);
        }
        self.bytes -= self.first.remove(&key).as_ref().map_or(0, First::bytes);
        let fits = self.bytes + new.bytes() <= MAX_KEPT;
        if fits {
            self.bytes += new.bytes();
            self.first.insert(key, new);
        }
        fits
    }
}

// === impl Part ===

impl<'r> Part<'r> {
    /// The rejections of each policy, with their nodes in the order of `hash`.
    fn all(rejected: &[Rejection], reasons: &'r [Box<str>], hash: impl Fn(u32) -> u64) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for (at, Rejection { node, reason, unresolvable }) in rejected.iter().copied().enumerate() {
            let policy = policy_of(&reasons[reason as usize]);
            let same = |part: &Self| part.policy == policy && part.unresolvable == unresolvable;
            let part = parts.iter().position(same).unwrap_or_else(|| {
                parts.push(Self { policy, unresolvable, nodes: vec![] });
                parts.len() - 1
            });
            parts[part].nodes.push((hash(node), at));
        }
        for part in &mut parts {
            part.nodes.sort_unstable();
        }
        parts
    }
}

/// As core writes it: `policy: reason`.
fn policy_of(reason: &str) -> &str {
    reason.split(": ").next().unwrap_or_default()
}

// === impl First ===

impl First {
    /// The reasons of nodes, which are sorted by the hash of their name.
    fn new<'r>(nodes: &[(u64, usize)], reason: impl Fn(usize) -> &'r Box<str>, at: Instant) -> Self {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut texts = Vec::new();
        let numbered = |(name, at): &(u64, usize)| {
            let number = *numbers.entry(reason(*at)).or_insert_with(|| {
                texts.push(reason(*at).clone());
                texts.len() - 1
            });
            (*name, number)
        };
        let mut nodes: Vec<(u64, usize)> = nodes.iter().map(numbered).collect();
        let set = nodes.iter().fold(0, |sum: u64, (name, _)| sum.wrapping_add(*name));
        if texts.len() == 1 {
            nodes = vec![];
        }
        Self { at, texts, set, nodes }
    }

    /// Whether these texts are said in place of new ones. One reason for all nodes stays for others too: kube-scheduler
    /// shows another part of a large cluster in each attempt.
    fn covers(&self, new: &Self) -> bool {
        self.set == new.set || (self.texts.len() == 1 && new.texts.len() == 1)
    }

    fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < STABLE
    }

    fn bytes(&self) -> usize {
        let texts: usize = self.texts.iter().map(|text| size_of::<Box<str>>() + text.len()).sum();
        ENTRY_BYTES + texts + size_of_val(&*self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_for_a_minute_for_each_pod_policy_verb_and_kind() {
        let (texts, now) = (StableTexts::default(), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        let text = |pod: &str, fault: &str, message: &str, at| texts.text(pod, fault.to_owned(), message, at);
        assert_eq!(text("a", "f: panic", "no label\n", now), "f: panic: no label ");
        for (pod, fault, seconds, expected) in [
            ("a", "f: panic", 59, "f: panic: no label "),
            ("b", "f: panic", 59, "f: panic: on n2"),
            ("a", "f: trap", 59, "f: trap: on n2"),
            ("a", "f: panic", 60, "f: panic: on n2"),
        ] {
            assert_eq!(text(pod, fault, "on n2", later(seconds)), expected, "{pod} {fault} {seconds}");
        }
    }

    #[test]
    fn messages_are_short_and_those_that_are_kept_are_bounded() {
        let (texts, now) = (StableTexts::default(), Instant::now());
        let text = |pod: usize, now| texts.text(&pod.to_string(), "f".to_owned(), &"é".repeat(400), now);
        let full = (0..MAX_KEPT / ENTRY_BYTES).find(|pod| !(300..310).contains(&text(*pod, now).len())).unwrap();
        assert_eq!((text(full, now).as_str(), text(0, now).len() > 300), ("f", true));
        // The old ones make room.
        assert!(text(full, now + STABLE).len() > 300);
        assert!(texts.kept.lock().bytes < 2 * (ENTRY_BYTES + MAX_MESSAGE));
    }
}
