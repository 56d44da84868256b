//! The answers of one request: each distinct one has a number, and each row or row class has the number of its answer.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::{
    attribute::{Attribute, Row},
    fingerprint::Fingerprint,
    source::{Reader, Source},
    subject_class::{MISS, RowClassTable, SubjectClass},
    trie::{Answer, Paths, Trie},
};

/// The answers that one request can get, by number: first those of the subject's class, then the *local* ones, which
/// this call has evaluated.
#[derive(Debug, Clone)]
pub struct Answers<T, A> {
    pub(crate) class: Option<Arc<SubjectClass<T, A>>>,
    pub(crate) local: Arc<Paths<T, A>>,
}

/// An answer, the path that it follows from, and a row for which it holds.
///
/// [`Source::value`] has the value of each attribute of the path at that row. So a log of decisions can have the values
/// that each was made from, once for each path instead of once for each row, and without a further evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness<T, A> {
    /// The answer.
    pub answer: A,
    /// A row that has the values of the path.
    pub row: Row,
    /// The number of rows with the same path.
    pub rows: usize,
    /// The attributes of the subject, then those of the evaluation, each in the order of the reads.
    pub path: Vec<(T, Fingerprint)>,
}

/// The answers that are cached about one subject.
///
/// A subject that is new has none yet. Its rows are in the classes by which the subject before it was answered: an
/// [`Evaluation`](crate::Evaluation) finds out whether this subject's answers follow from them too.
#[derive(Debug)]
pub struct Lookup<T, A> {
    pub(crate) class: Option<Arc<SubjectClass<T, A>>>,
    /// `None` if the answers depend on too much, or no subject before a new one was answered by a table.
    pub(crate) by_class: Option<RowClassTable<T>>,
    pub(crate) is_cacheable: bool,
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
        let known: Vec<&Paths<T, A>> = of_class.into_iter().chain([&*self.local]).collect();
        let readers: Vec<Reader> = known.iter().map(|paths| Reader::new(source, &paths.attributes)).collect();
        let (mut found, mut indices) = (Vec::new(), HashMap::new());
        for row in rows {
            let read = |at: usize, number| readers[at].read(source, &known[at].attributes, number, *row);
            let leaf = |at: usize| Some((at, known[at].trie.find(|number| read(at, number))?));
            let Some((at, leaf)) = (0..known.len()).find_map(leaf) else { continue };
            let index = *indices.entry((at, leaf)).or_insert_with(|| {
                let Paths { subject_attributes, attributes, trie } = known[at];
                let of_subject = |attribute: &T| (attribute.clone(), source.shared_fingerprint(attribute));
                let mut path: Vec<_> = subject_attributes.iter().map(of_subject).collect();
                trie.find(|number| {
                    let value = read(at, number);
                    path.push((attributes.get(number).clone(), value));
                    value
                });
                found.push(Witness { answer: trie.answers()[leaf.answer as usize].clone(), row: *row, rows: 0, path });
                found.len() - 1
            });
            found[index].rows += 1;
        }
        found
    }
}

// === impl Lookup ===

impl<T: Attribute, A: Answer> Lookup<T, A> {
    /// Whether answers about this subject are cached; otherwise the function is evaluated for every row.
    pub fn is_cacheable(&self) -> bool {
        self.is_cacheable
    }

    /// Whether rows are in classes that the answers follow from.
    pub fn has_row_classes(&self) -> bool {
        self.by_class.is_some()
    }

    /// The number of the answer about a row class; [`MISS`] if it is not known.
    #[inline]
    pub fn number_of(&self, row_class: u32) -> u32 {
        self.by_class.as_ref().map_or(MISS, |by_class| by_class.number_of(row_class))
    }

    /// The numbers of the answers about these rows; [`MISS`] where one is not known.
    pub fn numbers(&self, source: &impl Source<Attribute = T>, rows: impl Iterator<Item = Row>) -> Vec<u32> {
        if let Some(by_class) = &self.by_class {
            return rows.map(|row| by_class.number_of_row(row)).collect();
        }
        let Some(class) = &self.class else { return rows.map(|_| MISS).collect() };
        let Paths { attributes, trie, .. } = &class.paths;
        let reader = Reader::new(source, attributes);
        let leaf = |row| trie.find(|number| reader.read(source, attributes, number, row));
        rows.map(|row| leaf(row).map_or(MISS, |leaf| leaf.answer)).collect()
    }

    /// The answers that the numbers stand for.
    pub fn into_answers(self) -> Answers<T, A> {
        Answers { class: self.class, local: Arc::default() }
    }
}
