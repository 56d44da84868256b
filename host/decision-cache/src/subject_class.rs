//! The answers about the subjects of one class, by path and by row class.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::{
    attribute::{Attribute, AttributeList, HeapSize, Row, Scope},
    fingerprint::Fingerprint,
    row_classes::{RecentRowClasses, RowClassColumn, RowClasses},
    source::{MAX_WIDTH, Source},
    trie::{Answer, Conflict, Paths, Trie},
    usage::CacheCharge,
};

/// Stands for a missing answer.
pub const MISS: u32 = u32::MAX;

/// Maximum attributes of a class. A class that would have more keeps those of the last call alone.
const MAX_CLASS_ATTRIBUTES: usize = 16 << 10;

/// Maximum paths of a class, as [`MAX_CLASS_ATTRIBUTES`]: by then more than half of them are of no row any more.
const PATHS_PER_ROW: usize = 2;
const SLACK_PATHS: usize = 1_024;

/// Maximum attributes of the snapshot on which the answers of a table depend: they are compared at each look-up, in
/// about a microsecond each. With more the trie is walked for each row, and only those on its path are read.
const MAX_SNAPSHOT_VALUES: usize = 64;

/// The answers about the subjects of one class.
#[derive(Debug)]
pub(crate) struct SubjectClass<T, A> {
    /// Its subjects have the same values of the subject attributes.
    pub(crate) paths: Paths<T, A>,
    /// The function read something outside the model, such as another row. It is evaluated every time.
    pub(crate) is_uncacheable: bool,
    bytes: usize,
    /// Built at the first lookup: subjects that come once need none.
    table: ArcSwapOption<AnswerTable<T>>,
}

/// The trie as a table: an answer for each row class.
#[derive(Debug)]
pub(crate) struct AnswerTable<T> {
    pub(crate) row_classes: Arc<RowClasses<T>>,
    /// By number of an attribute, where its value comes from.
    sources: Box<[ValueOf]>,
    /// The answer's number by row class.
    pub(crate) answers: Box<[u32]>,
    _charge: CacheCharge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOf {
    /// The tuple of a row class, at this index.
    Tuple(u32),
    /// The snapshot: the table holds as long as this is its value.
    Snapshot(Fingerprint),
}

/// The answers by row class, without any for a new subject, and the class of each row.
#[derive(Debug)]
pub(crate) struct RowClassTable<T> {
    pub(crate) table: Arc<AnswerTable<T>>,
    pub(crate) column: Arc<RowClassColumn>,
}

// === impl SubjectClass ===

impl<T: Attribute, A: Answer> SubjectClass<T, A> {
    /// A class without answers.
    pub(crate) fn empty(subject_attributes: Vec<T>, is_uncacheable: bool) -> Self {
        Self::new(Paths { subject_attributes, ..Paths::default() }, is_uncacheable)
    }

    fn new(paths: Paths<T, A>, is_uncacheable: bool) -> Self {
        let Paths { subject_attributes, attributes, trie } = &paths;
        let answers: usize = trie.answers().iter().map(HeapSize::heap_size).sum();
        let of_subject: usize = subject_attributes.iter().map(|one| size_of::<T>() + one.heap_size()).sum();
        let bytes = size_of::<Self>() + trie.bytes() + answers + attributes.bytes() + of_subject;
        Self { paths, is_uncacheable, bytes, table: ArcSwapOption::empty() }
    }

    /// This class with the paths of a call.
    pub(crate) fn with(&self, call: &Paths<T, A>, source: &impl Source<Attribute = T>) -> Result<Self, Conflict> {
        let Paths { subject_attributes, attributes, trie } = &self.paths;
        let is_new = |attribute: &&T| attributes.number_of(*attribute).is_none();
        let new = call.attributes.as_slice().iter().filter(is_new).count();
        let is_full = attributes.len() + new > MAX_CLASS_ATTRIBUTES
            || trie.path_count() + call.trie.path_count() > PATHS_PER_ROW * source.row_count() + SLACK_PATHS;
        let (mut attributes, mut trie) = if is_full { Default::default() } else { (attributes.clone(), trie.clone()) };
        for (mut path, answer) in call.trie.paths() {
            for (number, _) in &mut path {
                *number = attributes.intern(call.attributes.get(*number));
            }
            trie.insert(&path, answer.clone())?;
        }
        let subject_attributes = subject_attributes.clone();
        Ok(Self::new(Paths { subject_attributes, attributes, trie }, false))
    }

