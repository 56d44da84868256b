//! A policy with a bug: it crashes for pods of the app `train`.

use plimsoll_policy::prelude::*;

/// Prefers every node alike, until it crashes.
#[derive(Deserialize)]
pub struct Fragile;

impl Score for Fragile {
    fn score(&self, pod: &Pod, _node: &Node) -> u32 {
        assert_ne!(pod.label("app"), Some("train"), "I did not expect this app");
        50
    }
}

export!(Fragile: score);
