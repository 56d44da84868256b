//! Kinds of nodes by several policies at once: one look for each node, however many policies are asked.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::{
    answers::Remember,
    by_kind::ByKind,
    kinds::{KindColumn, Kinds},
    numbers::Numbers,
};

/// With fewer nodes of a kind than this, to ask one policy after another takes no longer; unless there are few nodes.
const NODES_PER_KIND: usize = 4;
const SPARE_KINDS: usize = 64;

/// Policies whose kinds are too many together are put together again after so many requests.
const LOOK_AGAIN_AFTER: u32 = 4_096;

/// So many lists of policies are kept: which ones are asked depends on the pod.
const RECENT: usize = 16;

/// Columns are compared by so many slots at once.
const STRIDE: usize = 64;

/// The kind of each node by the kinds of several policies, for one picture of the cluster.
#[derive(Debug)]
pub(crate) struct Joint {
    columns: Box<[Arc<KindColumn>]>,
    by_slot: Box<[u32]>,
    /// The kinds by each of the columns.
    numbers: Numbers<u32>,
}

/// The joint kinds of the lists of policies that were asked last.
#[derive(Debug, Default)]
pub(crate) struct Joints(ArcSwap<Vec<Arc<Entry>>>);

#[derive(Debug)]
struct Entry {
    /// Whose kinds are put together.
    of: Box<[Weak<Kinds>]>,
    joint: ArcSwapOption<Joint>,
    /// Requests until it is tried again to put them together.
    rests: AtomicU32,
}

// === impl Joint ===

impl Joint {
    /// The number of the joint kind of the node at a slot.
    #[inline]
    pub(crate) fn kind(&self, slot: u32) -> usize {
        self.by_slot[slot as usize] as usize
    }

    /// Every joint kind is below.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The kind by each policy that a joint kind stands for.
    pub(crate) fn kinds(&self, kind: usize) -> &[u32] {
        self.numbers.keys(kind, self.columns.len())
    }

    /// Bytes that it holds; its columns are those of the kinds, mostly.
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.columns) + size_of_val(&*self.by_slot) + self.numbers.bytes()
    }

    /// None if they are too many.
    fn new(columns: &[Arc<KindColumn>], earlier: Option<&Self>) -> Option<Self> {
        let slots = columns.iter().map(|column| column.by_slot.len()).min()?;
        let earlier = earlier.filter(|earlier| earlier.by_slot.len() == slots);
        let (mut by_slot, mut numbers) = match earlier {
            Some(earlier) => (earlier.by_slot.clone(), earlier.numbers.clone()),
            None => (vec![0; slots].into(), Numbers::default()),
        };
        let mut kinds = vec![0; columns.len()];
        for slot in changed(columns, earlier.map(|earlier| &*earlier.columns), slots) {
            for (kind, column) in kinds.iter_mut().zip(columns) {
                *kind = column.by_slot[slot];
            }
            by_slot[slot] = numbers.number(&kinds);
            if numbers.len() > slots / NODES_PER_KIND + SPARE_KINDS {
                // Kinds that no node is of any more may be among them.
                return earlier.and_then(|_| Self::new(columns, None));
            }
        }
        Some(Self { columns: columns.into(), by_slot, numbers })
    }
}

/// The slots at which columns differ from earlier ones; all, if there are none.
fn changed(columns: &[Arc<KindColumn>], earlier: Option<&[Arc<KindColumn>]>, slots: usize) -> Vec<usize> {
    let Some(earlier) = earlier else { return (0..slots).collect() };
    let mut changed = Vec::new();
    for (new, old) in columns.iter().zip(earlier).filter(|(new, old)| !new.is_same(old)) {
        for (at, (new, old)) in new.by_slot.chunks(STRIDE).zip(old.by_slot.chunks(STRIDE)).enumerate() {
            if new != old {
                let differs = |(slot, (new, old)): (usize, (&u32, &u32))| (new != old).then_some(at * STRIDE + slot);
                changed.extend(new.iter().zip(old).enumerate().filter_map(differs));
            }
        }
    }
    changed
}

