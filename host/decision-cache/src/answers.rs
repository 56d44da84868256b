//! The answers of one request: each distinct one has a number, and each row or row class has the number of its answer.

use std::sync::Arc;

use crate::{
    attribute::{Attribute, Row, Scope},
    paths::{Paths, Witness, witnesses},
    row_classes::{RecentRowClasses, RowClassColumn, RowClasses},
    source::Source,
    subject_class::{AnswerTable, MISS, SubjectClass},
    trie::{Answer, Trie},
};

/// The answers that one request can get, by number: first those of the subject's class, then the *local* ones, which
/// this call has evaluated.
#[derive(Debug, Clone)]
pub struct Answers<T, A> {
    pub(crate) class: Option<Arc<SubjectClass<T, A>>>,
    pub(crate) local: Arc<Paths<T, A>>,
}

/// The hits and misses of one lookup by row.
pub struct Lookup<T, A> {
    pub(crate) class: Option<Arc<SubjectClass<T, A>>>,
    /// The number of the answer by position; [`MISS`] where there is none.
    pub(crate) numbers: Vec<u32>,
    is_cacheable: bool,
}

/// Answers about one subject by row class.
///
/// A subject that is new has no answers yet. Its rows are in the classes by which the subject before it was answered:
/// an [`Evaluation`](crate::Evaluation) finds out whether this subject's answers follow from them too.
#[derive(Debug, Clone)]
pub struct RowClassAnswers<T, A> {
    pub(crate) class: Option<Arc<SubjectClass<T, A>>>,
    /// `None` for a subject that is new.
    table: Option<Arc<AnswerTable<T>>>,
    pub(crate) row_classes: Arc<RowClasses<T>>,
    pub(crate) column: Arc<RowClassColumn>,
}

// === impl Answers ===

impl<T, A: Answer> Answers<T, A> {
    /// These answers, each with its index as number.
    pub fn plain(answers: Vec<A>) -> Self {
        Self { class: None, local: Arc::new(Paths { trie: Trie::of_answers(answers), ..Paths::default() }) }
    }

    /// The number of answers.
    pub fn count(&self) -> usize {
        self.class.as_ref().map_or(0, |class| class.paths.trie.answers().len()) + self.local.trie.answers().len()
    }

    /// The answers in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &A> {
        self.class.iter().flat_map(|class| class.paths.trie.answers()).chain(self.local.trie.answers())
    }
}

impl<T: Attribute, A: Answer> Answers<T, A> {
    /// The distinct paths that lead to the answers about these rows, each with a row that has its values: with them a
    /// decision can be recorded together with the values that it follows from, and no request pays for it.
    ///
    /// Rows that nothing is known about are left out. It goes over each row: call it when nobody waits for a reply.
    pub fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        let of_class = self.class.as_deref().map(|class| &class.paths);
        witnesses(&of_class.into_iter().chain([&*self.local]).collect::<Vec<_>>(), source, rows)
    }
}

impl<T, A> From<Option<Arc<SubjectClass<T, A>>>> for Answers<T, A> {
    fn from(class: Option<Arc<SubjectClass<T, A>>>) -> Self {
        Self { class, local: Arc::default() }
    }
}

// === impl Lookup ===

impl<T: Attribute, A: Answer> Lookup<T, A> {
    pub(crate) fn of(
        class: Arc<SubjectClass<T, A>>,
        recent: &RecentRowClasses<T>,
        source: &impl Source<Attribute = T>,
        rows: impl Iterator<Item = Row>,
    ) -> Self {
        let numbers = class.look_up(recent, source, rows);
        Self { class: Some(class), numbers, is_cacheable: true }
    }

    pub(crate) fn of_new_subject(rows: usize) -> Self {
        Self { class: None, numbers: vec![MISS; rows], is_cacheable: true }
    }

    /// Of a subject about which no answers are cached.
    pub(crate) fn uncacheable(rows: usize) -> Self {
        Self { is_cacheable: false, ..Self::of_new_subject(rows) }
    }

    /// Whether answers about this subject are cached; otherwise the function is evaluated for every row.
    pub fn is_cacheable(&self) -> bool {
        self.is_cacheable
    }

    /// Whether every row has an answer.
    pub fn is_complete(&self) -> bool {
        !self.numbers.contains(&MISS)
    }

    /// The answers, and the number of the answer about each row.
    pub fn into_answers(self) -> (Answers<T, A>, Vec<u32>) {
        (self.class.into(), self.numbers)
    }
}

// === impl RowClassAnswers ===

impl<T: Attribute, A: Answer> RowClassAnswers<T, A> {
    /// `None` if there is no table of the subject's class, since it has too many attributes.
    pub(crate) fn known(
        class: Arc<SubjectClass<T, A>>,
        recent: &RecentRowClasses<T>,
        source: &impl Source<Attribute = T>,
    ) -> Option<Self> {
        let (table, column) = class.table(recent, source)?;
        Some(Self { row_classes: Arc::clone(&table.row_classes), class: Some(class), table: Some(table), column })
    }

    /// For a subject that is new; `None` if no subject before it was answered by a table.
    pub(crate) fn likely(recent: &RecentRowClasses<T>, source: &impl Source<Attribute = T>) -> Option<Self> {
        let row_classes = recent.latest()?;
        let column = row_classes.column(source)?;
        Some(Self { class: None, table: None, row_classes, column })
    }

    /// The number of the answer about a row class; [`MISS`] if it is not known.
    #[inline]
    pub fn number_of(&self, row_class: u32) -> u32 {
        let known = self.table.as_ref().and_then(|table| table.answers.get(row_class as usize));
        known.copied().unwrap_or(MISS)
    }

    /// The number of the answer about a row; [`MISS`] if it is not known.
    pub(crate) fn number_of_row(&self, row: Row) -> u32 {
        self.number_of(self.column.by_row[row as usize])
    }

    /// Whether an attribute tells no two rows of a class apart.
    pub(crate) fn is_of_classes(&self, attribute: &T) -> bool {
        // A value of the snapshot is the same for all rows.
        attribute.scope() == Scope::Snapshot || self.row_classes.tuple_index(attribute).is_some()
    }

    /// The answers that the numbers stand for.
    pub fn answers(&self) -> Answers<T, A> {
        self.class.clone().into()
    }
}
