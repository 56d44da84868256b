//! A value in 64 bits.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, DefaultHasher, Hash, Hasher},
    sync::OnceLock,
};

/// Stands for a value: two equal values have one fingerprint.
///
/// Numbers of 63 bits and absence are exact. Everything else is hashed with a secret of this process, so that nobody
/// outside can search for two values with one fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

/// Fingerprints of numbers are odd; all others are even, and none is 0.
const ABSENT: u64 = 2;
const FIRST_HASH: u64 = 4;

impl Fingerprint {
    /// Of a value that is not there.
    pub const ABSENT: Self = Self(ABSENT);

    /// Of anything that can be hashed. Values of one attribute must be of one type.
    pub fn of(value: &(impl Hash + ?Sized)) -> Self {
        Self::hashed(|state| value.hash(state))
    }

    /// The fingerprint of the bytes that `hash` writes into a hasher.
    pub fn hashed(hash: impl FnOnce(&mut DefaultHasher)) -> Self {
        static SECRET: OnceLock<RandomState> = OnceLock::new();
        let mut state = SECRET.get_or_init(RandomState::new).build_hasher();
        hash(&mut state);
        Self((state.finish() & !1).max(FIRST_HASH))
    }

    /// Of a number: the number itself, unless it needs the last of 64 bits.
    #[inline]
    pub fn of_number(number: i64) -> Self {
        let shifted = number << 1;
        if shifted >> 1 == number { Self(shifted as u64 | 1) } else { Self::hashed(|state| number.hash(state)) }
    }

    /// The number that it is the fingerprint of, unless that was hashed.
    #[inline]
    pub const fn as_number(self) -> Option<i64> {
        if self.0 & 1 == 1 { Some(self.0 as i64 >> 1) } else { None }
    }

    /// From the bits of a cell; 0 is no fingerprint.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// Never 0.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_texts_and_absence_differ() {
        let numbers = [0, 1, -1, i64::MIN, i64::MAX, i64::MAX >> 1, i64::MIN >> 1].map(Fingerprint::of_number);
        let others = [Fingerprint::ABSENT, Fingerprint::of(""), Fingerprint::of("0")];
        let all: Vec<_> = numbers.into_iter().chain(others).collect();
        for (at, one) in all.iter().enumerate() {
            assert_ne!(one.bits(), 0);
            assert!(all.iter().enumerate().all(|(other_at, other)| (one == other) == (at == other_at)), "{at}");
        }
    }

    proptest! {
        #[test]
        fn numbers_have_fingerprints_of_their_own(one: i64, other: i64) {
            prop_assert_eq!(Fingerprint::of_number(one) == Fingerprint::of_number(other), one == other);
            prop_assert_eq!(Fingerprint::of_number(one >> 1).as_number(), Some(one >> 1));
        }
    }
}
