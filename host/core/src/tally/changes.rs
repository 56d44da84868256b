//! The difference between two snapshots.

use std::sync::Arc;

use crate::{Node, Placed, Pod, Slot, Slots, Unlisted, UnlistedNode};

/// The nodes and pods of one snapshot. A copy costs little.
#[derive(Debug, Clone)]
pub(crate) struct Population {
    slots: Slots,
    unlisted: Unlisted,
}

/// The same, borrowed from a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PopulationRef<'c> {
    slots: &'c Slots,
    unlisted: &'c Unlisted,
}

/// The pods and nodes that came (1) or went (-1).
#[derive(Debug, Default)]
pub(super) struct Changes<'c> {
    pub(super) pods: Vec<(&'c Pod, Option<&'c Node>, i128)>,
    pub(super) nodes: Vec<(&'c Node, i128)>,
}

// === impl Population ===

impl Population {
    pub(super) fn borrowed(&self) -> PopulationRef<'_> {
        PopulationRef::new(&self.slots, &self.unlisted)
    }
}

// === impl PopulationRef ===

impl<'c> PopulationRef<'c> {
    pub(crate) fn new(slots: &'c Slots, unlisted: &'c Unlisted) -> Self {
        Self { slots, unlisted }
    }

    pub(crate) fn to_owned(self) -> Population {
        Population { slots: self.slots.clone(), unlisted: Arc::clone(self.unlisted) }
    }

    /// Whether another snapshot has the same pods on the same nodes, and the same labels of nodes.
    pub(crate) fn is_same(self, other: Self) -> bool {
        let Changes { pods, nodes } = Changes::between(self, other);
        pods.is_empty() && nodes.is_empty()
    }

    pub(super) fn slots(self) -> &'c Slots {
        self.slots
    }

    /// Every pod, with its node where that is known.
    pub(super) fn pods(self) -> impl Iterator<Item = (&'c Pod, Option<&'c Node>)> {
        let listed =
            self.slots.iter().flat_map(|slot| pods(slot).iter().map(|pod| (pod.as_ref(), Some(slot.node.as_ref()))));
        let unlisted = self
            .unlisted
            .values()
            .flat_map(|UnlistedNode { node, placed }| placed.pods().iter().map(|pod| (pod.as_ref(), node.as_deref())));
        listed.chain(unlisted)
    }
}

// === impl Changes ===

impl<'c> Changes<'c> {
    /// The difference: taken from `before` and added to it, it makes `after`.
    ///
    /// It is right for any two, and quick if they share most of their records.
    pub(super) fn between(before: PopulationRef<'c>, after: PopulationRef<'c>) -> Self {
        let mut changes = Self::default();
        for at in after.slots.differing(before.slots) {
            changes.add_slot(before.slots.get(at), after.slots.get(at));
        }
        if !Arc::ptr_eq(before.unlisted, after.unlisted) {
            for (name, old) in before.unlisted.iter() {
                changes.add_placed(unlisted(Some(old)), unlisted(after.unlisted.get(name)));
            }
            for (_, new) in after.unlisted.iter().filter(|(name, _)| !before.unlisted.contains_key(*name)) {
                changes.add_placed(unlisted(None), unlisted(Some(new)));
            }
        }
        changes
    }

    fn add_slot(&mut self, before: Option<&'c Slot>, after: Option<&'c Slot>) {
        let node = |slot: Option<&'c Slot>| slot.map(|slot| slot.node.as_ref());
        let (old, new) = (node(before), node(after));
        if !are_alike(old, new) {
            self.nodes.extend(old.map(|node| (node, -1)));
            self.nodes.extend(new.map(|node| (node, 1)));
        }
        self.add_placed((before.map_or(&[], pods), old), (after.map_or(&[], pods), new));
    }

    /// The pods of one node and the node, before and after.
    fn add_placed(
        &mut self,
        (before, old): (&'c [Arc<Pod>], Option<&'c Node>),
        (after, new): (&'c [Arc<Pod>], Option<&'c Node>),
    ) {
        if are_alike(old, new) {
            self.add_pods((before, old), (after, new));
        } else {
            self.pods.extend(before.iter().map(|pod| (pod.as_ref(), old, -1)));
            self.pods.extend(after.iter().map(|pod| (pod.as_ref(), new, 1)));
        }
    }

    /// The pods of one node before and after: most are the same, and in the same order.
    fn add_pods(
        &mut self,
        (mut before, old): (&'c [Arc<Pod>], Option<&'c Node>),
        (mut after, new): (&'c [Arc<Pod>], Option<&'c Node>),
    ) {
        while let ([one, before_rest @ ..], [other, after_rest @ ..]) = (before, after)
            && Arc::ptr_eq(one, other)
        {
            (before, after) = (before_rest, after_rest);
        }
        while let ([before_rest @ .., one], [after_rest @ .., other]) = (before, after)
            && Arc::ptr_eq(one, other)
        {
            (before, after) = (before_rest, after_rest);
        }
        self.pods.extend(before.iter().map(|pod| (pod.as_ref(), old, -1)));
        self.pods.extend(after.iter().map(|pod| (pod.as_ref(), new, 1)));
    }
}

/// Whether pods are counted in the same groups on both.
fn are_alike(old: Option<&Node>, new: Option<&Node>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => std::ptr::eq(old, new) || old.labels() == new.labels(),
        (None, None) => true,
        _ => false,
    }
}

fn unlisted(node: Option<&UnlistedNode>) -> (&[Arc<Pod>], Option<&Node>) {
    node.map_or((&[], None), |UnlistedNode { node, placed }| (placed.pods(), node.as_deref()))
}

fn pods(slot: &Slot) -> &[Arc<Pod>] {
    slot.placed.as_deref().map_or(&[], Placed::pods)
}
