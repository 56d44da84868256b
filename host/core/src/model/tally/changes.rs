//! The difference between two snapshots.

use std::sync::Arc;

use crate::model::{Node, Placed, Pod, Slots, Unlisted, UnlistedNode};

/// The nodes and pods of a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Population<'c> {
    pub(crate) slots: &'c Slots,
    pub(crate) unlisted: &'c Unlisted,
}

/// The pods and nodes that came (1) or went (-1).
#[derive(Debug, Default)]
pub(crate) struct Changes<'c> {
    pub(super) pods: Vec<(&'c Pod, Option<&'c Node>, i128)>,
    pub(super) nodes: Vec<(&'c Node, i128)>,
}

/// The pods of one node, and the node where it is known.
type OnNode<'c> = (&'c [Arc<Pod>], Option<&'c Node>);

// === impl Changes ===

impl<'c> Changes<'c> {
    /// The difference: taken from `before` and added to it, it makes `after`.
    ///
    /// It is right for any two snapshots, and quick if they share most of their records.
    pub(crate) fn between(before: Population<'c>, after: Population<'c>) -> Self {
        let mut changes = Self::default();
        for at in after.slots.differing(before.slots) {
            let [old, new] = [before, after].map(|population| on_slot(population.slots, at));
            if !are_alike(old.1, new.1) {
                changes.nodes.extend(old.1.map(|node| (node, -1)));
                changes.nodes.extend(new.1.map(|node| (node, 1)));
            }
            changes.add_pods(old, new);
        }
        let (old, new) = (before.unlisted, after.unlisted);
        if !Arc::ptr_eq(old, new) {
            let came = new.keys().filter(|name| !old.contains_key(*name));
            for name in old.keys().chain(came) {
                changes.add_pods(on_unlisted(old.get(name)), on_unlisted(new.get(name)));
            }
        }
        changes
    }

    /// The pods of one node before and after: most are the same.
    fn add_pods(&mut self, (before, old): OnNode<'c>, (after, new): OnNode<'c>) {
        let same_node = are_alike(old, new);
        let stays =
            |pod: &Arc<Pod>, others: &[Arc<Pod>]| same_node && others.iter().any(|other| Arc::ptr_eq(other, pod));
        let gone = before.iter().filter(|pod| !stays(pod, after)).map(|pod| (pod.as_ref(), old, -1));
        let came = after.iter().filter(|pod| !stays(pod, before)).map(|pod| (pod.as_ref(), new, 1));
        self.pods.extend(gone.chain(came));
    }
}

/// Every pod of a snapshot, with its node where that is known.
pub(super) fn all_pods(all: Population<'_>) -> impl Iterator<Item = (&Pod, Option<&Node>)> {
    let listed = (0..all.slots.len()).map(move |at| on_slot(all.slots, at));
    let unlisted = all.unlisted.values().map(|node| on_unlisted(Some(node)));
    listed.chain(unlisted).flat_map(|(pods, node)| pods.iter().map(move |pod| (pod.as_ref(), node)))
}

/// Whether pods are counted in the same groups on both nodes.
fn are_alike(old: Option<&Node>, new: Option<&Node>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => std::ptr::eq(old, new) || old.labels() == new.labels(),
        (None, None) => true,
        _ => false,
    }
}

fn on_slot(slots: &Slots, at: usize) -> OnNode<'_> {
    let slot = slots.get(at);
    slot.map_or((&[], None), |slot| (slot.placed.as_deref().map_or(&[], Placed::pods), Some(&slot.node)))
}

fn on_unlisted(node: Option<&UnlistedNode>) -> OnNode<'_> {
    node.map_or((&[], None), |UnlistedNode { node, placed }| (placed.pods(), node.as_deref()))
}
