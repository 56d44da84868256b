//! One call of the function: it evaluates one representative of each unknown combination of values.

use std::sync::Arc;

use crate::{
    answers::{Answers, Lookup},
    attribute::Row,
    cache::Update,
    read_log::SharedLog,
    source::{Reader, Source},
    subject_class::{MISS, RowClassTable, SubjectClass},
    trie::{Answer, Paths},
};

/// Evaluates the function for the misses of a lookup, one row after another.
///
/// Before a row is evaluated it is looked up among the answers of this call, so that only one of the rows with the same
/// values is evaluated.
pub struct Evaluation<S: Source, A> {
    source: S,
    rows: Arc<[Row]>,
    log: SharedLog<S::Attribute>,
    class: Option<Arc<SubjectClass<S::Attribute, A>>>,
    /// The number of the answer by position.
    numbers: Vec<u32>,
    /// The positions that are still to be evaluated.
    misses: Vec<u32>,
    /// The classes that the misses stand for, until an answer has turned out not to follow from them and the other rows
    /// have become misses too.
    classes: Option<RowClassTable<S::Attribute>>,
    /// Whether an answer has turned out not to follow from the classes.
    leaves_classes: bool,
    /// The position that is evaluated.
    current: u32,
    /// The paths of this call; rows with the same values get their answers from it.
    local: Paths<S::Attribute, A>,
    reader: Reader,
    has_conflict: bool,
    /// The reads do not determine the answers, so every row is evaluated.
    is_uncacheable: bool,
    asked: usize,
    evaluated: usize,
}

/// The answers at the end of an [`Evaluation`].
pub struct Evaluated<S: Source, A> {
    /// The answers that the numbers stand for.
    pub answers: Answers<S::Attribute, A>,
    /// The number of the answer by position.
    pub numbers: Vec<u32>,
    /// Whether only the misses have a number, and the others [`MISS`]. Otherwise an answer did not follow from its row
    /// class, and every row has one.
    pub is_of_misses: bool,
    /// The insert for the cache; `None` if nothing was evaluated.
    pub update: Option<Update<S, A>>,
}

// === impl Evaluation ===

impl<S: Source, A: Answer> Evaluation<S, A> {
    /// Evaluates the function for the rows at the positions of the misses, ascending. If they are by class, each is the
    /// representative of the rows of one class; if an answer does not follow from the class, the other rows without an
    /// answer are evaluated as well.
    pub fn new(
        lookup: Lookup<S::Attribute, A>,
        source: S,
        rows: Arc<[Row]>,
        misses: Vec<u32>,
        is_by_class: bool,
    ) -> Self {
        Self {
            source,
            log: SharedLog::default(),
            class: lookup.class,
            numbers: vec![MISS; rows.len()],
            rows,
            misses,
            classes: lookup.by_class.filter(|_| is_by_class),
            leaves_classes: false,
            current: 0,
            local: Paths::default(),
            reader: Reader::default(),
            has_conflict: false,
            is_uncacheable: false,
            asked: 0,
            evaluated: 0,
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
                if let Some(local) = self.find(self.rows[position as usize]) {
                    self.numbers[position as usize] = self.number(local);
                    continue;
                }
                (self.current, self.asked) = (position, self.asked + 1);
                self.log.lock().begin(position);
                return Some(position);
            }
            match self.classes.take_if(|_| self.leaves_classes) {
                Some(classes) => self.add_other_rows(&classes),
                None => break,
            }
        }
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
        let awaits_others = self.leaves_classes && self.classes.is_some();
        self.misses.is_empty() && !awaits_others && self.evaluated == self.asked
    }

    /// The number of rows that were evaluated.
    pub fn evaluated(&self) -> usize {
        self.evaluated
    }

    /// The answers, and the insert for the cache.
    pub fn finish(self) -> Evaluated<S, A> {
        let log = self.log.lock();
        let local = Arc::new(Paths { subject_attributes: log.subject_attributes().to_vec(), ..self.local });
        let (is_uncacheable, has_conflict) = (log.is_uncacheable(), self.has_conflict);
        drop(log);
        let update = Update { source: self.source, local: Arc::clone(&local), is_uncacheable, has_conflict };
        Evaluated {
            answers: Answers { class: self.class, local },
            numbers: self.numbers,
            is_of_misses: !self.leaves_classes,
            update: (self.evaluated > 0).then_some(update),
        }
    }

    /// The local number of the answer about a row that this call has had.
    fn find(&self, row: Row) -> Option<u32> {
        if self.is_uncacheable {
            return None;
        }
        let Paths { attributes, trie, .. } = &self.local;
        Some(trie.find(|number| self.reader.read(&self.source, attributes, number, row))?.answer)
    }

    /// The answers do not follow from row classes: each row without an answer is a miss.
    fn add_other_rows(&mut self, classes: &RowClassTable<S::Attribute>) {
        for (position, (number, row)) in self.numbers.iter_mut().zip(&*self.rows).enumerate() {
            if *number == MISS {
                *number = classes.number_of_row(*row);
            }
            if *number == MISS {
                self.misses.push(position as u32);
            }
        }
    }

    /// Records an answer by its reads, if they are known. Returns its local number.
    fn keep(&mut self, answer: A) -> u32 {
        let mut log = self.log.lock();
        let Paths { attributes, trie, .. } = &mut self.local;
        let path: Option<Vec<_>> = log.finish().map(<[u32]>::to_vec).map(|reads| {
            for attribute in &log.attributes().as_slice()[attributes.len()..] {
                self.leaves_classes |= self.classes.as_ref().is_some_and(|classes| !classes.is_of_classes(attribute));
                attributes.push(attribute.clone());
            }
            self.reader.extend(&self.source, attributes);
            let row = self.rows[self.current as usize];
            reads.iter().map(|number| (*number, self.reader.read(&self.source, attributes, *number, row))).collect()
        });
        if let Some(path) = path {
            if let Ok(local) = trie.insert(&path, answer.clone()) {
                return local;
            }
            self.has_conflict = true;
        }
        // From now on every row is evaluated.
        self.is_uncacheable = true;
        self.leaves_classes |= self.classes.is_some();
        trie.push_answer(answer)
    }

    /// The number of a local answer among all.
    fn number(&self, local: u32) -> u32 {
        self.class.as_ref().map_or(0, |class| class.paths.trie.answers().len() as u32) + local
    }
}
