//! The paths that one call has evaluated so far. Rows with the same values get their answers from it.

use std::sync::Arc;

use crate::{
    attribute::{Attribute, AttributeList, Row, Scope},
    fingerprint::Fingerprint,
    row_classes::{RowClassColumn, RowClasses},
    source::{Reader, Source},
    subject_class::MISS,
    trie::{Answer, Trie},
};

/// The paths of one call. All answers are by their local numbers.
pub(super) struct CallTrie<T, A> {
    pub(super) trie: Trie<A>,
    /// The attributes that the trie's numbers stand for.
    pub(super) attributes: AttributeList<T>,
    reader: Reader,
    pub(super) speculation: Option<Speculation<T>>,
    pub(super) has_conflict: bool,
    /// The reads do not determine the answers, so every row is evaluated.
    is_uncacheable: bool,
}

/// Speculates that the function reads no attributes of rows but those that these row classes were made by: then
/// all rows of a class have one answer, and one lookup by class replaces a walk of the trie.
///
/// The first read of another attribute ends it ([`CallTrie::read_more`]).
pub(super) struct Speculation<T> {
    row_classes: Arc<RowClasses<T>>,
    column: Arc<RowClassColumn>,
    /// The local number of the answer by row class.
    pub(super) locals: Vec<u32>,
}

// === impl CallTrie ===

impl<T: Attribute, A: Answer> CallTrie<T, A> {
    pub(super) fn new(speculation: Option<Speculation<T>>) -> Self {
        Self {
            trie: Trie::default(),
            attributes: AttributeList::default(),
            reader: Reader::default(),
            speculation,
            has_conflict: false,
            is_uncacheable: false,
        }
    }

    /// Whether rows of one class have one answer, as far as is known.
    pub(super) fn follows_from_row_classes(&self) -> bool {
        !self.is_uncacheable && self.speculation.is_some()
    }

    /// The answer about a row from this call; the rows `next` come after it.
    pub(super) fn get<S: Source<Attribute = T>, N: Iterator<Item = Row>>(
        &mut self,
        source: &S,
        row: Row,
        next: impl Fn() -> N,
    ) -> Option<u32> {
        if self.is_uncacheable {
            return None;
        }
        let cell = self.speculation.as_mut().map(|speculation| speculation.cell(row));
        if let Some(local) = cell.as_ref().map(|local| **local).filter(|local| *local != MISS) {
            return Some(local);
        }
        let local = self.trie.find(|number| self.reader.read(source, &self.attributes, number, row, &next))?.answer;
        if let Some(cell) = cell {
            *cell = local;
        }
        Some(local)
    }

    /// Adds the attributes that the function has read since.
    pub(super) fn read_more<S: Source<Attribute = T>>(&mut self, attributes: &[T], source: &S) {
        for attribute in &attributes[self.attributes.len()..] {
            // A value of the snapshot is the same for all rows, so it tells no two rows of a class apart.
            let is_known = |speculation: &Speculation<T>| {
                attribute.scope() == Scope::Snapshot || speculation.row_classes.tuple_index(attribute).is_some()
            };
            self.speculation = self.speculation.take().filter(is_known);
            self.attributes.push(attribute.clone());
        }
        self.reader.extend(source, &self.attributes);
    }

    /// Adds an answer by the reads that led to it.
    pub(super) fn insert<S: Source<Attribute = T>, N: Iterator<Item = Row>>(
        &mut self,
        reads: &[u32],
        source: &S,
        row: Row,
        next: impl Fn() -> N,
        answer: A,
    ) -> u32 {
        let read = |number: &u32| (*number, self.reader.read(source, &self.attributes, *number, row, &next));
        let path: Vec<(u32, Fingerprint)> = reads.iter().map(read).collect();
        let Ok(local) = self.trie.insert(&path, answer.clone()) else {
            self.has_conflict = true;
            return self.insert_uncacheable(answer);
        };
        if let Some(speculation) = &mut self.speculation {
            *speculation.cell(row) = local;
        }
        local
    }

    /// Adds an answer that its reads do not determine. From now on every row is evaluated.
    pub(super) fn insert_uncacheable(&mut self, answer: A) -> u32 {
        self.is_uncacheable = true;
        self.trie.push_answer(answer)
    }
}

// === impl Speculation ===

impl<T> Speculation<T> {
    pub(super) fn new(row_classes: Arc<RowClasses<T>>, column: Arc<RowClassColumn>) -> Self {
        Self { locals: vec![MISS; column.count], row_classes, column }
    }

    fn cell(&mut self, row: Row) -> &mut u32 {
        &mut self.locals[self.column.by_row[row as usize] as usize]
    }
}
