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
}

/// The fingerprints of an attribute of rows, from its column as far as they are known.
pub fn fingerprints<S: Source>(source: &S, attribute: &S::Attribute, rows: &[Row]) -> Vec<Fingerprint> {
    let column = source.columns().get(attribute, source.row_count());
    rows.iter().map(|row| column.get_or_read(*row, || source.row_fingerprint(attribute, *row))).collect()
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
            let from = match attribute.scope() {
                Scope::Row => match source.fingerprint_of_all_rows(attribute) {
                    Some(value) => ReadFrom::Shared(value),
                    None if self.columns < MAX_WIDTH => {
                        self.columns += 1;
                        ReadFrom::Column(source.columns().get(attribute, source.row_count()))
                    }
                    None => ReadFrom::Row,
                },
                // The lists of a call and of a class have none of these.
                Scope::Subject => ReadFrom::Shared(source.shared_fingerprint(attribute)),
                Scope::Snapshot => ReadFrom::Snapshot(OnceLock::new()),
            };
            self.from.push(from);
        }
    }

    /// An attribute of a row, by its number in the list.
    #[inline]
    pub(crate) fn read<S: Source>(
        &self,
        source: &S,
        attributes: &AttributeList<S::Attribute>,
        number: u32,
        row: Row,
    ) -> Fingerprint {
        let of_row = || source.row_fingerprint(attributes.get(number), row);
        match &self.from[number as usize] {
            ReadFrom::Column(column) => column.get_or_read(row, of_row),
            ReadFrom::Shared(value) => *value,
            ReadFrom::Snapshot(value) => *value.get_or_init(|| source.shared_fingerprint(attributes.get(number))),
            ReadFrom::Row => of_row(),
        }
    }
}
