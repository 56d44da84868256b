//! A number for each list of keys.

use std::hash::{BuildHasher, Hash};

use hashbrown::{HashTable, hash_table::Entry};

/// Lists of one length, numbered as they come.
#[derive(Debug, Clone)]
pub(super) struct Numbers<K> {
    /// Numbers by the hash of their keys.
    by_keys: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
    /// The keys of each number, one list after another.
    keys: Vec<K>,
}

// === impl Numbers ===

impl<K: Clone + Eq + Hash> Numbers<K> {
    /// The number of a list, which is the next one if it was never seen.
    pub(super) fn number(&mut self, keys: &[K]) -> u32 {
        let Self { by_keys, hasher, keys: known } = self;
        let of = |number: u32| &known[number as usize * keys.len()..][..keys.len()];
        let next = by_keys.len() as u32;
        match by_keys.entry(hasher.hash_one(keys), |number| of(*number) == keys, |number| hasher.hash_one(of(*number)))
        {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(next);
                known.extend_from_slice(keys);
                next
            }
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_keys.len()
    }

    /// The list with this number; each has so many keys.
    pub(super) fn keys(&self, number: usize, width: usize) -> &[K] {
        &self.keys[number * width..][..width]
    }

    pub(super) fn bytes(&self) -> usize {
        self.by_keys.allocation_size() + self.keys.capacity() * size_of::<K>()
    }
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { by_keys: HashTable::default(), hasher: foldhash::fast::RandomState::default(), keys: Vec::new() }
    }
}
