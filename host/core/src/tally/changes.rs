//! The difference between two snapshots.

use std::sync::Arc;

use crate::{Node, Placed, Pod, Slot, Slots, Unlisted};

/// The nodes and pods of one snapshot. A copy costs little.
#[derive(Debug, Clone)]
pub(crate) struct Population {
    slots: Slots,
    unlisted: Unlisted,
}

/// The pods and nodes that came (1) or went (-1).
#[derive(Debug, Default)]
pub(super) struct Changes<'c> {
    pub(super) pods: Vec<(&'c Pod, Option<&'c Node>, i128)>,
    pub(super) nodes: Vec<(&'c Node, i128)>,
}

// === impl Population ===

impl Population {
    pub(crate) fn new(slots: Slots, unlisted: Unlisted) -> Self {
        Self { slots, unlisted }
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Every pod, with its node where that is known.
    pub(super) fn pods(&self) -> impl Iterator<Item = (&Pod, Option<&Node>)> {
        let listed =
            self.slots.iter().flat_map(|slot| pods(slot).iter().map(|pod| (pod.as_ref(), Some(slot.node.as_ref()))));
        let unlisted = self.unlisted.values().flat_map(|placed| placed.pods());
        listed.chain(unlisted.map(|pod| (pod.as_ref(), None)))
    }
}

// === impl Changes ===

impl<'c> Changes<'c> {
    /// The difference: taken from `before` and added to it, it makes `after`.
    ///
    /// It is right for any two, and quick if they share most of their records.
    pub(super) fn between(before: &'c Population, after: &'c Population) -> Self {
        let mut changes = Self::default();
        for at in after.slots.differing(&before.slots) {
            changes.add_slot(before.slots.get(at), after.slots.get(at));
        }
        if !Arc::ptr_eq(&before.unlisted, &after.unlisted) {
            let placed =
                |unlisted: &'c Unlisted, name: &str| unlisted.get(name).map_or(&[][..], |placed| placed.pods());
            for (name, old) in before.unlisted.iter() {
                changes.add_pods((old.pods(), None), (placed(&after.unlisted, name), None));
            }
            for (_, new) in after.unlisted.iter().filter(|(name, _)| !before.unlisted.contains_key(*name)) {
                changes.add_pods((&[], None), (new.pods(), None));
            }
        }
        changes
    }

    fn add_slot(&mut self, before: Option<&'c Slot>, after: Option<&'c Slot>) {
        let node = |slot: Option<&'c Slot>| slot.map(|slot| slot.node.as_ref());
        let (old, new) = (node(before), node(after));
        let are_alike = match (old, new) {
            (Some(old), Some(new)) => std::ptr::eq(old, new) || old.labels() == new.labels(),
            _ => false,
        };
        if !are_alike {
            self.nodes.extend(old.map(|node| (node, -1)));
            self.nodes.extend(new.map(|node| (node, 1)));
            self.pods.extend(before.into_iter().flat_map(pods).map(|pod| (pod.as_ref(), old, -1)));
            self.pods.extend(after.into_iter().flat_map(pods).map(|pod| (pod.as_ref(), new, 1)));
            return;
        }
        self.add_pods((before.map_or(&[], pods), old), (after.map_or(&[], pods), new));
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

fn pods(slot: &Slot) -> &[Arc<Pod>] {
    slot.placed.as_deref().map_or(&[], Placed::pods)
}