// === impl Joints ===

impl Joints {
    /// The joint kinds of some policies; none where they are too many, or the first time that these are asked.
    pub(crate) fn of<A: Remember>(&self, policies: &[ByKind<A>]) -> Option<Arc<Joint>> {
        let entries = self.0.load();
        let Some(entry) = entries.iter().find(|entry| entry.is_of(policies)) else {
            let of = policies.iter().map(|policy| Arc::downgrade(policy.kinds())).collect();
            let entry = Arc::new(Entry { of, joint: ArcSwapOption::empty(), rests: AtomicU32::new(0) });
            self.0.store(Arc::new([&entry].into_iter().chain(entries.iter().take(RECENT - 1)).cloned().collect()));
            return None;
        };
        entry.current(policies)
    }

    /// Bytes of all that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.0.load().iter().filter_map(|entry| entry.joint.load().as_ref().map(|joint| joint.bytes())).sum()
    }

    /// Lets go of all; they are put together anew where policies are asked together again.
    pub(crate) fn forget(&self) {
        self.0.store(Arc::default());
    }
}

// === impl Entry ===

impl Entry {
    fn is_of<A: Remember>(&self, policies: &[ByKind<A>]) -> bool {
        let same = |(own, policy): (&Weak<Kinds>, &ByKind<A>)| own.as_ptr() == Arc::as_ptr(policy.kinds());
        self.of.len() == policies.len() && self.of.iter().zip(policies).all(same)
    }

    fn current<A: Remember>(&self, policies: &[ByKind<A>]) -> Option<Arc<Joint>> {
        let known = self.joint.load_full();
        let is_current = |joint: &Arc<Joint>| {
            joint.columns.iter().zip(policies).all(|(column, policy)| column.is_same(policy.column()))
        };
        if known.as_ref().is_some_and(is_current) {
            return known;
        }
        let rests = |rests: u32| rests.checked_sub(1);
        if self.rests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rests).is_ok() {
            return None;
        }
        let columns: Vec<Arc<KindColumn>> = policies.iter().map(|policy| Arc::clone(policy.column())).collect();
        let joint = Joint::new(&columns, known.as_deref()).map(Arc::new);
        if joint.is_none() {
            self.rests.store(LOOK_AGAIN_AFTER, Ordering::Relaxed);
        }
        self.joint.store(joint.clone());
        joint
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::trace::since::Since;

    fn columns(kinds: &[Vec<u32>]) -> Vec<Arc<KindColumn>> {
        let column = |kinds: &Vec<u32>| {
            let by_slot = kinds.clone().into();
            Arc::new(KindColumn { made: Since::first().epoch(), by_slot, kinds: 0 })
        };
        kinds.iter().map(column).collect()
    }

    proptest! {
        #[test]
        fn a_joint_kind_stands_for_the_kinds_of_its_node_however_the_columns_change(
            pictures in vec(vec(vec(0..3u32, 150), 3), 1..6),
            kept in 0..3usize,
        ) {
            let (mut joint, first) = (None, columns(&pictures[0]));
            for picture in &pictures {
                let mut columns = columns(picture);
                columns[kept] = Arc::clone(&first[kept]);
                let next = Joint::new(&columns, joint.as_ref()).unwrap();
                for slot in 0..150 {
                    let kinds: Vec<u32> = columns.iter().map(|column| column.by_slot[slot]).collect();
                    prop_assert_eq!(next.kinds(next.kind(slot as u32)), &kinds[..]);
                }
                joint = Some(next);
            }
        }
    }

    #[test]
    fn kinds_of_nodes_that_are_gone_do_not_make_them_too_many() {
        let one_by_one = |first: u32| columns(&[(first..first + 80).collect()]);
        let mut joint = Joint::new(&one_by_one(0), None);
        for first in 1..200 {
            joint = Joint::new(&one_by_one(first), joint.as_ref());
            assert!(joint.is_some(), "{first}");
        }
        assert!(Joint::new(&columns(&[(0..400).collect()]), None).is_none());
        assert!(Joint::new(&[], None).is_none());
    }
}
