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
mod index;
mod label_values;
mod shape;
mod shape_limit;
mod table;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};

use self::{
    changes::Changes,
    table::{Table, Tables},
};
pub(crate) use self::{
    changes::{Population, PopulationRef},
    label_values::TooManyValues,
    shape::{Measure, Shape},
    shape_limit::{MAX_KEY_BYTES, MAX_SHAPES, NotAdmitted},
};
pub use self::{
    label_values::{LabelValues, MAX_LABEL_VALUES},
    shape_limit::ShapeLimit,
};
use crate::{Selector, Slots};

/// Maximum tables that wait for the next snapshot to take them over; it makes the others again when they are read.
const MAX_LATE: usize = 8;

/// The tables that were read of one snapshot, or of an earlier one.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    tables: ArcSwap<Tables>,
    chain: OnceLock<Arc<Chain>>,
    /// Whether another snapshot has taken over the tables; changed while [`Chain::late`] is held.
    is_followed: AtomicBool,
}

/// Shared by all snapshots that follow one another. Of its locks `making` is taken first.
#[derive(Debug, Default)]
struct Chain {
    /// Grows with each snapshot and each table: the time by which the least recently read tables are found.
    time: AtomicU64,
    /// Held while a table is made, so that each is made once. That may take 100 ms, so no snapshot waits for it.
    making: Mutex<()>,
    /// Tables of a snapshot that another one had followed before they were made. Held for moments.
    late: Mutex<Vec<Late>>,
}

/// A table that no later snapshot has taken over yet.
#[derive(Debug, Clone)]
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
        population: PopulationRef<'_>,
    ) -> i128 {
        let shape = Shape::of(selector, measure);
        let now = self.chain().time.load(Ordering::Relaxed);
        if let Some(table) = self.tables.load().get(&shape) {
            return table.total(selector, now);
        }
        self.make(&shape, population).total(selector, now)
    }

    /// Whether the total of this shape costs no walk over all pods.
    pub(crate) fn has(&self, shape: &Shape<&str>) -> bool {
        self.tables.load().get(shape).is_some() || self.late().iter().any(|late| late.shape.borrowed() == *shape)
    }

    /// Whether the values of this label cost no walk over all nodes.
    pub(crate) fn has_label_values(&self, key: &str) -> bool {
        self.tables.load().label_values(key).is_some()
    }

    /// The values of a label of nodes.
    pub(crate) fn label_values(&self, slots: &Slots, key: &str) -> Result<Arc<LabelValues>, TooManyValues> {
        let known = || self.tables.load().label_values(key).cloned();
        if let Some(known) = known() {
            return known;
        }
        let _making = self.chain().making.lock();
        if let Some(made_meanwhile) = known() {
            return made_meanwhile;
        }
        let values = LabelValues::of(slots, key).map(Arc::new);
        self.change(&self.late(), |tables| tables.insert_label_values(key, &values));
        values
    }

    /// Takes over the tables of the snapshot before this one; `populations` are those before and after.
    pub(crate) fn follow(&self, earlier: &Self, [before, after]: [PopulationRef<'_>; 2]) {
        let chain = earlier.chain();
        if self.chain.set(Arc::clone(chain)).is_err() {
            return;
        }
        let (tables, late) = {
            let mut late = chain.late.lock();
            earlier.is_followed.store(true, Ordering::Relaxed);
            (earlier.tables.load_full(), std::mem::take(&mut *late))
        };
        if tables.is_empty() && late.is_empty() {
            return;
        }
        chain.time.fetch_add(1, Ordering::Relaxed);
        let mut next = tables.after(&Changes::between(before, after));
        for late in late {
            if next.get(&late.shape.borrowed()).is_none() {
                Arc::make_mut(&mut next).insert(&late.shape, &late.table_of(after));
            }
        }
        self.tables.store(next);
    }

    /// Approximate bytes of all tables.
    pub(crate) fn bytes(&self) -> usize {
        self.tables.load().bytes()
    }

    /// Makes the table of a shape: from one of another snapshot, if there is one, or from all pods.
    #[cold]
    fn make(&self, shape: &Shape<&str>, population: PopulationRef<'_>) -> Arc<Table> {
        // A reader that needs a table that exists must not wait until another one is made.
        if let Some(table) = self.take_late_over(shape, population) {
            return table;
        }
        let _making = self.chain().making.lock();
        let made_meanwhile = self.tables.load().get(shape).cloned();
        if let Some(table) = made_meanwhile.or_else(|| self.take_late_over(shape, population)) {
            return table;
        }
        let shape = Arc::new(shape.to_owned());
        let table = Arc::new(Table::of(&shape, population));
        let mut late = self.late();
        if self.is_followed.load(Ordering::Relaxed) {
            if late.len() >= MAX_LATE {
                late.remove(0);
            }
            let population = population.to_owned();
            late.push(Late { shape: Arc::clone(&shape), table: Arc::clone(&table), population });
        }
        self.change(&late, |tables| tables.insert(&shape, &table));
        table
    }

    /// The table of a shape, from one of another snapshot.
    fn take_late_over(&self, shape: &Shape<&str>, population: PopulationRef<'_>) -> Option<Arc<Table>> {
        let known = self.late().iter().find(|late| late.shape.borrowed() == *shape).cloned()?;
        let table = known.table_of(population);
        self.change(&self.late(), |tables| tables.insert(&known.shape, &table));
        Some(table)
    }

    /// Changes the tables. [`Chain::late`] is held, so that no other change is lost.
    fn change(&self, _: &MutexGuard<'_, Vec<Late>>, change: impl FnOnce(&mut Tables)) {
        self.chain().time.fetch_add(1, Ordering::Relaxed);
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

// === impl Late ===

impl Late {
    /// The table as it is with other pods.
    fn table_of(&self, population: PopulationRef<'_>) -> Arc<Table> {
        let changes = Changes::between(self.population.borrowed(), population);
        Arc::new(self.table.after(&self.shape, &changes))
    }
}

#[cfg(test)]
mod tests;
