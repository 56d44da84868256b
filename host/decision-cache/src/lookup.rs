//! The results of a lookup.

use std::sync::Arc;

use crate::{
    answers::Answers,
    attribute::{Attribute, Row},
    class::{Answer, AnswerTable, Class, LookupResult, MISS},
    row_classes::{RecentRowClasses, RowClassColumn, RowClasses},
    source::Source,
    witness::{Witness, Witnesses},
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
pub struct ByClass<T, A> {
    pub(crate) class: Arc<Class<T, A>>,
    pub(crate) table: Arc<AnswerTable<T>>,
    pub(crate) column: Arc<RowClassColumn>,
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
    /// The number of the answer about a class of rows, if it is known.
    #[inline]
    pub fn number(&self, class: u32) -> Option<u32> {
        self.table.answers.get(class as usize).copied().filter(|number| *number != MISS)
    }

    /// The answers that the numbers stand for.
    pub fn answers(&self) -> &[A] {
        self.class.trie.answers()
    }

    /// The distinct paths that lead to the answers about these rows, each with a row that has its values.
    ///
    /// It goes over each row: call it when nobody waits for a reply.
    pub fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        let mut witnesses = Vec::new();
        let Class { subject, attributes, trie, .. } = &*self.class;
        Witnesses::new(subject, attributes, trie).add(&mut witnesses, source, rows);
        witnesses
    }

    pub(crate) fn row_classes(&self) -> &Arc<RowClasses<T>> {
        &self.table.row_classes
    }

    pub(crate) fn column(&self) -> &Arc<RowClassColumn> {
        &self.column
    }
}
