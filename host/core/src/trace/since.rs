//! Pictures of a cluster that follow one another, and since when each slot has the records that it has.

use std::sync::Arc;

use super::tick;
use crate::{Slot, Slots};

/// One picture among those that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// The first of them.
    lineage: u64,
    /// It grows from each to the next.
    number: u64,
}

/// Which records of a slot a value depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Basis {
    pub(super) node: bool,
    pub(super) pods: bool,
}

/// By slot the picture that brought the record of the node, and that of its pods.
#[derive(Debug)]
pub(super) struct Since {
    epoch: Epoch,
    /// Empty in the first picture: all came with it.
    node: Arc<[u64]>,
    pods: Arc<[u64]>,
    log: Log,
}

/// What the last pictures have changed, oldest first: most columns are of the picture before, or a few before it.
#[derive(Debug, Clone, Default)]
struct Log {
    changes: Vec<Change>,
    /// What came after this picture is all there.
    after: u64,
}

#[derive(Debug, Clone, Copy)]
struct Change {
    number: u64,
    slot: u32,
    pods: bool,
}

/// So many changes are listed; a picture that changes more makes columns go over every slot.
const MAX_LOGGED: usize = 512;

// === impl Basis ===

impl Basis {
    pub(super) const NOTHING: Self = Self { node: false, pods: false };

    /// What depends on either.
    pub(super) const fn and(self, other: Self) -> Self {
        Self { node: self.node || other.node, pods: self.pods || other.pods }
    }
}

// === impl Since ===

impl Since {
    /// A picture that follows no other.
    pub(super) fn first() -> Self {
        let number = tick();
        Self {
            epoch: Epoch { lineage: number, number },
            node: Arc::default(),
            pods: Arc::default(),
            log: Log { changes: Vec::new(), after: number },
        }
    }

    /// The picture after this one, whose slots were those before.
    pub(super) fn next(&self, before: &Slots, after: &Slots) -> Self {
        let number = tick();
        let changed = |is_same: fn(&Slot, &Slot) -> bool| -> Vec<usize> {
            let stays = |at: usize| before.get(at).zip(after.get(at)).is_some_and(|(one, other)| is_same(one, other));
            after.differing(before).filter(|at| *at < after.len() && !stays(*at)).collect()
        };
        let since = |pods: bool, changed: &[usize]| -> Arc<[u64]> {
            let own = if pods { &self.pods } else { &self.node };
            if changed.is_empty() && !own.is_empty() && own.len() == after.len() {
                return Arc::clone(own);
            }
            let mut since: Vec<u64> = (0..after.len()).map(|at| self.since(pods, at)).collect();
            for at in changed {
                since[*at] = number;
            }
            since.into()
        };
        let (node, pods) = (changed(same_node), changed(same_pods));
        let log = self.log.with(number, &node, &pods);
        let (node, pods) = (since(false, &node), since(true, &pods));
        Self { epoch: Epoch { number, ..self.epoch }, node, pods, log }
    }

