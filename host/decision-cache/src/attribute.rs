//! Attributes: the reads of a function, without their row.

use std::{fmt::Debug, hash::Hash};

use hashbrown::{Equivalent, HashMap};

/// The number of a row: from 0 to below [`Source::row_count`](crate::Source::row_count).
pub type Row = u32;

/// Something that owns memory outside of its bytes.
pub trait HeapSize {
    /// The number of bytes on the heap.
    fn heap_size(&self) -> usize {
        0
    }
}

/// One thing that can be read, as `subject.label("team")` or `row.label("zone")`.
///
/// Its arguments are part of it, and may be values that were read before.
pub trait Attribute: HeapSize + Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// The subject, the row or the snapshot.
    fn scope(&self) -> Scope;

    /// Which parts of a row it is read of.
    fn depends_on(&self) -> Parts {
        Parts::ALL
    }

    /// Attributes that together stand for all of a row: a path that grows too long ends with these.
    ///
    /// Without them a function that reads more than 16 attributes of one row is evaluated each time.
    fn whole_row() -> Vec<Self> {
        Vec::new()
    }
}

/// The kind of thing that has an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The subject of a request: one value for all rows of it. A function may keep it from one row to the next.
    Subject,
    /// The snapshot as a whole: one value for all rows of it. A function must read it again for each row.
    Snapshot,
    /// One row.
    Row,
}

/// A set of the parts that rows are made of: each part of a row changes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts(u8);

/// An attribute as it is read. To compare it with one that is known must not allocate.
pub trait BorrowedAttribute<T>: Equivalent<T> + Hash {
    /// The attribute.
    fn to_attribute(&self) -> T;

    /// Bytes that [`BorrowedAttribute::to_attribute`] will own.
    fn heap_size(&self) -> usize;
}

/// Attributes in the order in which they came, each once and with a number.
#[derive(Debug, Clone)]
pub(crate) struct AttributeList<T> {
    list: Vec<T>,
    /// Numbers by attribute, once they are many.
    numbers: HashMap<T, u32, foldhash::fast::RandomState>,
}

/// Lists of at most this length are searched linearly.
const MAX_SEARCHED_ATTRIBUTES: usize = 16;

// === impl Parts ===

impl Parts {
    /// No part.
    pub const NONE: Self = Self(0);
    /// Every part.
    pub const ALL: Self = Self(u8::MAX);

    /// The part with this number, 0 to 7.
    pub const fn single(number: u8) -> Self {
        Self(1 << (number & 7))
    }

    /// The parts of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they have a part in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

// === impl BorrowedAttribute ===

impl<T: Attribute> BorrowedAttribute<T> for T {
    fn to_attribute(&self) -> T {
        self.clone()
    }

    fn heap_size(&self) -> usize {
        HeapSize::heap_size(self)
    }
}

// === impl AttributeList ===

impl<T: Attribute> AttributeList<T> {
    pub(crate) fn number_of(&self, read: &(impl Equivalent<T> + Hash + ?Sized)) -> Option<u32> {
        if self.list.len() > MAX_SEARCHED_ATTRIBUTES {
            return self.numbers.get(read).copied();
        }
        self.list.iter().position(|known| read.equivalent(known)).map(|at| at as u32)
    }

    /// The number of an attribute that is not in the list yet.
    pub(crate) fn push(&mut self, attribute: T) -> u32 {
        let number = self.list.len() as u32;
        self.list.push(attribute);
        if self.list.len() > MAX_SEARCHED_ATTRIBUTES {
            let new = self.numbers.len()..self.list.len();
            self.numbers.extend(self.list[new.clone()].iter().cloned().zip(new.start as u32..));
        }
        number
    }

    /// The number of an attribute, which is the next one if it is new.
    pub(crate) fn intern(&mut self, attribute: &T) -> u32 {
        self.number_of(attribute).unwrap_or_else(|| self.push(attribute.clone()))
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.list
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.list[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Bytes of all.
    pub(crate) fn bytes(&self) -> usize {
        let list: usize = self.list.iter().map(|attribute| size_of::<T>() + HeapSize::heap_size(attribute)).sum();
        // The numbers have a copy of each attribute.
        if self.numbers.is_empty() { list } else { 2 * list + self.numbers.allocation_size() }
    }
}

impl<T> Default for AttributeList<T> {
    fn default() -> Self {
        Self { list: Vec::new(), numbers: HashMap::default() }
    }
}

impl HeapSize for u32 {}
impl HeapSize for i64 {}

impl HeapSize for String {
    fn heap_size(&self) -> usize {
        self.len()
    }
}
