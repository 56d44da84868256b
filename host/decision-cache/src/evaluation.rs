//! One call of the function: it evaluates one representative of each unknown combination of values.
//!
//! A row is missed in one of two ways. After a lookup by row ([`Evaluation::of_rows`]), each row without an answer is a
//! miss. After a lookup by row class ([`Evaluation::of_row_classes`]), one row of each class without an answer is.
//! Both look at [`CallTrie`] before a row is evaluated, which has the paths of this call.
//!
//! An answer of this call has two numbers: a *local* one, its index in [`CallTrie`], and its number in
//! [`NumberedAnswers`], where it comes after the answers of the subject's class. In both [`MISS`] stands for no answer.

mod call_trie;

use std::sync::Arc;

use self::call_trie::{CallTrie, Speculation};
use crate::{
    answers::{NumberedAnswers, RowAnswers, RowClassAnswers},
    attribute::Row,
    cache::Update,
    lookup::Lookup,
    paths::Paths,
    read_log::SharedLog,
    source::Source,
    subject_class::{MISS, SubjectClass},
    trie::Answer,
};

/// Evaluates the function for the misses of a lookup, one row after another.
///
/// After each answer the other rows are looked up again, so that only one of the rows with the same values is
/// evaluated.
pub struct Evaluation<S: Source, A> {
    source: S,
    rows: Arc<[Row]>,
    log: SharedLog<S::Attribute>,
    class: Option<Arc<SubjectClass<S::Attribute, A>>>,
    /// The number of the answer by position.
    numbers: Vec<u32>,
    /// The positions without an answer yet.
    misses: Vec<u32>,
    /// As long as the answers follow from row classes: only one row of each class is in `misses`.
    row_class_answers: Option<RowClassAnswers<S::Attribute, A>>,
    /// The position that is evaluated.
    current: u32,
    call: CallTrie<S::Attribute, A>,
    asked: usize,
    evaluated: usize,
    has_ended: bool,
}

/// The answers at the end of an [`Evaluation`].
pub enum Evaluated<T, A> {
    /// By row class: of every class that the evaluation was to answer about.
    ByRowClass(RowClassAnswers<T, A>),
    /// By position. A row that was not evaluated has no answer.
    ByRow(RowAnswers<T, A>),
}

/// The answers of an evaluation, and its insert for the cache; `None` if nothing was evaluated.
type Finished<S, A> = (Evaluated<<S as Source>::Attribute, A>, Option<Update<S, A>>);

// === impl Evaluation ===

impl<S: Source, A: Answer> Evaluation<S, A> {
    /// Evaluates the misses of a lookup of these rows in this source.
    pub fn of_rows(lookup: Lookup<S::Attribute, A>, source: S, rows: Arc<[Row]>) -> Self {
        let Lookup { class, numbers, row_classes, .. } = lookup;
        let without_answer = |(at, number): (usize, &u32)| (*number == MISS).then_some(at as u32);
        let misses = numbers.iter().enumerate().filter_map(without_answer).collect();
        let speculation = row_classes.and_then(|row_classes| {
            let column = row_classes.column_if_built_before(&source)?;
            Some(Speculation::new(row_classes, column))
        });
        Self::of(source, rows, class, (numbers, misses), speculation)
    }

    /// Evaluates one row of each of these row classes that has no answer yet. They are the classes of these rows.
    ///
    /// If an answer does not follow from the class of its row, the other rows are evaluated as well.
    pub fn of_row_classes(
        answers: RowClassAnswers<S::Attribute, A>,
        source: S,
        rows: Arc<[Row]>,
        row_classes: impl Iterator<Item = u32>,
    ) -> Self {
        let misses = answers.representatives(&rows, row_classes);
        let speculation = Some(Speculation::new(Arc::clone(&answers.row_classes), Arc::clone(&answers.column)));
        let (class, numbers) = (answers.numbered.class.clone(), vec![MISS; rows.len()]);
        Self { row_class_answers: Some(answers), ..Self::of(source, rows, class, (numbers, misses), speculation) }
    }

    fn of(
        source: S,
        rows: Arc<[Row]>,
        class: Option<Arc<SubjectClass<S::Attribute, A>>>,
        (numbers, misses): (Vec<u32>, Vec<u32>),
        speculation: Option<Speculation<S::Attribute>>,
    ) -> Self {
        Self {
            source,
            rows,
            log: SharedLog::default(),
            class,
            numbers,
            misses,
            row_class_answers: None,
            current: 0,
            call: CallTrie::new(speculation),
            asked: 0,
            evaluated: 0,
            has_ended: false,
        }
    }

