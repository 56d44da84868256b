//! Totals over all pods and nodes of a cluster, kept up to date from one snapshot to the next.
//!
//! Selectors that name the same keys have one *shape*, and one table has the totals of all of them: a read about another
//! value costs one lookup. The first read of a shape walks over all pods. From then on each snapshot takes the table
//! over from the one before it, and changes the groups of the pods that came, went or changed. An old snapshot keeps its
//! table, since the groups are shared until they are changed.

mod changes;
mod label_values;
mod shape;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use hashbrown::HashMap;
use parking_lot::RwLock;
use plimsoll_decision_cache::Fingerprint;

use self::changes::all_pods;
pub use self::label_values::{LabelValues, MAX_LABEL_VALUES};
pub(crate) use self::{
    changes::{Changes, Population},
    shape::{MAX_KEY_BYTES, MAX_SHAPES, Shape},
};
use crate::model::{Selector, Slots};

/// Maximum tables. Each costs about 60 ns for each pod that comes or goes.
const MAX_TABLES: usize = 256;

/// Maximum groups of all tables together.
const MAX_GROUPS: usize = 1 << 20;

/// Approximate bytes of a group, with the free places of its map.
const GROUP_BYTES: usize = 48;

/// A change of one group copies one shard: with 150,000 groups, about 20 KiB.
const SHARDS: usize = 256;

type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The totals of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    /// By the fingerprint of the shape.
    tables: RwLock<FastMap<Fingerprint, Arc<Table>>>,
    /// By the key of the label.
    label_values: RwLock<FastMap<Box<str>, Arc<LabelValues>>>,
    /// The number of snapshots before this one: the time by which the least recently read table is found.
    age: AtomicU64,
}

/// The totals of one shape.
#[derive(Debug)]
struct Table {
    shape: Arc<Shape<Box<str>>>,
    groups: OnceLock<Groups>,
    /// The age of the last snapshot that it was read of.
    used: AtomicU64,
}

/// A total for each group of pods; 0 for a group that is not here.
#[derive(Debug, Clone)]
struct Groups {
    shards: Arc<[Arc<FastMap<Fingerprint, i128>>; SHARDS]>,
    count: usize,
}

// === impl Tallies ===

impl Tallies {
    /// The number of the pods that a selector matches, or the sum of their requests of a resource.
    pub(crate) fn total(&self, selector: &Selector<&str>, requested: Option<&str>, population: Population<'_>) -> i128 {
        let table = self.table(&Shape::of(selector, requested));
        table.used.store(self.age.load(Ordering::Relaxed), Ordering::Relaxed);
        let groups = table.groups(population);
        let not_kept = shape::group_of_not_kept(selector).map_or(0, |group| groups.get(group));
        groups.get(shape::group_of(selector)) + not_kept
    }

    /// Whether the total of this shape costs no walk over all pods.
    pub(crate) fn has(&self, shape: &Shape<&str>) -> bool {
        self.tables.read().get(&shape.fingerprint()).is_some_and(|table| table.groups.get().is_some())
    }

    /// Whether the values of this label cost no walk over all nodes.
    pub(crate) fn has_label_values(&self, key: &str) -> bool {
        self.label_values.read().contains_key(key)
    }

    /// The values of a label of nodes.
    pub(crate) fn label_values(&self, key: &str, slots: &Slots) -> Arc<LabelValues> {
        if let Some(known) = self.label_values.read().get(key) {
            return Arc::clone(known);
        }
        let mut all = self.label_values.write();
        // Policies name few labels, and each policy is bounded by `MAX_SHAPES`.
        if all.len() >= MAX_TABLES {
            all.clear();
        }
        let make = || Arc::new(LabelValues::of(slots, key));
        Arc::clone(all.entry(key.into()).or_insert_with(make))
    }

