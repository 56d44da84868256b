//! The nodes of a cluster by slot, of which one snapshot shares most with the next.

use std::{ops::Index, sync::Arc};

use crate::model::{Node, Placed};

/// Slots of a chunk: a change copies one chunk, and a snapshot copies one reference for each chunk.
const CHUNK: usize = 64;

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
    /// All but the last are full; none is empty.
    chunks: Vec<Arc<Vec<Slot>>>,
    len: usize,
}

// === impl Slots ===

impl Slots {
    /// The number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One slot.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&Slot> {
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    /// Every slot in order.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// A list of them that is not shared.
    pub fn to_vec(&self) -> Vec<Slot> {
        self.iter().cloned().collect()
    }

    /// Adds one at the end.
    pub fn push(&mut self, slot: Slot) {
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).push(slot),
            None => self.chunks.push(Arc::new(vec![slot])),
        }
        self.len += 1;
    }

    /// Puts another in the place of one, which is returned; none if there is no such place.
    pub fn replace(&mut self, at: usize, slot: Slot) -> Option<Slot> {
        let one = Arc::make_mut(self.chunks.get_mut(at / CHUNK)?).get_mut(at % CHUNK)?;
        Some(std::mem::replace(one, slot))
    }

    /// Takes one away, into whose place the last one moves; none if there is no such place.
    pub fn swap_remove(&mut self, at: usize) -> Option<Slot> {
        if at >= self.len {
            return None;
        }
        let moved = self.pop()?;
        if at == self.len { Some(moved) } else { self.replace(at, moved) }
    }

    fn pop(&mut self) -> Option<Slot> {
        let slot = Arc::make_mut(self.chunks.last_mut()?).pop()?;
        self.chunks.pop_if(|chunk| chunk.is_empty());
        self.len -= 1;
        Some(slot)
    }

    /// The places at which these are other records than others; those that only one of both has are among them.
    pub(crate) fn differing<'s>(&'s self, others: &'s Self) -> impl Iterator<Item = usize> + use<'s> {
        let chunks = 0..self.chunks.len().max(others.chunks.len());
        let is_same = |(one, other): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(one, other);
        let differs = move |at: &usize| !self.chunks.get(*at).zip(others.chunks.get(*at)).is_some_and(is_same);
        let slots = chunks.filter(differs).flat_map(|at| at * CHUNK..(at + 1) * CHUNK);
        slots.filter(|at| match (self.get(*at), others.get(*at)) {
            (Some(one), Some(other)) => !one.is_same(other),
            (one, other) => one.is_some() != other.is_some(),
        })
    }
}

impl FromIterator<Slot> for Slots {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Self {
        let mut all = Self::default();
        slots.into_iter().for_each(|slot| all.push(slot));
        all
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
        &self.chunks[at / CHUNK][at % CHUNK]
    }
}

// === impl Slot ===

impl Slot {
    /// Whether both have the same record of the pods.
    pub(crate) fn has_same_pods(&self, other: &Self) -> bool {
        match (&self.placed, &other.placed) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// Whether both have the same records.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node) && self.has_same_pods(other)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn slot(name: usize) -> Slot {
        let json = Bytes::from(format!(r#"{{"metadata":{{"name":"n{name}"}}}}"#));
        Slot { node: Arc::new(Node::from_json(json).unwrap()), placed: Some(Arc::default()) }
    }

    fn names<'s>(slots: impl IntoIterator<Item = &'s Slot>) -> Vec<String> {
        slots.into_iter().map(|slot| slot.node.name().to_string()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn they_are_a_list_and_a_copy_does_not_change(
            first in prop_oneof![0..100usize, 500..600usize, 1_000..1_100usize],
            steps in vec((0..4u8, 0..1_100usize, 0..1_000usize), 0..40),
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
                prop_assert_eq!(names(copy.iter()), before);
                let differing: Vec<usize> = slots.differing(&copy).collect();
                let same = |at: &usize| match (slots.get(*at), copy.get(*at)) {
                    (Some(one), Some(other)) => Arc::ptr_eq(&one.node, &other.node),
                    _ => false,
                };
                prop_assert!((0..slots.len().max(copy.len())).all(|at| same(&at) != differing.contains(&at)));
            }
        }
    }
}
