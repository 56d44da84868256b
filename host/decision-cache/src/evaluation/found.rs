//! The answers that one evaluation has found so far.

use std::sync::Arc;

use crate::{
    attribute::{Attribute, AttributeList, Row, Scope},
    class::{Answer, MISS},
    fingerprint::Fingerprint,
    row_classes::{RowClassColumn, RowClasses},
    source::{Reader, Source},
    trie::Trie,
};

/// The results of this call so far.
pub(super) struct Found<T, A> {
    pub(super) trie: Trie<A>,
    pub(super) attributes: AttributeList<T>,
    reader: Reader,
    pub(super) speculation: Option<Speculation<T>>,
    pub(super) has_conflict: bool,
    /// The reads do not determine the answers, so every row is evaluated.
    pub(super) is_uncacheable: bool,
}

/// Speculates that the function reads only the attributes of these classes of rows.
pub(super) struct Speculation<T> {
    row_classes: Arc<RowClasses<T>>,
    column: Arc<RowClassColumn>,
    /// The answer's number by class of rows.
    pub(super) answers: Vec<u32>,
}

// === impl Found ===

impl<T: Attribute, A: Answer> Found<T, A> {
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
    pub(super) fn follows_from_classes(&self) -> bool {
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
        if let Some(own) = cell.as_ref().map(|own| **own).filter(|own| *own != MISS) {
            return Some(own);
        }
        let own = self.trie.walk(|number| self.reader.read(source, &self.attributes, number, row, &next))?;
        if let Some(cell) = cell {
            *cell = own;
        }
        Some(own)
    }

    /// Adds the attributes that the function has read since.
    pub(super) fn read_more<S: Source<Attribute = T>>(&mut self, attributes: &[T], source: &S) {
        for attribute in &attributes[self.attributes.len()..] {
            // A value of the snapshot is the same for all rows, so it tells no two rows of a class apart.
            let is_known = |speculation: &Speculation<T>| {
                attribute.scope() == Scope::Snapshot || speculation.row_classes.position(attribute).is_some()
            };
            self.speculation = self.speculation.take().filter(is_known);
            self.attributes.push(attribute.clone());
        }
        self.reader.extend(source, &self.attributes);
    }

    /// Records the answer about a row by the values of these reads.
    pub(super) fn keep<S: Source<Attribute = T>, N: Iterator<Item = Row>>(
        &mut self,
        steps: &[u32],
        source: &S,
        row: Row,
        next: impl Fn() -> N,
        answer: A,
    ) -> u32 {
        let read = |step: &u32| (*step, self.reader.read(source, &self.attributes, *step, row, &next));
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
    pub(super) fn new(row_classes: Arc<RowClasses<T>>, column: Arc<RowClassColumn>) -> Self {
        Self { answers: vec![MISS; column.count], row_classes, column }
    }

    fn cell(&mut self, row: Row) -> &mut u32 {
        &mut self.answers[self.column.by_row[row as usize] as usize]
    }
}