    /// The slots, of so many, for which what was worked out in another picture does not hold; some may come twice.
    ///
    /// What is of a later picture holds for none: a request goes on with the picture that it has begun with.
    pub(super) fn changed(&self, made: Epoch, basis: Basis, slots: usize) -> Vec<usize> {
        if made.lineage != self.epoch.lineage || made.number > self.epoch.number {
            return (0..slots).collect();
        }
        if made.number >= self.log.after {
            let counts =
                |change: &&Change| change.number > made.number && if change.pods { basis.pods } else { basis.node };
            let changed = self.log.changes.iter().filter(counts).map(|change| change.slot as usize);
            return changed.filter(|slot| *slot < slots).collect();
        }
        let older = |pods, slot| self.since(pods, slot) <= made.number;
        let holds = |slot| (!basis.node || older(false, slot)) && (!basis.pods || older(true, slot));
        (0..slots).filter(|slot| !holds(*slot)).collect()
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn since(&self, pods: bool, slot: usize) -> u64 {
        let slots = if pods { &self.pods } else { &self.node };
        slots.get(slot).copied().unwrap_or(self.epoch.number)
    }
}

// === impl Log ===

impl Log {
    /// The same with what a picture has changed.
    fn with(&self, number: u64, node: &[usize], pods: &[usize]) -> Self {
        let of = |slots: &[usize], pods: bool| {
            let listed = slots.iter().take(MAX_LOGGED + 1);
            listed.map(|slot| Change { number, slot: *slot as u32, pods }).collect::<Vec<_>>()
        };
        let (node, pods) = (of(node, false), of(pods, true));
        let before = MAX_LOGGED.saturating_sub(node.len() + pods.len());
        if before == 0 {
            return Self { changes: Vec::new(), after: number };
        }
        let (gone, kept) = self.changes.split_at(self.changes.len().saturating_sub(before));
        // Of a picture all is listed or nothing.
        let after = gone.last().map_or(self.after, |last| last.number);
        let kept = kept.iter().copied().filter(|change| change.number > after);
        Self { changes: kept.chain(node).chain(pods).collect(), after }
    }
}

fn same_node(one: &Slot, other: &Slot) -> bool {
    Arc::ptr_eq(&one.node, &other.node) || one.node.stamp() == other.node.stamp()
}

fn same_pods(one: &Slot, other: &Slot) -> bool {
    match (&one.placed, &other.placed) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.stamp() == other.stamp(),
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{Node, Placed};

    fn slot(name: u32) -> Slot {
        let json = Bytes::from(format!(r#"{{"metadata":{{"name":"n{name}"}}}}"#));
        Slot { node: Arc::new(Node::from_json(json).unwrap()), placed: Some(Arc::new(Placed::new(vec![]))) }
    }

    /// What differs between two pictures by the records themselves.
    fn differs(one: &Slots, other: &Slots, basis: Basis) -> Vec<usize> {
        let same = |at: &usize| {
            let (Some(one), Some(other)) = (one.get(*at), other.get(*at)) else { return false };
            (!basis.node || same_node(one, other)) && (!basis.pods || same_pods(one, other))
        };
        (0..other.len()).filter(|at| !same(at)).collect()
    }

    proptest! {
        #[test]
        fn every_slot_that_differs_from_an_earlier_picture_is_told(
            changes in vec((vec((0..700usize, any::<bool>()), 0..4), any::<bool>(), 690..700usize), 1..20),
        ) {
            let mut pictures = vec![(Since::first(), (0..700).map(slot).collect::<Slots>())];
            for (slots, all, count) in changes {
                let (since, before) = pictures.last().unwrap();
                let mut after: Vec<Slot> = before.iter().take(count).cloned().collect();
                after.extend((after.len()..count).map(|at| slot(at as u32)));
                for (at, pods) in slots {
                    if let Some(one) = after.get_mut(at) {
                        let new = slot(at as u32);
                        if pods { one.placed = new.placed } else { one.node = new.node }
                    }
                }
                if all {
                    for one in &mut after {
                        one.placed = slot(0).placed;
                    }
                }
                let after = Slots::from(after);
                let next = since.next(before, &after);
                pictures.push((next, after));
            }
            let (last, now) = pictures.last().unwrap();
            for (since, before) in &pictures {
                for basis in [(true, false), (false, true), (true, true)].map(|(node, pods)| Basis { node, pods }) {
                    let told = last.changed(since.epoch(), basis, now.len());
                    // It may tell of more: a record that came back is another one.
                    prop_assert!(differs(before, now, basis).iter().all(|at| told.contains(at)));
                }
                let other_way = since.changed(last.epoch(), Basis { node: true, pods: true }, before.len());
                prop_assert!(since.epoch() == last.epoch() || other_way.len() == before.len());
            }
        }
    }
}
