//! The hits and misses of a lookup by row.

use std::sync::Arc;

use crate::{
    answers::{NumberedAnswers, RowAnswers},
    attribute::{Attribute, Row},
    row_classes::{RecentRowClasses, RowClasses},
    source::Source,
    subject_class::{MISS, SubjectClass},
    trie::Answer,
};

/// The hits and misses of one lookup, by position among the rows that were asked for.
pub struct Lookup<T, A> {
    pub(crate) class: Option<Arc<SubjectClass<T, A>>>,
    /// The number of the answer by position; [`MISS`] where there is none.
    pub(crate) numbers: Vec<u32>,
    is_complete: bool,
    /// By which the rows that are left are most likely told apart.
    pub(crate) row_classes: Option<Arc<RowClasses<T>>>,
    is_cacheable: bool,
}

// === impl Lookup ===

impl<T: Attribute, A: Answer> Lookup<T, A> {
    pub(crate) fn of(
        class: Arc<SubjectClass<T, A>>,
        recent: &RecentRowClasses<T>,
        source: &impl Source<Attribute = T>,
        rows: impl ExactSizeIterator<Item = Row> + Clone,
    ) -> Self {
        let (numbers, is_complete) = class.look_up(recent, source, rows);
        let row_classes = if is_complete { None } else { class.row_classes().or_else(|| recent.latest()) };
        Self { class: Some(class), numbers, is_complete, row_classes, is_cacheable: true }
    }

    /// Of a subject that is new. Its rows are most likely told apart by these classes.
    pub(crate) fn of_new_subject(rows: usize, row_classes: Option<Arc<RowClasses<T>>>) -> Self {
        Self { class: None, numbers: vec![MISS; rows], is_complete: rows == 0, row_classes, is_cacheable: true }
    }

    /// Of a subject about which no answers are cached.
    pub(crate) fn uncacheable(rows: usize) -> Self {
        Self { is_cacheable: false, ..Self::of_new_subject(rows, None) }
    }

    /// Whether answers about this subject are cached; otherwise the function is evaluated for every row.
    pub fn is_cacheable(&self) -> bool {
        self.is_cacheable
    }

    /// Whether every row has an answer.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The answers. A row that was missed has none.
    pub fn into_answers(self) -> RowAnswers<T, A> {
        let numbered = NumberedAnswers { class: self.class, local: Arc::default() };
        RowAnswers { numbered, numbers: self.numbers }
    }
}
