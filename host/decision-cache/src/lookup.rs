//! The results of a lookup.

use std::sync::Arc;

use crate::{
    answers::Answers,
    attribute::{Attribute, Row},
    class::{Answer, AnswerTable, Class, LookupResult, MISS},
    row_classes::{RecentRowClasses, RowClassColumn, RowClasses},
    source::Source,
    witness::Witness,
};

/// The hits and misses of one lookup, by position among the rows that were asked for.
pub struct Lookup<T, A> {
    pub(crate) class: Option<Arc<Class<T, A>>>,
    pub(crate) walk: LookupResult,
    /// By which the rows that are left are most likely told apart.
    pub(crate) row_classes: Option<Arc<RowClasses<T>>>,
    is_cacheable: bool,
}

/// The answers about one subject by class of rows.
///
/// A subject that is new has no answers yet. Its rows are in the classes by which the subject before it was answered:
/// an [`Evaluation`](crate::Evaluation) finds out whether this subject's answers follow from them too.
#[derive(Clone)]
pub struct ByClass<T, A> {
    /// `None` of a subject that is new.
    pub(crate) table: Option<Arc<AnswerTable<T>>>,
    pub(crate) row_classes: Arc<RowClasses<T>>,
    pub(crate) column: Arc<RowClassColumn>,
    /// The class of the subject, and the answers of calls since, by class of rows.
    pub(crate) answers: Answers<T, A>,
}

// === impl Lookup ===

impl<T: Attribute, A: Answer> Lookup<T, A> {
    pub(crate) fn of(
        class: Arc<Class<T, A>>,
        recent: &RecentRowClasses<T>,
        source: &impl Source<Attribute = T>,
        rows: impl Iterator<Item = Row>,
    ) -> Self {
        let walk = class.walk(recent, source, rows);
        let row_classes = if walk.misses.is_empty() { None } else { class.row_classes().or_else(|| recent.latest()) };
        Self { class: Some(class), walk, row_classes, is_cacheable: true }
    }

    pub(crate) fn blank(rows: usize, row_classes: Option<Arc<RowClasses<T>>>, is_cacheable: bool) -> Self {
        Self { class: None, walk: LookupResult::blank(rows), row_classes, is_cacheable }
    }

    /// Whether answers about this subject are cached; otherwise the function is evaluated for every row.
    pub fn is_cacheable(&self) -> bool {
        self.is_cacheable
    }

    /// Whether every row has an answer.
    pub fn is_complete(&self) -> bool {
        self.walk.misses.is_empty()
    }

    /// The answers. A row that was missed has none.
    pub fn into_answers(self) -> Answers<T, A> {
        Answers { class: self.class, new: Arc::default(), numbers: self.walk.numbers }
    }
}

// === impl ByClass ===

impl<T: Attribute, A: Answer> ByClass<T, A> {
    /// `None` if there is no table of the class, since it has too many attributes.
    pub(crate) fn known(
        class: Arc<Class<T, A>>,
        recent: &RecentRowClasses<T>,
        source: &impl Source<Attribute = T>,
    ) -> Option<Self> {
        let (table, column) = class.table(recent, source)?;
        let answers = Answers { class: Some(class), new: Arc::default(), numbers: Vec::new() };
        Some(Self { row_classes: Arc::clone(&table.row_classes), table: Some(table), column, answers })
    }

    /// For a subject that is new; `None` if no subject before it was answered by a table.
    pub(crate) fn likely(recent: &RecentRowClasses<T>, source: &impl Source<Attribute = T>) -> Option<Self> {
        let row_classes = recent.latest()?;
        let column = row_classes.likely_column(source)?;
        let answers = Answers { class: None, new: Arc::default(), numbers: Vec::new() };
        Some(Self { table: None, row_classes, column, answers })
    }

    /// The number of the answer about a class of rows, if it is known.
    #[inline]
    pub fn number(&self, class: u32) -> Option<u32> {
        let number = |numbers: &[u32]| numbers.get(class as usize).copied().filter(|number| *number != MISS);
        let known = self.table.as_ref().and_then(|table| number(&table.answers));
        known.or_else(|| number(&self.answers.numbers))
    }

    /// The answer with a number.
    #[inline]
    pub fn answer(&self, number: u32) -> Option<&A> {
        self.answers.numbered(number)
    }

    /// The answer about a row, if it is known.
    pub fn of_row(&self, row: Row) -> Option<&A> {
        self.answer(self.number(self.column.by_row[row as usize])?)
    }

    /// The positions of rows to evaluate, ascending: the last one of each of these classes that has no answer.
    pub(crate) fn representatives(&self, rows: &[Row], classes: impl Iterator<Item = u32>) -> Vec<u32> {
        let (mut wanted, mut left) = (vec![false; self.column.count], 0);
        for class in classes.filter(|class| self.number(*class).is_none()) {
            left += usize::from(!std::mem::replace(&mut wanted[class as usize], true));
        }
        let mut positions = Vec::with_capacity(left);
        for (position, row) in rows.iter().enumerate().rev() {
            if positions.len() == left {
                break;
            }
            if std::mem::take(&mut wanted[self.column.by_row[*row as usize] as usize]) {
                positions.push(position as u32);
            }
        }
        positions.reverse();
        positions
    }

    /// As [`Answers::witnesses`].
    pub fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        self.answers.witnesses(source, rows)
    }
}