    /// Takes over the tables of the snapshot before this one.
    pub(crate) fn follow(&self, earlier: &Self, [before, after]: [Population<'_>; 2]) {
        self.age.store(earlier.age.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let (mut tables, mut label_values) = (earlier.tables.read().clone(), earlier.label_values.read().clone());
        if tables.is_empty() && label_values.is_empty() {
            return;
        }
        let changes = Changes::between(before, after);
        tables.values_mut().for_each(|table| table.follow(before, &changes));
        label_values.iter_mut().for_each(|(key, values)| LabelValues::follow(values, key, &changes));
        *self.tables.write() = tables;
        *self.label_values.write() = label_values;
    }

    /// Approximate bytes of all tables.
    pub(crate) fn bytes(&self) -> usize {
        let tables = self.tables.read();
        let labels: usize = self.label_values.read().values().map(|values| values.bytes()).sum();
        tables.values().map(|table| table.count() * GROUP_BYTES).sum::<usize>() + labels
    }

    fn table(&self, shape: &Shape<&str>) -> Arc<Table> {
        let key = shape.fingerprint();
        if let Some(table) = self.tables.read().get(&key) {
            return Arc::clone(table);
        }
        let mut tables = self.tables.write();
        if !tables.contains_key(&key) {
            // The least recently read tables go: they are made again when they are read.
            while tables.len() >= MAX_TABLES || tables.values().map(|table| table.count()).sum::<usize>() > MAX_GROUPS {
                let oldest = tables.iter().min_by_key(|(_, table)| table.used.load(Ordering::Relaxed));
                let Some(oldest) = oldest.map(|(key, _)| *key) else { break };
                tables.remove(&oldest);
            }
        }
        Arc::clone(tables.entry(key).or_insert_with(|| Arc::new(Table::new(shape.into_kept()))))
    }
}

// === impl Table ===

impl Table {
    fn new(shape: Shape<Box<str>>) -> Self {
        Self { shape: Arc::new(shape), groups: OnceLock::new(), used: AtomicU64::new(0) }
    }

    /// The totals of a snapshot's pods; several readers wait for one walk.
    fn groups(&self, population: Population<'_>) -> &Groups {
        self.groups.get_or_init(|| {
            let mut groups = Groups::default();
            let all = all_pods(population).filter_map(|(pod, node)| self.shape.of_pod(pod, node));
            all.for_each(|(group, amount)| groups.add(group, amount));
            groups
        })
    }

    /// Becomes the table after some pods came and went. If the table is being made, it is waited for: so a table is made
    /// once, however fast snapshots follow one another.
    fn follow(self: &mut Arc<Self>, before: Population<'_>, changes: &Changes<'_>) {
        let counted = changes.pods.iter().filter_map(|(pod, node, sign)| {
            let (group, amount) = self.shape.of_pod(pod, *node)?;
            Some((group, amount * sign))
        });
        let amounts: Vec<(Fingerprint, i128)> = counted.collect();
        if amounts.is_empty() {
            return;
        }
        let mut groups = self.groups(before).clone();
        for (group, amount) in amounts {
            groups.add(group, amount);
        }
        let used = AtomicU64::new(self.used.load(Ordering::Relaxed));
        *self = Arc::new(Self { shape: Arc::clone(&self.shape), groups: OnceLock::from(groups), used });
    }

    /// The number of groups.
    fn count(&self) -> usize {
        self.groups.get().map_or(0, |groups| groups.count)
    }
}

// === impl Groups ===

impl Groups {
    fn get(&self, group: Fingerprint) -> i128 {
        self.shards[Self::shard_of(group)].get(&group).copied().unwrap_or(0)
    }

    fn add(&mut self, group: Fingerprint, amount: i128) {
        let shard = Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[Self::shard_of(group)]);
        let before = shard.len();
        let total = shard.entry(group).or_default();
        // Totals of i64 that are less than 2^64 cannot leave the range of an i128.
        *total += amount;
        if *total == 0 {
            shard.remove(&group);
        }
        self.count = self.count + shard.len() - before;
    }

    fn shard_of(group: Fingerprint) -> usize {
        // The lowest bit tells numbers from hashes.
        (group.bits() >> 1) as usize % SHARDS
    }
}

impl Default for Groups {
    fn default() -> Self {
        let empty = Arc::default();
        Self { shards: Arc::new(std::array::from_fn(|_| Arc::clone(&empty))), count: 0 }
    }
}

#[cfg(test)]
mod tests;
