//! One call of the function: it evaluates one representative of each unknown combination of values.

use std::sync::Arc;

use crate::{
    answers::{Answers, NewAnswers},
    attribute::{Attribute, AttributeList, Row},
    cache::Update,
    class::{Answer, Class, LookupResult, MISS},
    fingerprint::Fingerprint,
    lookup::Lookup,
    read_log::SharedLog,
    row_classes::{RowClassColumn, RowClasses},
    source::{Reader, Source},
    trie::Trie,
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
    /// The position that is evaluated.
    current: u32,
    found: Found<S::Attribute, A>,
    evaluated: usize,
}

type AnswersOf<S, A> = Answers<<S as Source>::Attribute, A>;

/// The results of this call so far.
struct Found<T, A> {
    trie: Trie<A>,
    attributes: AttributeList<T>,
    reader: Reader,
    speculation: Option<Speculation<T>>,
    has_conflict: bool,
    /// The reads do not determine the answers, so every row is evaluated.
    is_uncacheable: bool,
}

/// Speculates that the function reads only the attributes of these classes of rows.
struct Speculation<T> {
    row_classes: Arc<RowClasses<T>>,
    column: Arc<RowClassColumn>,
    /// The answer's number by class of rows.
    answers: Vec<u32>,
}

// === impl Evaluation ===

impl<S: Source, A: Answer> Evaluation<S, A> {
    /// Evaluates the misses of a lookup of these rows in this source.
    pub fn new(lookup: Lookup<S::Attribute, A>, source: S, rows: Arc<[Row]>) -> Self {
        let Lookup { class, walk: LookupResult { numbers, misses }, row_classes, .. } = lookup;
        let speculation = row_classes.and_then(|row_classes| {
            let column = row_classes.likely_column(&source)?;
            Some(Speculation { answers: vec![MISS; column.count], row_classes, column })
        });
        let found = Found {
            trie: Trie::default(),
            attributes: AttributeList::default(),
            reader: Reader::default(),
            speculation,
            has_conflict: false,
            is_uncacheable: false,
        };
        let log = SharedLog::default();
        Self { source, rows, log, class, numbers, misses, current: 0, found, evaluated: 0 }
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
        while let Some(position) = self.misses.pop() {
            if let Some(own) = self.found.get(&self.source, self.rows[position as usize]) {
                self.numbers[position as usize] = self.number(own);
                continue;
            }
            self.current = position;
            self.log.lock().begin(position);
            return Some(position);
        }
        None
    }

    /// Records the answer about the row that [`Evaluation::next_miss`] returned last.
    pub fn record_answer(&mut self, answer: A) {
        self.evaluated += 1;
        let own = self.keep(answer);
        self.numbers[self.current as usize] = self.number(own);
    }

    /// How many positions have an answer.
    pub fn answered(&self) -> usize {
        self.numbers.iter().filter(|answer| **answer != MISS).count()
    }

    /// How many rows were evaluated.
    pub fn evaluated(&self) -> usize {
        self.evaluated
    }

    /// The answers, and the insert for the cache. A row that was not evaluated has no answer.
    pub fn finish(self) -> (AnswersOf<S, A>, Option<Update<S, A>>) {
        let log = self.log.lock();
        let Found { trie, attributes, has_conflict, .. } = self.found;
        let new = Arc::new(NewAnswers { trie, attributes, subject: log.subject_attributes().to_vec() });
        let is_uncacheable = log.is_uncacheable();
        let update = Update { source: self.source, new: Arc::clone(&new), is_uncacheable, has_conflict };
        let update = (self.evaluated > 0).then_some(update);
        drop(log);
        (Answers { class: self.class, new, numbers: self.numbers }, update)
    }

    /// Records an answer by its reads, if they are known.
    fn keep(&mut self, answer: A) -> u32 {
        let mut log = self.log.lock();
        let Some(steps) = log.finish().map(<[u32]>::to_vec) else {
            self.found.is_uncacheable = true;
            return self.found.trie.push_answer(answer);
        };
        self.found.read_more(log.attributes().as_slice(), &self.source);
        self.found.keep(&steps, &self.source, self.rows[self.current as usize], answer)
    }

    /// The number of an answer of this call among all.
    fn number(&self, own: u32) -> u32 {
        self.class.as_ref().map_or(0, |class| class.trie.answers().len() as u32) + own
    }
}

// === impl Found ===

impl<T: Attribute, A: Answer> Found<T, A> {
    /// The answer about a row from this call.
    fn get<S: Source<Attribute = T>>(&mut self, source: &S, row: Row) -> Option<u32> {
        if self.is_uncacheable {
            return None;
        }
        let cell = self.speculation.as_mut().map(|speculation| speculation.cell(row));
        if let Some(own) = cell.as_ref().map(|own| **own).filter(|own| *own != MISS) {
            return Some(own);
        }
        let own = self.trie.walk(|number| self.reader.read(source, &self.attributes, number, row))?;
        if let Some(cell) = cell {
            *cell = own;
        }
        Some(own)
    }

    /// Adds the attributes that the function has read since.
    fn read_more<S: Source<Attribute = T>>(&mut self, attributes: &[T], source: &S) {
        for attribute in &attributes[self.attributes.len()..] {
            let is_known = |speculation: &Speculation<T>| speculation.row_classes.position(attribute).is_some();
            self.speculation = self.speculation.take().filter(is_known);
            self.attributes.push(attribute.clone());
        }
        self.reader.extend(source, &self.attributes);
    }

    fn keep<S: Source<Attribute = T>>(&mut self, steps: &[u32], source: &S, row: Row, answer: A) -> u32 {
        let read = |step: &u32| (*step, self.reader.read(source, &self.attributes, *step, row));
        let path: Vec<(u32, Fingerprint)> = steps.iter().map(read).collect();
        let Ok(own) = self.trie.insert(&path, answer.clone()) else {
            (self.has_conflict, self.is_uncacheable) = (true, true);
            return self.trie.push_answer(answer);
        };
        if let Some(speculation) = &mut self.speculation {
            *speculation.cell(row) = own;
        }
        own
    }
}

// === impl Speculation ===

impl<T> Speculation<T> {
    fn cell(&mut self, row: Row) -> &mut u32 {
        &mut self.answers[self.column.by_row[row as usize] as usize]
    }
}
