//! Row classes by several functions at once: one lookup per row, however many functions there are.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, Ordering},
};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::{
    answers::Lookup,
    attribute::Attribute,
    interner::TupleInterner,
    row_classes::{RowClassColumn, RowClasses},
    subject_class::RowClassTable,
    trie::Answer,
};

/// With fewer rows per combined class, separate lookups are as fast. `SLACK_COMBINED_CLASSES` more are allowed, so that
/// small snapshots are always combined.
const ROWS_PER_CLASS: usize = 4;
const SLACK_COMBINED_CLASSES: usize = 64;

/// Functions whose classes were too many are combined again after this many requests.
const RETRY_AFTER: u32 = 4_096;

/// Lists of functions that are kept: which functions are asked depends on the subject.
const MAX_COMBINED_LISTS: usize = 16;

/// The combined class of each row of one snapshot: rows that none of some functions tells apart have one number.
#[derive(Debug)]
pub struct CombinedClasses {
    columns: Box<[Arc<RowClassColumn>]>,
    /// The combined class of each row.
    pub by_row: Box<[u32]>,
    /// Of each combined class, the row class by each of the columns.
    tuples: TupleInterner<u32>,
}

/// The combined classes of the lists of functions that came last.
#[derive(Debug)]
pub struct RecentCombined<T>(ArcSwap<Vec<Arc<Entry<T>>>>);

#[derive(Debug)]
struct Entry<T> {
    /// The row classes that are combined.
    of: Box<[Weak<RowClasses<T>>]>,
    combined: ArcSwapOption<CombinedClasses>,
    /// Requests to skip before the next attempt.
    backoff: AtomicU32,
}

// === impl CombinedClasses ===

impl CombinedClasses {
    /// All combined class numbers are less than this.
    pub fn count(&self) -> usize {
        self.tuples.len()
    }

    /// The row class by each function that a combined class stands for.
    #[inline]
    pub fn row_classes(&self, combined: usize) -> &[u32] {
        self.tuples.tuple(combined, self.columns.len())
    }

    /// `None` if there are too many.
    fn new(columns: &[Arc<RowClassColumn>], earlier: Option<&Self>) -> Option<Self> {
        let rows = columns.iter().map(|column| column.by_row.len()).min()?;
        let earlier = earlier.filter(|earlier| earlier.by_row.len() == rows);
        let (mut by_row, mut tuples) = match earlier {
            Some(earlier) => (earlier.by_row.clone(), earlier.tuples.clone()),
            None => (vec![0; rows].into(), TupleInterner::default()),
        };
        let mut row_classes = vec![0; columns.len()];
        for row in changed(columns, earlier.map(|earlier| &*earlier.columns), rows) {
            for (row_class, column) in row_classes.iter_mut().zip(columns) {
                *row_class = column.by_row[row];
            }
            by_row[row] = tuples.intern(&row_classes);
            if tuples.len() > rows / ROWS_PER_CLASS + SLACK_COMBINED_CLASSES {
                // Some of these classes may have no rows any more: they are numbered again.
                return earlier.and_then(|_| Self::new(columns, None));
            }
        }
        Some(Self { columns: columns.into(), by_row, tuples })
    }
}

/// The rows at which columns differ from earlier ones; all rows, if there are none.
fn changed(columns: &[Arc<RowClassColumn>], earlier: Option<&[Arc<RowClassColumn>]>, rows: usize) -> Vec<usize> {
    let Some(earlier) = earlier else { return (0..rows).collect() };
    let mut changed = Vec::new();
    for (new, old) in columns.iter().zip(earlier).filter(|(new, old)| !new.shares_rows_with(old)) {
        let pairs = new.by_row.iter().zip(old.by_row.iter()).enumerate();
        changed.extend(pairs.filter(|(_, (new, old))| new != old).map(|(row, _)| row));
    }
    changed
}

// === impl RecentCombined ===

