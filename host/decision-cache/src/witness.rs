//! The paths of answers, each with a row to read their values of.

use hashbrown::HashMap;

use crate::{
    attribute::{Attribute, AttributeList, Row},
    class::Answer,
    fingerprint::Fingerprint,
    source::{Reader, Source},
    trie::{Leaf, Trie},
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

/// Where the witnesses of some answers are found.
pub(crate) struct Witnesses<'w, T, A> {
    subject: &'w [T],
    attributes: &'w AttributeList<T>,
    trie: &'w Trie<A>,
}

impl<'w, T: Attribute, A: Answer> Witnesses<'w, T, A> {
    pub(crate) fn new(subject: &'w [T], attributes: &'w AttributeList<T>, trie: &'w Trie<A>) -> Self {
        Self { subject, attributes, trie }
    }

    /// Adds the witnesses of these rows, in the order of the first row of each.
    pub(crate) fn add(&self, found: &mut Vec<Witness<T, A>>, source: &impl Source<Attribute = T>, rows: &[Row]) {
        let reader = Reader::new(source, self.attributes);
        let mut known: HashMap<Leaf, usize> = HashMap::new();
        for row in rows {
            let read = |number| reader.read(source, self.attributes, number, *row, || *row + 1..);
            let Some(leaf) = self.trie.find(read) else { continue };
            let at = *known.entry(leaf).or_insert_with(|| {
                let mut path: Vec<_> =
                    self.subject.iter().map(|own| (own.clone(), source.shared_fingerprint(own))).collect();
                self.trie.find(|number| {
                    let value = read(number);
                    path.push((self.attributes.get(number).clone(), value));
                    value
                });
                let answer = self.trie.answers()[leaf.answer as usize].clone();
                found.push(Witness { answer, row: *row, rows: 0, path });
                found.len() - 1
            });
            found[at].rows += 1;
        }
    }
}
