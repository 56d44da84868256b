//! The table of one shape, and all tables of a snapshot.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hashbrown::HashMap;

use super::{
    LabelValues, Shape, TooManyValues,
    changes::{Changes, Population},
    groups::Groups,
    shape::{group_of, group_of_not_kept},
};
use crate::Selector;

/// Maximum tables. Each change of a pod is looked at once for each, which takes about 30 ns.
pub(super) const MAX_TABLES: usize = 256;

/// Maximum groups of all tables together; a group takes about 50 bytes.
const MAX_GROUPS: usize = 1 << 20;

/// Approximate bytes of a group in its shard.
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
    by_shape: HashMap<Arc<Shape<Box<str>>>, Arc<Table>, foldhash::fast::RandomState>,
    label_values: HashMap<Arc<str>, LabelValuesResult, foldhash::fast::RandomState>,
}

// === impl Table ===

impl Table {
    /// Adds up all pods, or all nodes.
    pub(super) fn of(shape: &Shape<Box<str>>, population: &Population) -> Self {
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

    /// The table after some pods and nodes came and went; none where nothing changes.
    pub(super) fn after(&self, shape: &Shape<Box<str>>, changes: &Changes<'_>) -> Option<Arc<Self>> {
        let mut groups: Option<Groups> = None;
        let mut add = |group, amount| groups.get_or_insert_with(|| self.groups.clone()).add(group, amount);
        if shape.is_of_nodes() {
            let all = changes.nodes.iter().filter_map(|(node, sign)| Some((shape.of_node(node)?, *sign)));
            all.for_each(|(group, amount)| add(group, amount));
        } else {
            for (pod, node, sign) in &changes.pods {
                if let Some((group, amount)) = shape.of_pod(pod, *node) {
                    add(group, amount * sign);
                }
            }
        }
        let used = AtomicU64::new(self.used.load(Ordering::Relaxed));
        Some(Arc::new(Self { groups: groups?, used }))
    }
}

// === impl Tables ===

impl Tables {
    pub(super) fn is_empty(&self) -> bool {
        self.by_shape.is_empty() && self.label_values.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_shape.len()
    }

    pub(super) fn get(&self, shape: &Shape<&str>) -> Option<&Arc<Table>> {
        self.by_shape.get(shape)
    }

    pub(super) fn label_values(&self, key: &str) -> Option<&LabelValuesResult> {
        self.label_values.get(key)
    }

    /// Adds a table. The least recently read ones go while there is too much: they are made again when they are read.
    pub(super) fn insert(&mut self, shape: &Arc<Shape<Box<str>>>, table: &Arc<Table>) {
        self.by_shape.insert(Arc::clone(shape), Arc::clone(table));
        let is_too_much = |tables: &Self| {
            let groups: usize = tables.by_shape.values().map(|table| table.groups.count()).sum();
            tables.by_shape.len() > MAX_TABLES || groups > MAX_GROUPS
        };
        while is_too_much(self) {
            let others = self.by_shape.iter().filter(|(other, _)| !Arc::ptr_eq(other, shape));
            let oldest = others.min_by_key(|(_, table)| table.used.load(Ordering::Relaxed));
            let Some(oldest) = oldest.map(|(shape, _)| Arc::clone(shape)) else { break };
            self.by_shape.remove(&oldest);
        }
    }

    pub(super) fn insert_label_values(&mut self, key: &str, values: &LabelValuesResult) {
        // Policies name few labels, and each policy is bounded: see `MAX_SHAPES`.
        if self.label_values.len() >= MAX_TABLES {
            self.label_values.clear();
        }
        self.label_values.insert(key.into(), values.clone());
    }

    /// The tables after some pods and nodes came and went.
    pub(super) fn after(self: &Arc<Self>, changes: &Changes<'_>) -> Arc<Self> {
        let mut next = Arc::clone(self);
        for (shape, table) in &self.by_shape {
            if let Some(table) = table.after(shape, changes) {
                Arc::make_mut(&mut next).by_shape.insert(Arc::clone(shape), table);
            }
        }
        for (key, values) in &self.label_values {
            match values.as_ref().map(|values| values.after(key, changes)) {
                Ok(Some(updated)) => {
                    Arc::make_mut(&mut next).label_values.insert(Arc::clone(key), updated.map(Arc::new));
                }
                // Fewer may be left: the next read finds out.
                Err(TooManyValues) if changes.nodes.iter().any(|(node, _)| node.labels().get(key).is_some()) => {
                    Arc::make_mut(&mut next).label_values.remove(key);
                }
                Ok(None) | Err(TooManyValues) => {}
            }
        }
        next
    }

    pub(super) fn bytes(&self) -> usize {
        let table = |(shape, table): (&Arc<Shape<Box<str>>>, &Arc<Table>)| {
            shape.texts().map(str::len).sum::<usize>() + table.groups.count() * GROUP_BYTES
        };
        let values = |(key, values): (&Arc<str>, &LabelValuesResult)| {
            key.len() + values.as_ref().map_or(0, |values| values.bytes())
        };
        self.by_shape.iter().map(table).sum::<usize>() + self.label_values.iter().map(values).sum::<usize>()
    }
}
