//! The messages of policies' faults in replies, stable from attempt to attempt.
//!
//! kube-scheduler tries a pod again at once if the message of its condition changes, and a message may name the node
//! that was asked first, or a time.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::excerpt;

/// The time for which the first message stays.
const STABLE: Duration = Duration::from_mins(1);

/// Maximum bytes of a fault's message in a reply: enough for its place and the node, which end it.
const MAX_BYTES: usize = 300;

/// Maximum messages that are kept; the faults of further pods have none.
const MAX_KEPT: usize = 1000;

/// The first message of each pod's fault by a policy, verb and kind.
#[derive(Debug, Default)]
pub(crate) struct FaultTexts(Mutex<HashMap<(String, String), (Instant, String)>>);

impl FaultTexts {
    /// `fault: message`, as it was first told about this pod. `fault` names the policy, verb and kind.
    pub(crate) fn text(&self, pod: &str, fault: String, message: &str, now: Instant) -> String {
        let mut first = self.0.lock();
        first.retain(|_, (at, _)| now.saturating_duration_since(*at) < STABLE);
        let key = (pod.to_owned(), fault);
        if first.len() >= MAX_KEPT && !first.contains_key(&key) {
            return key.1;
        }
        let new = format!("{}: {}", key.1, excerpt(message, MAX_BYTES));
        first.entry(key).or_insert((now, new)).1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_for_a_minute_for_each_pod_policy_verb_and_kind() {
        let (texts, now) = (FaultTexts::default(), Instant::now());
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
        let (texts, now) = (FaultTexts::default(), Instant::now());
        let text = |pod: usize| texts.text(&pod.to_string(), "f".to_owned(), &"é".repeat(400), now);
        assert!((0..MAX_KEPT).all(|pod| (300..310).contains(&text(pod).len())));
        assert_eq!((text(MAX_KEPT).as_str(), text(0).len() > 300), ("f", true));
    }
}