    /// The log for the function's reads.
    pub fn log(&self) -> &SharedLog<S::Attribute> {
        &self.log
    }

    /// The position of the row to evaluate next; `None` when all have answers.
    ///
    /// Positions come in descending order: otherwise a function that reads row 0 as *another* row would look like one
    /// that reads the row that it is evaluated for.
    pub fn next_miss(&mut self) -> Option<u32> {
        loop {
            while let Some(position) = self.misses.pop() {
                let next = || next_rows(&self.misses, &self.rows);
                if let Some(local) = self.call.get(&self.source, self.rows[position as usize], next) {
                    self.numbers[position as usize] = self.number(local);
                    continue;
                }
                (self.current, self.asked) = (position, self.asked + 1);
                self.log.lock().begin(position);
                return Some(position);
            }
            match self.row_class_answers.take_if(|_| !self.call.follows_from_row_classes()) {
                Some(answers) => self.add_other_rows(&answers),
                None => break,
            }
        }
        self.has_ended = true;
        None
    }

    /// Records the answer about the row that [`Evaluation::next_miss`] returned last.
    pub fn record_answer(&mut self, answer: A) {
        self.evaluated += 1;
        let local = self.keep(answer);
        self.numbers[self.current as usize] = self.number(local);
    }

    /// Whether all have answers: [`Evaluation::next_miss`] has returned all, and an answer was recorded for each.
    pub fn is_complete(&self) -> bool {
        self.has_ended && self.evaluated == self.asked
    }

    /// The number of rows that were evaluated.
    pub fn evaluated(&self) -> usize {
        self.evaluated
    }

    /// The answers, and the insert for the cache.
    pub fn finish(self) -> Finished<S, A> {
        let first_local = self.number(0);
        let log = self.log.lock();
        let CallTrie { trie, attributes, has_conflict, speculation, .. } = self.call;
        let subject_attributes = log.subject_attributes().to_vec();
        let local = Arc::new(Paths { subject_attributes, attributes, trie });
        let is_uncacheable = log.is_uncacheable();
        let update = Update { source: self.source, local: Arc::clone(&local), is_uncacheable, has_conflict };
        let update = (self.evaluated > 0).then_some(update);
        drop(log);
        let numbered = NumberedAnswers { class: self.class, local };
        let evaluated = match (self.row_class_answers, speculation) {
            (Some(answers), Some(Speculation { locals, .. })) => {
                let number = |local: u32| if local == MISS { MISS } else { first_local + local };
                let added = locals.into_iter().map(number).collect();
                Evaluated::ByRowClass(RowClassAnswers { numbered, added, ..answers })
            }
            _ => Evaluated::ByRow(RowAnswers { numbered, numbers: self.numbers }),
        };
        (evaluated, update)
    }

    /// The answers do not follow from row classes: each row without an answer is a miss.
    fn add_other_rows(&mut self, answers: &RowClassAnswers<S::Attribute, A>) {
        for (position, (number, row)) in self.numbers.iter_mut().zip(&*self.rows).enumerate() {
            if *number == MISS {
                match answers.number_of(answers.column.by_row[*row as usize]) {
                    Some(known) => *number = known,
                    None => self.misses.push(position as u32),
                }
            }
        }
    }

    /// Records an answer by its reads, if they are known. Returns its local number.
    fn keep(&mut self, answer: A) -> u32 {
        let mut log = self.log.lock();
        let Some(reads) = log.finish().map(<[u32]>::to_vec) else {
            return self.call.insert_uncacheable(answer);
        };
        self.call.read_more(log.attributes().as_slice(), &self.source);
        let next = || next_rows(&self.misses, &self.rows);
        self.call.insert(&reads, &self.source, self.rows[self.current as usize], next, answer)
    }

    /// The number of a local answer among all.
    fn number(&self, local: u32) -> u32 {
        self.class.as_ref().map_or(0, |class| class.paths.trie.answers().len() as u32) + local
    }
}

/// The rows of these positions, in the order in which they are evaluated.
fn next_rows(misses: &[u32], rows: &[Row]) -> impl Iterator<Item = Row> {
    misses.iter().rev().map(|position| rows[*position as usize])
}
