//! The world of all cases.

use std::sync::LazyLock;

use plimsoll_cases::{ProposedVictims, World};
use serde::Deserialize;
use serde_json::Value;

/// The world as it is written.
pub(crate) const YAML: &str = include_str!("../world.yaml");

/// The number of letters of the annotation `large`, two bytes each: a value that fits no small buffer of a guest.
const LARGE: usize = 3000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WorldYaml {
    now: u64,
    pod: Value,
    nodes: Vec<Value>,
    pods: Vec<Value>,
    candidates: Vec<ProposedVictims>,
    namespaces: Vec<Value>,
    device_classes: Vec<Value>,
    facts: Value,
}

/// The pod, the nodes, and all else that the cases ask about.
pub fn world() -> World {
    static WORLD: LazyLock<World> = LazyLock::new(|| read(YAML));
    WORLD.clone()
}

fn read(yaml: &str) -> World {
    #[expect(clippy::expect_used, reason = "the text is part of this crate, and a test reads it")]
    let read: WorldYaml = serde_saphyr::from_str(yaml).expect("world.yaml must be a world");
    let WorldYaml { now, pod, mut nodes, pods, candidates, namespaces, device_classes, facts } = read;
    if let Some(first) = nodes.first_mut() {
        first["metadata"]["annotations"]["large"] = "é".repeat(LARGE).into();
    }
    World { pod, nodes, pods, candidates, namespaces, device_classes, facts, now, ..World::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_is_one_that_the_gateway_can_have() {
        world().view().unwrap();
        world().preempt_view().unwrap();
    }
}
