//! The paths of answers, each with a row to read their values of.

use hashbrown::HashMap;

use crate::{
    attribute::{Attribute, AttributeList, Row},
    fingerprint::Fingerprint,
    source::{Reader, Source},
    subject_class::Answer,
    trie::Trie,
};

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

/// A trie with the attributes that its numbers stand for, and those of its subjects.
pub(crate) struct KnownPaths<'w, T, A> {
    pub(crate) subject_attributes: &'w [T],
    pub(crate) attributes: &'w AttributeList<T>,
    pub(crate) trie: &'w Trie<A>,
}

/// The paths that these rows have in the first trie that knows them, in the order of the first row of each.
pub(crate) fn witnesses<T: Attribute, A: Answer>(
    known: &[KnownPaths<'_, T, A>],
    source: &impl Source<Attribute = T>,
    rows: &[Row],
) -> Vec<Witness<T, A>> {
    let readers: Vec<Reader> = known.iter().map(|paths| Reader::new(source, paths.attributes)).collect();
    let (mut found, mut indices) = (Vec::new(), HashMap::new());
    for row in rows {
        let read = |at: usize, number| readers[at].read(source, known[at].attributes, number, *row, || *row + 1..);
        let leaf = |at: usize| Some((at, known[at].trie.find(|number| read(at, number))?));
        let Some((at, leaf)) = (0..known.len()).find_map(leaf) else { continue };
        let index = *indices.entry((at, leaf)).or_insert_with(|| {
            let KnownPaths { subject_attributes, attributes, trie } = &known[at];
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
