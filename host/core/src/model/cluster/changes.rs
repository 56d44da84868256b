//! The slots that differ between a snapshot and its successor.

use std::sync::Arc;

use plimsoll_decision_cache::Parts;

use crate::model::{FACTS, Facts, NODE, PODS, Slot, Slots};

/// A snapshot's nodes and pods, and its facts.
pub(super) type Records<'c> = (&'c Slots, Option<&'c Arc<Facts>>);

/// The slots of which the node or its pods are other records than before, or about whose nodes there are other facts.
pub(super) fn changed((before, earlier): Records<'_>, (after, facts): Records<'_>) -> Vec<(u32, Parts)> {
    let mut slots = changed_slots(before, after);
    if let Some(facts) = facts {
        let earlier = earlier.cloned().unwrap_or_default();
        slots.extend(facts.changed_slots(&earlier, after).into_iter().map(|slot| (slot, FACTS)));
    }
    slots
}

fn changed_slots(before: &Slots, after: &Slots) -> Vec<(u32, Parts)> {
    let changed = |at: usize| {
        let new = after.get(at)?;
        let parts = before.get(at).map_or(NODE.union(PODS), |old| {
            let node = if is_same_node(old, new) { Parts::NONE } else { NODE };
            let pods = if is_same_pods(old, new) { Parts::NONE } else { PODS };
            node.union(pods)
        });
        (parts != Parts::NONE).then_some((at as u32, parts))
    };
    after.differing(before).filter_map(changed).collect()
}

fn is_same_node(one: &Slot, other: &Slot) -> bool {
    Arc::ptr_eq(&one.node, &other.node) || one.node.stamp() == other.node.stamp()
}

fn is_same_pods(one: &Slot, other: &Slot) -> bool {
    match (&one.placed, &other.placed) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.stamp() == other.stamp(),
        (one, other) => one.is_none() && other.is_none(),
    }
}
