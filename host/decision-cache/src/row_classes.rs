//! Row classes: rows with equal values of a list of attributes have the same number.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;

use crate::{
    attribute::{Attribute, AttributeList, Parts, Row},
    change_log::Version,
    fingerprint::Fingerprint,
    interner::TupleInterner,
    source::Source,
    usage::CacheCharge,
};

/// Classes are numbered again above `CLASSES_PER_ROW * rows + SLACK_ROW_CLASSES`: by then most belong to no row.
const CLASSES_PER_ROW: usize = 4;
const SLACK_ROW_CLASSES: usize = 1_024;

/// This many lists of attributes are kept for subjects that come next.
const MAX_ROW_CLASS_LISTS: usize = 8;

/// The row classes by one list of attributes. A number stands for the same values in every snapshot.
#[derive(Debug)]
pub(crate) struct RowClasses<T> {
    attributes: AttributeList<T>,
    parts: Parts,
    tuples: Mutex<TupleInterner<Fingerprint>>,
    column: ArcSwapOption<RowClassColumn>,
    pub(crate) charge: CacheCharge,
}

/// The class of each row of one snapshot.
#[derive(Debug)]
pub(crate) struct RowClassColumn {
    version: Version,
    /// Shared with the column of the version before, if no row has changed its class.
    pub(crate) by_row: Arc<[u32]>,
    /// All class numbers are less than this.
    pub(crate) count: usize,
}

/// The classes by the lists of attributes that came last.
#[derive(Debug)]
pub(crate) struct RecentRowClasses<T> {
    lists: ArcSwap<Vec<Arc<RowClasses<T>>>>,
    bytes: Arc<AtomicUsize>,
}

// === impl RowClassColumn ===

impl RowClassColumn {
    /// Whether both share one array. A copy with equal content counts as different.
    pub(crate) fn shares_rows_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.by_row, &other.by_row)
    }

    #[cfg(test)]
    pub(crate) fn of_test(by_row: &[u32]) -> Self {
        Self { version: crate::change_log::ChangeLog::first().version, by_row: by_row.into(), count: 0 }
    }
}

// === impl RowClasses ===

impl<T: Attribute> RowClasses<T> {
    fn new(of: &[&T], total: &Arc<AtomicUsize>) -> Self {
        let mut attributes = AttributeList::<T>::default();
        for attribute in of {
            attributes.intern(attribute);
        }
        let parts = of.iter().map(|attribute| attribute.depends_on()).fold(Parts::NONE, Parts::union);
        let charge = CacheCharge::new(size_of::<Self>() + attributes.bytes(), total);
        Self { attributes, parts, tuples: Mutex::default(), column: ArcSwapOption::empty(), charge }
    }

    /// The index of an attribute in each tuple.
    pub(crate) fn tuple_index(&self, attribute: &T) -> Option<u32> {
        self.attributes.number_of(attribute)
    }

    /// The classes of a snapshot's rows; `None` if there are too many classes.
    pub(crate) fn column(&self, source: &impl Source<Attribute = T>) -> Option<Arc<RowClassColumn>> {
        let known = self.column.load_full();
        match known {
            Some(column) if column.version == source.columns().log().version => Some(column),
            earlier => {
                let column = Arc::new(self.make(source, earlier.as_deref())?);
                self.column.store(Some(Arc::clone(&column)));
                Some(column)
            }
        }
    }

    fn make(&self, source: &impl Source<Attribute = T>, earlier: Option<&RowClassColumn>) -> Option<RowClassColumn> {
        let log = source.columns().log();
        let rows = source.row_count();
        let known = earlier.map_or(0, |earlier| earlier.by_row.len().min(rows));
        let mut stale = earlier.map(|earlier| log.stale_rows(earlier.version, self.parts, known)).unwrap_or_default();
        stale.extend(known as Row..rows as Row);
        let values = self.read(source, &stale);
        let mut tuples = self.tuples.lock();
        let mut class_of = |(at, row): (usize, Row)| {
            let width = self.attributes.len();
            (row, tuples.intern(&values[at * width..(at + 1) * width]))
        };
        let changed: Vec<(Row, u32)> = stale.into_iter().enumerate().map(&mut class_of).collect();
        let (count, tuple_bytes) = (tuples.len(), tuples.bytes());
        drop(tuples);
        let by_row = with_changes(earlier.map(|earlier| &earlier.by_row), rows, &changed);
        let column_bytes = size_of::<RowClassColumn>() + size_of_val(&*by_row);
        self.charge.set(size_of::<Self>() + self.attributes.bytes() + column_bytes + tuple_bytes);
        let has_room = count <= CLASSES_PER_ROW * by_row.len() + SLACK_ROW_CLASSES;
        has_room.then_some(RowClassColumn { version: log.version, by_row, count })
    }

