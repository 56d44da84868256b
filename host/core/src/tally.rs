//! Totals over all pods and nodes of a cluster, which follow it from one snapshot to the next.
//!
//! ```text
//!  Tallies (of one snapshot) ── Tables ──┬─ Shape ──> Table ── Groups    total by the values that the shape names
//!      │                                 └─ key ────> LabelValues        nodes by the value of one label
//!      └── Chain (of all snapshots that follow one another) ── Late      tables of earlier snapshots
//! ```
//!
//! Selectors that name the same keys have one *shape*, and one table has the totals of all of them: so a read about
//! another value costs one lookup. The first read of a shape goes over all pods. Each following snapshot then changes
//! only the groups of pods that came, went or changed. Old snapshots keep their tables, since the groups are shared
//! until they are changed.

mod changes;
mod groups;
mod label_values;
mod shape;
mod table;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};

pub use self::label_values::{LabelValues, MAX_LABEL_VALUES};
use self::{
    changes::Changes,
    shape::Shape,
    table::{Table, Tables},
};
pub(crate) use self::{changes::Population, label_values::TooManyValues, shape::Measure};
use crate::{Selector, Slots};

/// Maximum tables that wait for the next snapshot to take them over; without them it makes its own.
const MAX_LATE: usize = 64;

/// The tables that were read of one snapshot, or of an earlier one.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    tables: ArcSwap<Tables>,
    chain: OnceLock<Arc<Chain>>,
}

/// Shared by all snapshots that follow one another.
#[derive(Debug, Default)]
struct Chain {
    /// How many snapshots have followed: the time by which the least recently read tables are found.
    time: AtomicU64,
    /// Tables that were made for a snapshot when the next was in force already. Held while a table is made, so that each
    /// is made once.
    late: Mutex<Vec<Late>>,
}

/// A table that no later snapshot has taken over yet.
#[derive(Debug)]
struct Late {
    shape: Arc<Shape<Box<str>>>,
    table: Arc<Table>,
    /// The pods that it is of.
    population: Population,
}

// === impl Tallies ===

impl Tallies {
    /// The total of a measure over the pods or nodes that a selector matches.
    pub(crate) fn total(
        &self,
        selector: &Selector<&str>,
        measure: Measure<&str>,
        population: impl FnOnce() -> Population,
    ) -> i128 {
        let shape = Shape::of(selector, measure);
        let now = self.chain().time.load(Ordering::Relaxed);
        if let Some(table) = self.tables.load().get(&shape) {
            return table.total(selector, now);
        }
        self.make(&shape, population()).total(selector, now)
    }

    /// The values of a label of nodes.
    pub(crate) fn label_values(&self, slots: &Slots, key: &str) -> Result<Arc<LabelValues>, TooManyValues> {
        if let Some(known) = self.tables.load().label_values(key) {
            return Ok(Arc::clone(known));
        }
        let values = Arc::new(LabelValues::of(slots, key)?);
        let _one_at_a_time = self.late();
        self.change(|tables| tables.insert_label_values(key, &values));
        Ok(values)
    }

    /// Takes over the tables of the snapshot before this one; `populations` are those before and after.
    pub(crate) fn follow(&self, earlier: &Self, populations: impl FnOnce() -> [Population; 2]) {
        let chain = earlier.chain();
        if self.chain.set(Arc::clone(chain)).is_err() {
            return;
        }
        let mut late = self.late();
        let tables = earlier.tables.load_full();
        if tables.is_empty() && late.is_empty() {
            return;
        }
        chain.time.fetch_add(1, Ordering::Relaxed);
        let [before, after] = populations();
        let mut next = tables.after(&Changes::between(&before, &after));
        for Late { shape, table, population } in late.drain(..) {
            if next.get(&shape.borrowed()).is_none() {
                let table = table.after(&shape, &Changes::between(&population, &after)).unwrap_or(table);
                Arc::make_mut(&mut next).insert(&shape, &table);
            }
        }
        self.tables.store(next);
    }

    /// Bytes of all tables, more or less.
    pub(crate) fn bytes(&self) -> usize {
        self.tables.load().bytes()
    }

    /// Makes the table of a shape: from one of another snapshot, if there is one, or from all pods.
    #[cold]
    fn make(&self, shape: &Shape<&str>, population: Population) -> Arc<Table> {
        let mut late = self.late();
        if let Some(made_meanwhile) = self.tables.load().get(shape) {
            return Arc::clone(made_meanwhile);
        }
        let known = late.iter().find(|late| late.shape.borrowed() == *shape);
        let (shape, table) = if let Some(known) = known {
            let table = known.table.after(&known.shape, &Changes::between(&known.population, &population));
            (Arc::clone(&known.shape), table.unwrap_or_else(|| Arc::clone(&known.table)))
        } else {
            let shape = Arc::new(shape.to_owned());
            let table = Arc::new(Table::of(&shape, &population));
            if late.len() >= MAX_LATE {
                late.clear();
            }
            late.push(Late { shape: Arc::clone(&shape), table: Arc::clone(&table), population });
            (shape, table)
        };
        self.change(|tables| tables.insert(&shape, &table));
        table
    }

    /// Changes the tables; [`Chain::late`] is held, so that no other change is lost.
    fn change(&self, change: impl FnOnce(&mut Tables)) {
        let mut tables = Tables::clone(&self.tables.load());
        change(&mut tables);
        self.tables.store(Arc::new(tables));
    }

    fn chain(&self) -> &Arc<Chain> {
        self.chain.get_or_init(Arc::default)
    }

    fn late(&self) -> MutexGuard<'_, Vec<Late>> {
        self.chain().late.lock()
    }
}

#[cfg(test)]
mod tests;
