//! The paths of answers, each with a row to read their values of.

use hashbrown::HashMap;

use crate::{
    attribute::{Attribute, Row},
    class::{Answer, Class},
    fingerprint::Fingerprint,
    source::{Reader, Source},
    trie::Leaf,
};

/// An answer, what it follows from, and a row for which it holds.
///
/// [`Source::value`] has the value of each attribute of the path at that row: so a decision can be recorded with what
/// it was made from, once for each path instead of once for each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness<T, A> {
    /// The answer.
    pub answer: A,
    /// A row that has the values of the path.
    pub row: Row,
    /// How many of the rows have the same path.
    pub rows: usize,
    /// The attributes of the subject, then those of the evaluation, each in the order of the reads.
    pub path: Vec<(T, Fingerprint)>,
}

impl<T: Attribute, A: Answer> Witness<T, A> {
    /// The witnesses of these rows, in the order of the first row of each; rows without an answer are left out.
    pub(crate) fn all(
        subject: &[T],
        class: &Class<T, A>,
        source: &impl Source<Attribute = T>,
        rows: impl Iterator<Item = Row>,
    ) -> Vec<Self> {
        let reader = Reader::new(class.attributes.len());
        let mut known: HashMap<Leaf, usize> = HashMap::new();
        let mut witnesses: Vec<Self> = Vec::new();
        for row in rows {
            let read = |number| reader.read(source, &class.attributes, number, row);
            let Some(leaf) = class.trie.find(read) else { continue };
            let at = *known.entry(leaf).or_insert_with(|| {
                let mut path: Vec<_> = subject.iter().map(|own| (own.clone(), source.shared(own))).collect();
                class.trie.find(|number| {
                    let value = read(number);
                    path.push((class.attributes.get(number).clone(), value));
                    value
                });
                let answer = class.trie.answers()[leaf.answer as usize].clone();
                witnesses.push(Self { answer, row, rows: 0, path });
                witnesses.len() - 1
            });
            witnesses[at].rows += 1;
        }
        witnesses
    }
}