    /// The value of each attribute at each of these rows.
    fn read(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Fingerprint> {
        let column =
            |attribute| (attribute, source.fingerprint_of_all_rows(attribute), source.columns().current(attribute));
        let columns: Vec<_> = self.attributes.as_slice().iter().map(column).collect();
        let mut values = Vec::with_capacity(rows.len() * columns.len());
        for row in rows {
            values.extend(columns.iter().map(|(attribute, of_all, column)| {
                let read = || source.row_fingerprint(attribute, *row);
                match (of_all, column) {
                    (Some(value), _) => *value,
                    (None, Some(column)) => column.get_or_read(*row, read),
                    (None, None) => read(),
                }
            }));
        }
        values
    }

    /// Goes over the tuples of the classes from a number on.
    pub(crate) fn for_each_from(&self, first: usize, mut each: impl FnMut(&[Fingerprint])) {
        let tuples = self.tuples.lock();
        for class in first..tuples.len() {
            each(tuples.tuple(class, self.attributes.len()));
        }
    }
}

/// The classes by row after these changes. Usually none has changed, and the earlier array is shared.
fn with_changes(earlier: Option<&Arc<[u32]>>, rows: usize, changed: &[(Row, u32)]) -> Arc<[u32]> {
    let is_same = |earlier: &&Arc<[u32]>| {
        earlier.len() == rows && changed.iter().all(|(row, class)| earlier[*row as usize] == *class)
    };
    if let Some(earlier) = earlier.filter(is_same) {
        return Arc::clone(earlier);
    }
    let mut by_row = earlier.map_or_else(Vec::new, |earlier| earlier.to_vec());
    by_row.resize(rows, 0);
    for (row, class) in changed {
        by_row[*row as usize] = *class;
    }
    by_row.into()
}

// === impl RecentRowClasses ===

impl<T: Attribute> RecentRowClasses<T> {
    /// The classes by these attributes, or by at most twice as many.
    pub(crate) fn get_or_make(&self, attributes: &[&T]) -> Arc<RowClasses<T>> {
        let lists = self.lists.load();
        let serves = |classes: &&Arc<RowClasses<T>>| {
            classes.attributes.len() <= 2 * attributes.len()
                && attributes.iter().all(|attribute| classes.tuple_index(attribute).is_some())
        };
        let new = || Arc::new(RowClasses::new(attributes, &self.bytes));
        let classes = lists.iter().find(serves).cloned().unwrap_or_else(new);
        if lists.first().is_none_or(|first| !Arc::ptr_eq(first, &classes)) {
            self.lists.rcu(|lists| {
                let others = lists.iter().filter(|other| !Arc::ptr_eq(other, &classes)).take(MAX_ROW_CLASS_LISTS - 1);
                [&classes].into_iter().chain(others).cloned().collect::<Vec<_>>()
            });
        }
        classes
    }

    /// Builds the column of these attributes after the reply, if the list was used before: the next subjects are likely
    /// to be answered by it.
    pub(crate) fn build_ahead(&self, attributes: &[&T], source: &impl Source<Attribute = T>) {
        let before = self.lists.load_full();
        let classes = self.get_or_make(attributes);
        if before.iter().any(|known| Arc::ptr_eq(known, &classes)) && classes.column(source).is_none() {
            self.renumber(&classes);
        }
    }

    /// Classes by the same attributes, without those of no row; other subject classes share them.
    pub(crate) fn renumber(&self, crowded: &Arc<RowClasses<T>>) -> Arc<RowClasses<T>> {
        let stays = |classes: &&Arc<RowClasses<T>>| !Arc::ptr_eq(classes, crowded);
        self.lists.rcu(|lists| lists.iter().filter(stays).cloned().collect::<Vec<_>>());
        self.get_or_make(&crowded.attributes.as_slice().iter().collect::<Vec<_>>())
    }

    /// The list that came last, if a snapshot was numbered by it: the next subject is likely to be answered by it.
    pub(crate) fn latest(&self) -> Option<Arc<RowClasses<T>>> {
        self.lists.load().first().filter(|classes| classes.column.load().is_some()).cloned()
    }

    /// Drops the lists that no class has a table by.
    pub(crate) fn drop_unused(&self) {
        let is_used = |classes: &&Arc<RowClasses<T>>| Arc::strong_count(classes) > 1;
        self.lists.rcu(|lists| lists.iter().filter(is_used).cloned().collect::<Vec<_>>());
    }

    /// Bytes of all that are in use, with the tables by them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl<T> Default for RecentRowClasses<T> {
    fn default() -> Self {
        Self { lists: ArcSwap::default(), bytes: Arc::default() }
    }
}
