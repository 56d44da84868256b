//! The answers of one request: a number for each row or each row class, and the answers that the numbers stand for.

use std::sync::Arc;

use crate::{
    attribute::{Attribute, Row},
    paths::{Paths, Witness, witnesses},
    row_classes::{RecentRowClasses, RowClassColumn, RowClasses},
    source::Source,
    subject_class::{AnswerTable, MISS, SubjectClass},
    trie::{Answer, Trie},
};

/// Answers by row: a number for each, and the answers that the numbers stand for.
#[derive(Debug, Clone)]
pub struct RowAnswers<T, A> {
    pub(crate) numbered: NumberedAnswers<T, A>,
    /// The number of the answer by position; [`MISS`] where there is none.
    pub(crate) numbers: Vec<u32>,
}

/// Answers about one subject by row class.
///
/// A subject that is new has no answers yet. Its rows are in the classes by which the subject before it was answered:
/// an [`Evaluation`](crate::Evaluation) finds out whether this subject's answers follow from them too.
#[derive(Clone)]
pub struct RowClassAnswers<T, A> {
    /// `None` for a subject that is new.
    pub(crate) table: Option<Arc<AnswerTable<T>>>,
    pub(crate) row_classes: Arc<RowClasses<T>>,
    pub(crate) column: Arc<RowClassColumn>,
    pub(crate) numbered: NumberedAnswers<T, A>,
    /// The numbers of the answers that a call has added to the table, by row class.
    pub(crate) added: Vec<u32>,
}

/// The answers that one request can get, each distinct one with a number: first those of the subject's class, then the
/// *local* ones, which this call has evaluated.
#[derive(Debug, Clone)]
pub(crate) struct NumberedAnswers<T, A> {
    pub(crate) class: Option<Arc<SubjectClass<T, A>>>,
    pub(crate) local: Arc<Paths<T, A>>,
}

// === impl RowAnswers ===

impl<T, A: Answer> RowAnswers<T, A> {
    /// These answers, one for each row.
    pub fn plain(answers: Vec<A>) -> Self {
        let numbers = (0..answers.len() as u32).collect();
        let local = Paths { trie: Trie::of_answers(answers), ..Paths::default() };
        Self { numbered: NumberedAnswers { class: None, local: Arc::new(local) }, numbers }
    }

    /// The answer at a position.
    pub fn get(&self, position: usize) -> Option<&A> {
        self.numbered.get(*self.numbers.get(position)?)
    }

    /// The number of the answer at each position.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Whether every row has an answer.
    pub fn is_complete(&self) -> bool {
        // Without a branch for each row: there are thousands.
        self.numbers.iter().copied().max() != Some(MISS)
    }

    /// The answers that the numbers stand for, in their order. Some may be no row's answer.
    pub fn distinct(&self) -> impl Iterator<Item = &A> {
        self.numbered.iter()
    }

    /// The number of rows with an answer for which `counts` is true.
    pub fn count(&self, counts: impl Fn(&A) -> bool) -> usize {
        let counted: Vec<bool> = self.distinct().map(counts).collect();
        if counted.iter().all(|counts| !counts) {
            return 0;
        }
        // A call that failed leaves rows without an answer.
        self.numbers.iter().filter(|number| counted.get(**number as usize).copied().unwrap_or_default()).count()
    }
}

impl<T: Attribute, A: Answer> RowAnswers<T, A> {
    /// The distinct paths that lead to the answers about these rows, each with a row that has its values: with them a
    /// decision can be recorded together with the values that it follows from, and no request pays for it.
    ///
    /// Rows that nothing is known about are left out. It goes over each row: call it when nobody waits for a reply.
    pub fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        self.numbered.witnesses(source, rows)
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
        let row_classes = Arc::clone(&table.row_classes);
        let numbered = NumberedAnswers { class: Some(class), local: Arc::default() };
        Some(Self { row_classes, table: Some(table), column, numbered, added: Vec::new() })
    }

    /// For a subject that is new; `None` if no subject before it was answered by a table.
    pub(crate) fn likely(recent: &RecentRowClasses<T>, source: &impl Source<Attribute = T>) -> Option<Self> {
        let row_classes = recent.latest()?;
        let column = row_classes.column_if_built_before(source)?;
        let numbered = NumberedAnswers { class: None, local: Arc::default() };
        Some(Self { table: None, row_classes, column, numbered, added: Vec::new() })
    }

    /// The number of the answer about a row class, if it is known.
    #[inline]
    pub fn number_of(&self, row_class: u32) -> Option<u32> {
        let number = |numbers: &[u32]| numbers.get(row_class as usize).copied().filter(|number| *number != MISS);
        let known = self.table.as_ref().and_then(|table| number(&table.answers));
        known.or_else(|| number(&self.added))
    }

    /// The answer with a number.
    #[inline]
    pub fn answer(&self, number: u32) -> Option<&A> {
        self.numbered.get(number)
    }

    /// The answer about a row, if it is known.
    pub fn of_row(&self, row: Row) -> Option<&A> {
        self.answer(self.number_of(self.column.by_row[row as usize])?)
    }

    /// The positions of rows to evaluate, ascending: the last one of each of these row classes that has no answer.
    pub(crate) fn representatives(&self, rows: &[Row], row_classes: impl Iterator<Item = u32>) -> Vec<u32> {
        let (mut wanted, mut left) = (vec![false; self.column.count], 0);
        for row_class in row_classes.filter(|row_class| self.number_of(*row_class).is_none()) {
            left += usize::from(!std::mem::replace(&mut wanted[row_class as usize], true));
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

    /// As [`RowAnswers::witnesses`].
    pub fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        self.numbered.witnesses(source, rows)
    }
}

// === impl NumberedAnswers ===

impl<T, A: Answer> NumberedAnswers<T, A> {
    #[inline]
    fn get(&self, number: u32) -> Option<&A> {
        let of_class = self.class.as_ref().map_or(&[][..], |class| class.paths.trie.answers());
        of_class.get(number as usize).or_else(|| self.local.trie.answers().get(number as usize - of_class.len()))
    }

    fn iter(&self) -> impl Iterator<Item = &A> {
        self.class.iter().flat_map(|class| class.paths.trie.answers()).chain(self.local.trie.answers())
    }
}

impl<T: Attribute, A: Answer> NumberedAnswers<T, A> {
    fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        let of_class = self.class.as_deref().map(|class| &class.paths);
        witnesses(&of_class.into_iter().chain([&*self.local]).collect::<Vec<_>>(), source, rows)
    }
}
