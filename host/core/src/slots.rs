//! The nodes of a cluster by slot, of which one snapshot shares most with the next.

use std::{
    ops::Index,
    sync::{Arc, OnceLock},
};

use crate::{Node, Placed};

/// So many slots are shared or copied together.
const PART: usize = 64;

/// Stands for the slot of a name that the cluster does not know.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// One node with its pods; no `placed`: the host has no view of pods.
#[derive(Debug, Clone)]
pub struct Slot {
    /// The node.
    pub node: Arc<Node>,
    /// The pods placed on it.
    pub placed: Option<Arc<Placed>>,
}

/// A list of slots. A copy costs little, and so does a change of one.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    /// All but the last are full, and none is empty.
    parts: Vec<Arc<Part>>,
}

#[derive(Debug, Default)]
struct Part {
    slots: Vec<Slot>,
    /// The number of pods placed on its nodes.
    pods: OnceLock<usize>,
}

// === impl Slots ===

impl Slots {
    /// The number of slots.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |last| (self.parts.len() - 1) * PART + last.slots.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// One slot.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&Slot> {
        self.parts.get(at / PART)?.slots.get(at % PART)
    }

    /// Every slot in order.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().flat_map(|part| &part.slots)
    }

    /// A list of them that is not shared.
    pub fn to_vec(&self) -> Vec<Slot> {
        self.iter().cloned().collect()
    }

    /// Adds one at the end.
    pub fn push(&mut self, slot: Slot) {
        match self.parts.last_mut() {
            Some(last) if last.slots.len() < PART => Part::own(last).push(slot),
            _ => self.parts.push(Arc::new(Part::of(vec![slot]))),
        }
    }

    /// Puts another in the place of one, which is returned; none if there is no such place.
    pub fn replace(&mut self, at: usize, slot: Slot) -> Option<Slot> {
        let own = Part::own(self.parts.get_mut(at / PART)?).get_mut(at % PART)?;
        Some(std::mem::replace(own, slot))
    }

    /// Takes one away, into whose place the last one moves; none if there is no such place.
    pub fn swap_remove(&mut self, at: usize) -> Option<Slot> {
        if at >= self.len() {
            return None;
        }
        let last = self.parts.last_mut()?;
        let moved = Part::own(last).pop()?;
        if last.slots.is_empty() {
            self.parts.pop();
        }
        if at == self.len() { Some(moved) } else { self.replace(at, moved) }
    }

    /// The places at which these may differ from others; those that only one of both has are among them.
    pub(crate) fn differing(&self, others: &Self) -> impl Iterator<Item = usize> {
        let is_shared =
            |(at, part): &(usize, &Arc<Part>)| others.parts.get(*at).is_some_and(|other| Arc::ptr_eq(part, other));
        let parts = self.parts.iter().enumerate().filter(move |part| !is_shared(part));
        let own = parts.flat_map(|(at, part)| at * PART..at * PART + part.slots.len());
        own.chain(self.len()..others.len())
    }

    /// The number of pods placed on all nodes together.
    pub(crate) fn pod_count(&self) -> usize {
        self.parts.iter().map(|part| part.pod_count()).sum()
    }
}

impl FromIterator<Slot> for Slots {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Self {
        let (mut slots, mut parts) = (slots.into_iter(), Vec::new());
        loop {
            let part: Vec<Slot> = slots.by_ref().take(PART).collect();
            if part.is_empty() {
                return Self { parts };
            }
            parts.push(Arc::new(Part::of(part)));
        }
    }
}

impl From<Vec<Slot>> for Slots {
    fn from(slots: Vec<Slot>) -> Self {
        slots.into_iter().collect()
    }
}

impl Index<usize> for Slots {
    type Output = Slot;

    fn index(&self, at: usize) -> &Slot {
        &self.parts[at / PART].slots[at % PART]
    }
}

// === impl Part ===

impl Part {
    fn of(slots: Vec<Slot>) -> Self {
        Self { slots, pods: OnceLock::new() }
    }

    /// Its slots, to be changed: others that share it keep theirs.
    fn own(part: &mut Arc<Self>) -> &mut Vec<Slot> {
        if Arc::get_mut(part).is_none() {
            *part = Arc::new(Self::of(part.slots.clone()));
        }
        // It is shared with nobody: that was made sure of just now.
        let own = Arc::get_mut(part).unwrap_or_else(|| unreachable!("a part that is not shared"));
        own.pods = OnceLock::new();
        &mut own.slots
    }

    fn pod_count(&self) -> usize {
        let placed = |slot: &Slot| slot.placed.as_ref().map_or(0, |placed| placed.pods().len());
        *self.pods.get_or_init(|| self.slots.iter().map(placed).sum())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn slot(name: usize) -> Slot {
        let json = Bytes::from(format!(r#"{{"metadata":{{"name":"n{name}"}}}}"#));
        let pods = (0..name % 3).map(|_| Arc::default()).collect();
        Slot { node: Arc::new(Node::from_json(json).unwrap()), placed: Some(Arc::new(Placed::new(pods))) }
    }

    fn names<'s>(slots: impl IntoIterator<Item = &'s Slot>) -> Vec<String> {
        slots.into_iter().map(|slot| slot.node.name().to_string()).collect()
    }

    fn pods<'s>(slots: impl IntoIterator<Item = &'s Slot>) -> usize {
        slots.into_iter().map(|slot| slot.placed.as_ref().unwrap().pods().len()).sum()
    }

    proptest! {
        #[test]
        fn they_are_a_list_and_a_copy_does_not_change(
            first in 0..200usize,
            steps in vec((0..4u8, 0..200usize, 0..1_000usize), 0..80),
        ) {
            let mut list: Vec<Slot> = (0..first).map(slot).collect();
            let mut slots = Slots::from(list.clone());
            for (step, at, name) in steps {
                let (copy, before) = (slots.clone(), names(&list));
                match step {
                    0 => (list.push(slot(name)), slots.push(list.last().unwrap().clone())).1,
                    1 if at < list.len() => {
                        prop_assert_eq!(names(slots.swap_remove(at).as_ref()), names([&list.swap_remove(at)]));
                    }
                    2 if at < list.len() => {
                        list[at] = slot(name);
                        prop_assert!(slots.replace(at, list[at].clone()).is_some());
                    }
                    _ => {}
                }
                prop_assert!(slots.swap_remove(list.len()).is_none() && slots.replace(list.len(), slot(0)).is_none());
                prop_assert_eq!(names(slots.iter()), names(&list));
                prop_assert_eq!((slots.len(), slots.is_empty()), (list.len(), list.is_empty()));
                prop_assert!((0..=list.len()).all(|at| slots.get(at).map(|own| own.node.name()) == list.get(at).map(|own| own.node.name())));
                prop_assert_eq!((slots.pod_count(), names(copy.iter())), (pods(&list), before));
                let differing: Vec<usize> = slots.differing(&copy).collect();
                let same = |at: &usize| match (slots.get(*at), copy.get(*at)) {
                    (Some(one), Some(other)) => Arc::ptr_eq(&one.node, &other.node),
                    _ => false,
                };
                prop_assert!((0..slots.len().max(copy.len())).all(|at| same(&at) || differing.contains(&at)));
            }
        }
    }
}
