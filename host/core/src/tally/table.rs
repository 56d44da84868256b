//! The table of one shape, and all tables of a snapshot.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hashbrown::HashMap;
use plimsoll_decision_cache::Fingerprint;

use super::{
    LabelValues, Shape, TooManyValues,
    changes::{Changes, PopulationRef},
    groups::Groups,
    index::ShapeIndex,
    shape::{group_of, group_of_not_kept},
};
use crate::Selector;

/// Maximum tables. A change of a pod changes those of which it has the label, in about 0.3 µs each.
pub(super) const MAX_TABLES: usize = 256;

/// Maximum groups of all tables together; a group takes about 48 bytes.
const MAX_GROUPS: usize = 1 << 20;

/// Approximate bytes of a group, with its share of the branches above it.
const GROUP_BYTES: usize = 48;

/// The values of a label, or that they are too many.
type LabelValuesResult = Result<Arc<LabelValues>, TooManyValues>;

/// The totals of one shape.
#[derive(Debug)]
pub(super) struct Table {
    groups: Groups,
    /// When it was last read.
    used: AtomicU64,
}

/// The tables of one snapshot.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    index: Arc<ShapeIndex>,
    /// Each has the number of its shape in the index.
    by_number: Vec<Arc<Table>>,
    label_values: Arc<LabelValuesByKey>,
}

type LabelValuesByKey = HashMap<Arc<str>, LabelValuesResult, foldhash::fast::RandomState>;

// === impl Table ===

impl Table {
    /// Adds up all pods, or all nodes.
    pub(super) fn of(shape: &Shape<Box<str>>, population: PopulationRef<'_>) -> Self {
        let mut groups = Groups::default();
        if shape.is_of_nodes() {
            let all = population.slots().iter().filter_map(|slot| shape.of_node(&slot.node));
            all.for_each(|group| groups.add(group, 1));
        } else {
            let all = population.pods().filter_map(|(pod, node)| shape.of_pod(pod, node));
            all.for_each(|(group, amount)| groups.add(group, amount));
        }
        Self { groups, used: AtomicU64::default() }
    }

    /// The total of the pods or nodes that a selector of the table's shape matches; it is read `now`.
    pub(super) fn total(&self, selector: &Selector<&str>, now: u64) -> i128 {
        // All readers of one time write the same; most find it written.
        if self.used.load(Ordering::Relaxed) != now {
            self.used.store(now, Ordering::Relaxed);
        }
        let not_kept = group_of_not_kept(selector).map_or(0, |group| self.groups.get(group));
        self.groups.get(group_of(selector)) + not_kept
    }

    /// The table after some pods and nodes came and went.
    pub(super) fn after(&self, shape: &Shape<Box<str>>, changes: &Changes<'_>) -> Self {
        let mut next = self.clone();
        for (node, sign) in &changes.nodes {
            next.add(shape.of_node(node).map(|group| (group, 1)), *sign);
        }
        for (pod, node, sign) in &changes.pods {
            next.add(shape.of_pod(pod, *node), *sign);
        }
        next
    }

    fn add(&mut self, counted: Option<(Fingerprint, i128)>, sign: i128) {
        if let Some((group, amount)) = counted {
            self.groups.add(group, amount * sign);
        }
    }
}

impl Clone for Table {
    fn clone(&self) -> Self {
        Self { groups: self.groups.clone(), used: AtomicU64::new(self.used.load(Ordering::Relaxed)) }
    }
}

// === impl Tables ===

impl Tables {
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty() && self.label_values.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn get(&self, shape: &Shape<&str>) -> Option<&Arc<Table>> {
        self.by_number.get(self.index.number(shape)?)
    }

    pub(super) fn label_values(&self, key: &str) -> Option<&LabelValuesResult> {
        self.label_values.get(key)
    }

    /// Adds a table. The least recently read ones go while there is too much: they are made again when they are read.
    pub(super) fn insert(&mut self, shape: &Arc<Shape<Box<str>>>, table: &Arc<Table>) {
        let own = self.index.shapes().iter().cloned().zip(self.by_number.iter().cloned());
        let mut all: Vec<_> = own.filter(|(own, _)| own != shape).collect();
        let groups = |all: &[(_, Arc<Table>)]| all.iter().map(|(_, table)| table.groups.count()).sum::<usize>();
        while all.len() >= MAX_TABLES || groups(&all) + table.groups.count() > MAX_GROUPS {
            let used = |(_, (_, table)): &(usize, &(_, Arc<Table>))| table.used.load(Ordering::Relaxed);
            let Some((oldest, _)) = all.iter().enumerate().min_by_key(used) else { break };
            all.swap_remove(oldest);
        }
        all.push((Arc::clone(shape), Arc::clone(table)));
        let (shapes, tables) = all.into_iter().unzip();
        (self.index, self.by_number) = (Arc::new(ShapeIndex::new(shapes)), tables);
    }

    pub(super) fn insert_label_values(&mut self, key: &str, values: &LabelValuesResult) {
        let all = Arc::make_mut(&mut self.label_values);
        // Policies name few labels, and each policy is bounded: see `MAX_SHAPES`.
        if all.len() >= MAX_TABLES {
            all.clear();
        }
        all.insert(key.into(), values.clone());
    }

    /// The tables after some pods and nodes came and went.
    pub(super) fn after(self: &Arc<Self>, changes: &Changes<'_>) -> Arc<Self> {
        if changes.pods.is_empty() && changes.nodes.is_empty() {
            return Arc::clone(self);
        }
        let mut next = Self::clone(self);
        for (pod, node, sign) in &changes.pods {
            for (number, shape, label) in self.index.of_pod(pod) {
                next.add(number, shape.of_pod_with(label, pod, *node), *sign);
            }
        }
        for (node, sign) in &changes.nodes {
            for (number, shape) in self.index.of_nodes() {
                next.add(number, shape.of_node(node).map(|group| (group, 1)), *sign);
            }
        }
        if !changes.nodes.is_empty() {
            next.update_label_values(changes);
        }
        Arc::new(next)
    }

    fn add(&mut self, number: usize, counted: Option<(Fingerprint, i128)>, sign: i128) {
        if counted.is_some()
            && let Some(table) = self.by_number.get_mut(number)
        {
            Arc::make_mut(table).add(counted, sign);
        }
    }

    fn update_label_values(&mut self, changes: &Changes<'_>) {
        let before = Arc::clone(&self.label_values);
        for (key, values) in before.iter() {
            match values.as_ref().map(|values| values.after(key, changes)) {
                Ok(Some(updated)) => {
                    Arc::make_mut(&mut self.label_values).insert(Arc::clone(key), updated.map(Arc::new));
                }
                // Fewer may be left: the next read finds out.
                Err(TooManyValues) if changes.nodes.iter().any(|(node, _)| node.labels().get(key).is_some()) => {
                    Arc::make_mut(&mut self.label_values).remove(key);
                }
                Ok(None) | Err(TooManyValues) => {}
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let table = |(shape, table): (&Arc<Shape<Box<str>>>, &Arc<Table>)| {
            shape.texts().map(str::len).sum::<usize>() + table.groups.count() * GROUP_BYTES
        };
        let values = |(key, values): (&Arc<str>, &LabelValuesResult)| {
            key.len() + values.as_ref().map_or(0, |values| values.bytes())
        };
        self.index.shapes().iter().zip(&self.by_number).map(table).sum::<usize>()
            + self.label_values.iter().map(values).sum::<usize>()
    }
}
