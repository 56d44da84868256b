//! One call of the function: it evaluates one representative of each unknown combination of values.

mod found;

use std::sync::Arc;

use self::found::{Found, Speculation};
use crate::{
    answers::{Answers, NewAnswers},
    attribute::Row,
    cache::Update,
    class::{Answer, Class, LookupResult, MISS},
    lookup::{ByClass, Lookup},
    read_log::SharedLog,
    source::Source,
};

/// Evaluates the function for the misses of a lookup, one row after another.
///
/// After each answer the other rows are looked up again, so that only one of the rows with the same values is evaluated.
pub struct Evaluation<S: Source, A> {
    source: S,
    rows: Arc<[Row]>,
    log: SharedLog<S::Attribute>,
    class: Option<Arc<Class<S::Attribute, A>>>,
    numbers: Vec<u32>,
    /// The positions without an answer yet.
    misses: Vec<u32>,
    /// As long as the answers follow from classes of rows: only one row of each class is in `misses`.
    by_class: Option<ByClass<S::Attribute, A>>,
    /// The position that is evaluated.
    current: u32,
    found: Found<S::Attribute, A>,
    asked: usize,
    evaluated: usize,
    has_ended: bool,
}

/// The answers at the end of an [`Evaluation`].
pub enum Evaluated<T, A> {
    /// By class of rows: of every class that the evaluation was to answer about.
    ByClass(ByClass<T, A>),
    /// By position. A row that was not evaluated has no answer.
    ByRow(Answers<T, A>),
}

type UpdateOf<S, A> = Option<Update<S, A>>;

// === impl Evaluation ===

impl<S: Source, A: Answer> Evaluation<S, A> {
    /// Evaluates the misses of a lookup of these rows in this source.
    pub fn new(lookup: Lookup<S::Attribute, A>, source: S, rows: Arc<[Row]>) -> Self {
        let Lookup { class, walk: LookupResult { numbers, misses }, row_classes, .. } = lookup;
        let speculation = row_classes.and_then(|row_classes| {
            let column = row_classes.likely_column(&source)?;
            Some(Speculation::new(row_classes, column))
        });
        Self::of(source, rows, class, (numbers, misses), speculation)
    }

    /// Evaluates one row of each of these classes that has no answer yet: they are the classes of these rows.
    ///
    /// If an answer does not follow from the class of its row, the other rows are evaluated as well.
    pub fn by_class(
        by_class: ByClass<S::Attribute, A>,
        source: S,
        rows: Arc<[Row]>,
        classes: impl Iterator<Item = u32>,
    ) -> Self {
        let misses = by_class.representatives(&rows, classes);
        let (row_classes, column) = (Arc::clone(&by_class.row_classes), Arc::clone(&by_class.column));
        let (class, numbers) = (by_class.answers.class.clone(), vec![MISS; rows.len()]);
        let speculation = Some(Speculation::new(row_classes, column));
        Self { by_class: Some(by_class), ..Self::of(source, rows, class, (numbers, misses), speculation) }
    }

    fn of(
        source: S,
        rows: Arc<[Row]>,
        class: Option<Arc<Class<S::Attribute, A>>>,
        (numbers, misses): (Vec<u32>, Vec<u32>),
        speculation: Option<Speculation<S::Attribute>>,
    ) -> Self {
        let found = Found::new(speculation);
        let (log, by_class, has_ended) = (SharedLog::default(), None, false);
        let (current, asked, evaluated) = (0, 0, 0);
        Self { source, rows, log, class, numbers, misses, by_class, current, found, asked, evaluated, has_ended }
    }

    /// The log for the function's reads.
    pub fn log(&self) -> &SharedLog<S::Attribute> {
        &self.log
    }

    /// The position of the row to evaluate next; `None` when all have answers.
    ///
    /// Positions come in descending order: otherwise a function that reads row 0 as *another* row could not be told
    /// from one that reads the row that it is evaluated for.
    pub fn next_miss(&mut self) -> Option<u32> {
        loop {
            while let Some(position) = self.misses.pop() {
                let next = || next_rows(&self.misses, &self.rows);
                if let Some(own) = self.found.get(&self.source, self.rows[position as usize], next) {
                    self.numbers[position as usize] = self.number(own);
                    continue;
                }
                (self.current, self.asked) = (position, self.asked + 1);
                self.log.lock().begin(position);
                return Some(position);
            }
            match self.by_class.take_if(|_| !self.found.follows_from_classes()) {
                Some(by_class) => self.add_other_rows(&by_class),
                None => break,
            }
        }
        self.has_ended = true;
        None
    }

    /// Records the answer about the row that [`Evaluation::next_miss`] returned last.
    pub fn record_answer(&mut self, answer: A) {
        self.evaluated += 1;
        let own = self.keep(answer);
        self.numbers[self.current as usize] = self.number(own);
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
    pub fn finish(self) -> (Evaluated<S::Attribute, A>, UpdateOf<S, A>) {
        let offset = self.number(0);
        let log = self.log.lock();
        let Found { trie, attributes, has_conflict, speculation, .. } = self.found;
        let new = Arc::new(NewAnswers { trie, attributes, subject: log.subject_attributes().to_vec() });
        let is_uncacheable = log.is_uncacheable();
        let update = Update { source: self.source, new: Arc::clone(&new), is_uncacheable, has_conflict };
        let update = (self.evaluated > 0).then_some(update);
        drop(log);
        let answers = |numbers| Answers { class: self.class, new, numbers };
        let evaluated = match (self.by_class, speculation) {
            (Some(by_class), Some(Speculation { answers: own, .. })) => {
                let number = |own: u32| if own == MISS { MISS } else { offset + own };
                let numbers = own.into_iter().map(number).collect();
                Evaluated::ByClass(ByClass { answers: answers(numbers), ..by_class })
            }
            _ => Evaluated::ByRow(answers(self.numbers)),
        };
        (evaluated, update)
    }

    /// The answers do not follow from classes: each row that is not known gets one of its own.
    fn add_other_rows(&mut self, by_class: &ByClass<S::Attribute, A>) {
        for (position, (number, row)) in self.numbers.iter_mut().zip(&*self.rows).enumerate() {
            if *number == MISS {
                match by_class.number(by_class.column.by_row[*row as usize]) {
                    Some(known) => *number = known,
                    None => self.misses.push(position as u32),
                }
            }
        }
    }

    /// Records an answer by its reads, if they are known.
    fn keep(&mut self, answer: A) -> u32 {
        let mut log = self.log.lock();
        let Some(steps) = log.finish().map(<[u32]>::to_vec) else {
            self.found.is_uncacheable = true;
            return self.found.trie.push_answer(answer);
        };
        self.found.read_more(log.attributes().as_slice(), &self.source);
        let next = || next_rows(&self.misses, &self.rows);
        self.found.keep(&steps, &self.source, self.rows[self.current as usize], next, answer)
    }

    /// The number of an answer of this call among all.
    fn number(&self, own: u32) -> u32 {
        self.class.as_ref().map_or(0, |class| class.trie.answers().len() as u32) + own
    }
}

/// The rows of these positions, in the order in which they are evaluated.
fn next_rows(misses: &[u32], rows: &[Row]) -> impl Iterator<Item = Row> {
    misses.iter().rev().map(|position| rows[*position as usize])
}
