//! The paths of answers, with the attributes on them.

use hashbrown::HashMap;

use crate::{
    attribute::{Attribute, AttributeList, Row},
    fingerprint::Fingerprint,
    source::{Reader, Source},
    trie::{Answer, Trie},
};

/// A trie, with the attributes that its numbers stand for and those of its subjects: of a subject class, or of one
/// call.
#[derive(Debug)]
pub(crate) struct Paths<T, A> {
    /// The attributes that were read of the subjects.
    pub(crate) subject_attributes: Vec<T>,
    /// The attributes that the trie's numbers stand for.
    pub(crate) attributes: AttributeList<T>,
    pub(crate) trie: Trie<A>,
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

impl<T, A> Default for Paths<T, A> {
    fn default() -> Self {
        Self { subject_attributes: Vec::new(), attributes: AttributeList::default(), trie: Trie::default() }
    }
}

/// The paths that these rows have in the first trie that knows them, in the order of the first row of each.
pub(crate) fn witnesses<T: Attribute, A: Answer>(
    known: &[&Paths<T, A>],
    source: &impl Source<Attribute = T>,
    rows: &[Row],
) -> Vec<Witness<T, A>> {
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
