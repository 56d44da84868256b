//! A number for each tuple.

use std::hash::{BuildHasher, Hash};

use hashbrown::{HashTable, hash_table::Entry};

/// Tuples of one length, numbered as they come.
#[derive(Debug, Clone)]
pub(crate) struct TupleInterner<T> {
    /// Numbers by the hash of their tuple.
    numbers: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
    /// The tuple of each number, one after another.
    tuples: Vec<T>,
}

impl<T: Clone + Eq + Hash> TupleInterner<T> {
    /// The number of a tuple, which is the next one if it was never seen.
    pub(crate) fn intern(&mut self, tuple: &[T]) -> u32 {
        let Self { numbers, hasher, tuples } = self;
        let known = |number: u32| &tuples[number as usize * tuple.len()..][..tuple.len()];
        let next = numbers.len() as u32;
        let is_same = |number: &u32| known(*number) == tuple;
        match numbers.entry(hasher.hash_one(tuple), is_same, |number| hasher.hash_one(known(*number))) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(next);
                tuples.extend_from_slice(tuple);
                next
            }
        }
    }

    /// The number of tuples.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The tuple with this number; each is `width` long.
    pub(crate) fn tuple(&self, number: usize, width: usize) -> &[T] {
        &self.tuples[number * width..][..width]
    }

    pub(crate) fn bytes(&self) -> usize {
        self.numbers.allocation_size() + self.tuples.capacity() * size_of::<T>()
    }
}

impl<T> Default for TupleInterner<T> {
    fn default() -> Self {
        Self { numbers: HashTable::default(), hasher: foldhash::fast::RandomState::default(), tuples: Vec::new() }
    }
}
