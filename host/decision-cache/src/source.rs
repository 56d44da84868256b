//! The source of the values that a function reads.

use std::sync::{Arc, OnceLock};

use crate::{
    attribute::{Attribute, AttributeList, HeapSize, Row, Scope},
    column::{Column, Columns},
    fingerprint::Fingerprint,
};

/// The subject of one request, and one immutable snapshot of rows.
///
/// Every read of an attribute must give the same value as long as the source exists.
pub trait Source: Send + Sync + 'static {
    /// The attributes that can be read.
    type Attribute: Attribute;
    /// A value as people and records see it.
    type Value: HeapSize + Clone + Send + Sync + 'static;

    /// The number of rows in the snapshot.
    fn row_count(&self) -> usize;

    /// The columns, which belong to the snapshot: every source of one snapshot returns the same.
    fn columns(&self) -> &Columns<Self::Attribute>;

    /// The fingerprint of an attribute of the subject or of the snapshot.
    fn shared_fingerprint(&self, attribute: &Self::Attribute) -> Fingerprint;

    /// The fingerprint of an attribute of a row.
    fn row_fingerprint(&self, attribute: &Self::Attribute, row: Row) -> Fingerprint;

    /// The fingerprint of an attribute of rows, if it is known without a look at them to be the same for all.
    fn fingerprint_of_all_rows(&self, _attribute: &Self::Attribute) -> Option<Fingerprint> {
        None
    }

    /// The value of an attribute; the row does not matter for one of the subject or the snapshot.
    ///
    /// It is needed when answers are inserted or shown, not when they are looked up.
    fn value(&self, attribute: &Self::Attribute, row: Row) -> Self::Value;

    /// Called before [`Source::row_fingerprint`] is called for all of these rows.
    fn prefetch(&self, _attribute: &Self::Attribute, _rows: &[Row]) {}

    /// Runs work of a millisecond or more, where it may block.
    fn run_long<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// Reads one attribute of rows by its column.
pub struct ColumnReader<'s, S: Source> {
    source: &'s S,
    attribute: &'s S::Attribute,
    column: Arc<Column>,
}

/// Reads the attributes of a list, by their numbers.
#[derive(Default)]
pub(crate) struct Reader {
    from: Vec<ReadFrom>,
    /// The number of attributes with a column.
    columns: usize,
}

enum ReadFrom {
    /// One value for all rows.
    Shared(Fingerprint),
    /// A snapshot value, read on first use, because a class can have thousands of these.
    Snapshot(OnceLock<Fingerprint>),
    Column(Arc<Column>),
    /// Read from the source directly: attributes named by row values can be too many for one column each.
    Row,
}

/// Maximum row attributes with a column in one call or class.
pub(crate) const MAX_WIDTH: usize = 256;

// === impl ColumnReader ===

impl<'s, S: Source> ColumnReader<'s, S> {
    /// A reader of an attribute of rows.
    pub fn new(source: &'s S, attribute: &'s S::Attribute) -> Self {
        Self { source, attribute, column: source.columns().get(attribute, source.row_count()) }
    }

    /// The fingerprints of these rows.
    pub fn read_all(&self, rows: &[Row]) -> Vec<Fingerprint> {
        let read = |(at, row): (usize, &Row)| self.column.peek(*row).unwrap_or_else(|| self.fill(&rows[at..]));
        rows.iter().enumerate().map(read).collect()
    }

    /// Reads the first of these rows. Apart from the loop above, which does no more than load in most calls.
    #[cold]
    #[inline(never)]
    fn fill(&self, rows: &[Row]) -> Fingerprint {
        fill(&self.column, self.source, self.attribute, rows[0], rows[1..].iter().copied())
    }
}

// === impl Reader ===

impl Reader {
    pub(crate) fn new<S: Source>(source: &S, attributes: &AttributeList<S::Attribute>) -> Self {
        let mut reader = Self::default();
        reader.extend(source, attributes);
        reader
    }

    /// Adds the attributes that were added to the list.
    pub(crate) fn extend<S: Source>(&mut self, source: &S, attributes: &AttributeList<S::Attribute>) {
        for attribute in &attributes.as_slice()[self.from.len()..] {
            let from = ReadFrom::new(source, attribute, self.columns < MAX_WIDTH);
            self.columns += usize::from(matches!(from, ReadFrom::Column(_)));
            self.from.push(from);
        }
    }

    /// An attribute of a row; `next` are rows that are likely to be asked about next.
    #[inline]
    pub(crate) fn read<S: Source, N: Iterator<Item = Row>>(
        &self,
        source: &S,
        attributes: &AttributeList<S::Attribute>,
        number: u32,
        row: Row,
        next: impl FnOnce() -> N,
    ) -> Fingerprint {
        match &self.from[number as usize] {
            ReadFrom::Column(column) => read_cell(column, source, attributes.get(number), row, next),
            ReadFrom::Shared(value) => *value,
            ReadFrom::Snapshot(value) => *value.get_or_init(|| source.shared_fingerprint(attributes.get(number))),
            ReadFrom::Row => source.row_fingerprint(attributes.get(number), row),
        }
    }
}

impl ReadFrom {
    fn new<S: Source>(source: &S, attribute: &S::Attribute, may_have_column: bool) -> Self {
        match attribute.scope() {
            Scope::Row => match source.fingerprint_of_all_rows(attribute) {
                Some(value) => Self::Shared(value),
                None if may_have_column => Self::Column(source.columns().get(attribute, source.row_count())),
                None => Self::Row,
            },
            // The lists of a call and of a class have none of these.
            Scope::Subject => Self::Shared(source.shared_fingerprint(attribute)),
            Scope::Snapshot => Self::Snapshot(OnceLock::new()),
        }
    }
}

/// An attribute of a row, which is read into its column together with the next ones if it is not there yet.
#[inline]
pub(crate) fn read_cell<S: Source, N: Iterator<Item = Row>>(
    column: &Column,
    source: &S,
    attribute: &S::Attribute,
    row: Row,
    next: impl FnOnce() -> N,
) -> Fingerprint {
    column.peek(row).unwrap_or_else(|| fill(column, source, attribute, row, next()))
}

/// Reads an attribute of a row and of the next ones into their column.
#[cold]
fn fill<S: Source>(
    column: &Column,
    source: &S,
    attribute: &S::Attribute,
    row: Row,
    next: impl Iterator<Item = Row>,
) -> Fingerprint {
    let prefetch = |rows: &[Row]| source.prefetch(attribute, rows);
    column.fill(row, next, prefetch, |row| source.row_fingerprint(attribute, row))
}