impl<T: Attribute> RecentCombined<T> {
    /// The combined classes of the functions that have row classes; `None` if there are too many, if this list of
    /// functions is new, or empty.
    pub fn get<'l, A: Answer>(&self, lookups: impl Iterator<Item = &'l Lookup<T, A>>) -> Option<Arc<CombinedClasses>> {
        let functions: Vec<&RowClassTable<T>> = lookups.filter_map(|lookup| lookup.by_class.as_ref()).collect();
        if functions.is_empty() {
            return None;
        }
        let entries = self.0.load();
        let Some(entry) = entries.iter().find(|entry| entry.is_of(&functions)) else {
            let of = functions.iter().map(|function| Arc::downgrade(&function.table.row_classes)).collect();
            let entry = Arc::new(Entry { of, combined: ArcSwapOption::empty(), backoff: AtomicU32::new(0) });
            self.0.rcu(|entries| {
                [&entry].into_iter().chain(entries.iter().take(MAX_COMBINED_LISTS - 1)).cloned().collect::<Vec<_>>()
            });
            return None;
        };
        entry.current(&functions)
    }
}

impl<T> Default for RecentCombined<T> {
    fn default() -> Self {
        Self(ArcSwap::default())
    }
}

// === impl Entry ===

impl<T: Attribute> Entry<T> {
    fn is_of(&self, functions: &[&RowClassTable<T>]) -> bool {
        let is_same = |(row_classes, function): (&Weak<RowClasses<T>>, &&RowClassTable<T>)| {
            row_classes.as_ptr() == Arc::as_ptr(&function.table.row_classes)
        };
        self.of.len() == functions.len() && self.of.iter().zip(functions).all(is_same)
    }

    fn current(&self, functions: &[&RowClassTable<T>]) -> Option<Arc<CombinedClasses>> {
        let known = self.combined.load_full();
        let is_current = |combined: &Arc<CombinedClasses>| {
            combined.columns.iter().zip(functions).all(|(column, function)| column.shares_rows_with(&function.column))
        };
        if known.as_ref().is_some_and(is_current) {
            return known;
        }
        let backoff = |backoff: u32| backoff.checked_sub(1);
        if self.backoff.fetch_update(Ordering::Relaxed, Ordering::Relaxed, backoff).is_ok() {
            return None;
        }
        let columns: Vec<Arc<RowClassColumn>> = functions.iter().map(|function| Arc::clone(&function.column)).collect();
        let combined = CombinedClasses::new(&columns, known.as_deref()).map(Arc::new);
        if combined.is_none() {
            self.backoff.store(RETRY_AFTER, Ordering::Relaxed);
        }
        self.combined.store(combined.clone());
        combined
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn columns(classes: &[Vec<u32>]) -> Vec<Arc<RowClassColumn>> {
        classes.iter().map(|by_row| Arc::new(RowClassColumn::of_test(by_row))).collect()
    }

    proptest! {
        #[test]
        fn a_combined_class_stands_for_the_classes_of_its_row_however_the_columns_change(
            snapshots in vec(vec(vec(0..3u32, 150), 3), 1..6),
            kept in 0..3usize,
        ) {
            let (mut combined, first) = (None, columns(&snapshots[0]));
            for snapshot in &snapshots {
                let mut columns = columns(snapshot);
                columns[kept] = Arc::clone(&first[kept]);
                let next = CombinedClasses::new(&columns, combined.as_ref()).unwrap();
                for row in 0..150 {
                    let classes: Vec<u32> = columns.iter().map(|column| column.by_row[row]).collect();
                    prop_assert_eq!(next.row_classes(next.by_row[row] as usize), &classes[..]);
                }
                combined = Some(next);
            }
        }
    }

    #[test]
    fn classes_that_no_row_is_of_any_more_do_not_make_them_too_many() {
        let one_by_one = |first: u32| columns(&[(first..first + 80).collect()]);
        let mut combined = CombinedClasses::new(&one_by_one(0), None);
        for first in 1..200 {
            combined = CombinedClasses::new(&one_by_one(first), combined.as_ref());
            assert!(combined.is_some(), "{first}");
        }
        assert!(CombinedClasses::new(&columns(&[(0..400).collect()]), None).is_none());
        assert!(CombinedClasses::new(&[], None).is_none());
    }
}