    /// The row attributes that the answers depend on; `None` if these, or those of the snapshot, are too many for a
    /// table.
    pub(crate) fn row_attributes(&self) -> Option<Vec<&T>> {
        let of = |scope| self.paths.attributes.as_slice().iter().filter(move |attribute| attribute.scope() == scope);
        let of_rows: Vec<&T> = of(Scope::Row).take(MAX_WIDTH + 1).collect();
        let has_table = of_rows.len() <= MAX_WIDTH && of(Scope::Snapshot).nth(MAX_SNAPSHOT_VALUES).is_none();
        has_table.then_some(of_rows)
    }

    /// The answers by row class, and the classes of the source's rows; `None` if the answers depend on too much.
    pub(crate) fn table(
        &self,
        recent: &RecentRowClasses<T>,
        source: &impl Source<Attribute = T>,
    ) -> Option<RowClassTable<T>> {
        let known = self.table.load_full().filter(|table| table.holds(source, &self.paths.attributes));
        let mut table = if let Some(table) = known {
            table
        } else {
            let row_classes = recent.get_or_make(&self.row_attributes()?);
            Arc::new(AnswerTable::new(row_classes, source, &self.paths.attributes))
        };
        let column = if let Some(column) = table.row_classes.column(source) {
            column
        } else {
            table = Arc::new(AnswerTable::new(recent.renumber(&table.row_classes), source, &self.paths.attributes));
            table.row_classes.column(source)?
        };
        if table.answers.len() < column.count {
            table = Arc::new(table.with_every_class(&self.paths.trie));
            self.table.store(Some(Arc::clone(&table)));
        }
        Some(RowClassTable { table, column })
    }

    /// Bytes without its table.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

// === impl AnswerTable ===

impl<T: Attribute> AnswerTable<T> {
    fn new(
        row_classes: Arc<RowClasses<T>>,
        source: &impl Source<Attribute = T>,
        attributes: &AttributeList<T>,
    ) -> Self {
        let value_of = |attribute: &T| match row_classes.tuple_index(attribute) {
            Some(index) => ValueOf::Tuple(index),
            None => ValueOf::Snapshot(source.shared_fingerprint(attribute)),
        };
        let sources = attributes.as_slice().iter().map(value_of).collect();
        let charge = row_classes.charge.another(0);
        Self { row_classes, sources, answers: Box::default(), _charge: charge }
    }

    /// Whether the attributes of the snapshot still have the values that it was built with.
    fn holds(&self, source: &impl Source<Attribute = T>, attributes: &AttributeList<T>) -> bool {
        self.sources.iter().zip(attributes.as_slice()).all(|(value_of, attribute)| match value_of {
            ValueOf::Tuple(_) => true,
            ValueOf::Snapshot(value) => source.shared_fingerprint(attribute) == *value,
        })
    }

    fn with_every_class<A>(&self, trie: &Trie<A>) -> Self {
        let mut answers = self.answers.to_vec();
        self.row_classes.for_each_from(answers.len(), |tuple| {
            let read = |number: u32| match self.sources[number as usize] {
                ValueOf::Tuple(index) => tuple[index as usize],
                ValueOf::Snapshot(value) => value,
            };
            answers.push(trie.find(read).map_or(MISS, |leaf| leaf.answer));
        });
        let bytes = size_of::<Self>() + size_of_val(&*answers) + size_of_val(&*self.sources);
        let (row_classes, sources) = (Arc::clone(&self.row_classes), self.sources.clone());
        Self { _charge: row_classes.charge.another(bytes), row_classes, sources, answers: answers.into() }
    }
}

// === impl RowClassTable ===

impl<T: Attribute> RowClassTable<T> {
    /// For a subject that is new; `None` if there are too many classes.
    pub(crate) fn without_answers(
        row_classes: Arc<RowClasses<T>>,
        source: &impl Source<Attribute = T>,
    ) -> Option<Self> {
        let column = row_classes.column(source)?;
        Some(Self { table: Arc::new(AnswerTable::new(row_classes, source, &AttributeList::default())), column })
    }

    #[inline]
    pub(crate) fn number_of(&self, row_class: u32) -> u32 {
        self.table.answers.get(row_class as usize).copied().unwrap_or(MISS)
    }

    /// The number of the answer about a row; [`MISS`] if it is not known.
    pub(crate) fn number_of_row(&self, row: Row) -> u32 {
        self.number_of(self.column.by_row[row as usize])
    }

    /// Whether an attribute tells no two rows of a class apart.
    pub(crate) fn is_of_classes(&self, attribute: &T) -> bool {
        // A value of the snapshot is the same for all rows.
        attribute.scope() == Scope::Snapshot || self.table.row_classes.tuple_index(attribute).is_some()
    }
}
