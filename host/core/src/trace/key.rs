//! What a read came to, in 64 bits.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hash, Hasher},
    sync::OnceLock,
};

use crate::{Grouping, Value};

/// Two equal values have one key. Numbers and absence are exact; texts and lists are hashed with a
/// secret of this process (see `docs/decisions/0016-values-by-keyed-hash.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(u64);

/// Keys of numbers are odd; those of all else are even, and none is 0.
const ABSENT: u64 = 2;
const FIRST_HASH: u64 = 4;

impl Key {
    /// The key of a value.
    pub(crate) fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Absent => Self(ABSENT),
            Value::Number(number) => Self::of_number(*number),
            Value::Text(text) => Self::hashed(|state| text.hash(state)),
            Value::Texts(texts) => Self::hashed(|state| texts.hash(state)),
            Value::Indices(indices) => Self::hashed(|state| indices.hash(state)),
            Value::Counts(counts) => Self::hashed(|state| counts.hash(state)),
            Value::Grouping(Grouping { values, groups }) => Self::hashed(|state| (values, groups).hash(state)),
            Value::Taints(taints) => Self::hashed(|state| {
                for taint in *taints {
                    (&taint.key, &taint.value, &taint.effect).hash(state);
                }
            }),
        }
    }

    /// The key of several values in their order.
    pub(crate) fn of_all<'v>(values: impl Iterator<Item = Value<'v>>) -> Self {
        Self::hashed(|state| values.for_each(|value| Self::of(&value).hash(state)))
    }

    /// The key of a number: itself, unless it needs the last of 64 bits.
    pub(crate) fn of_number(number: i64) -> Self {
        let shifted = number << 1;
        if shifted >> 1 == number { Self(shifted as u64 | 1) } else { Self::hashed(|state| number.hash(state)) }
    }

    /// The number that it is the key of, unless it is hashed.
    pub(crate) const fn as_number(self) -> Option<i64> {
        if self.0 & 1 == 1 { Some(self.0 as i64 >> 1) } else { None }
    }

    pub(crate) const fn absent() -> Self {
        Self(ABSENT)
    }

    /// The bits of a cell; 0 is no key.
    pub(crate) const fn from_bits(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    fn hashed(value: impl FnOnce(&mut std::hash::DefaultHasher)) -> Self {
        static SECRET: OnceLock<RandomState> = OnceLock::new();
        let mut state = SECRET.get_or_init(RandomState::new).build_hasher();
        value(&mut state);
        Self((state.finish() & !1).max(FIRST_HASH))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Taint;

    #[test]
    fn absence_is_neither_an_empty_text_nor_a_number() {
        let values = [
            Value::Absent,
            Value::text(""),
            Value::text("0"),
            Value::Number(0),
            Value::Number(1),
            Value::Number(i64::MIN),
            Value::Number(i64::MAX),
            Value::Number(i64::MAX >> 1),
            Value::Number(i64::MIN >> 1),
            Value::Number(-1),
            Value::Texts(&[]),
        ];
        for (at, one) in values.iter().enumerate() {
            for (other_at, other) in values.iter().enumerate() {
                assert_eq!(Key::of(one) == Key::of(other), at == other_at, "{one:?} {other:?}");
            }
            assert_ne!(Key::of(one).bits(), 0);
        }
    }

    #[test]
    fn where_one_text_ends_and_the_next_begins_is_part_of_the_key() {
        let taint =
            |key: &str, value: &str| Taint { key: key.into(), value: value.into(), effect: "NoSchedule".into() };
        let (one, other) = ([taint("ab", "c")], [taint("a", "bc")]);
        assert_ne!(Key::of(&Value::Taints(&one)), Key::of(&Value::Taints(&other)));
        let texts = |texts: &[&str]| texts.iter().map(|text| Box::from(*text)).collect::<Vec<Box<str>>>();
        assert_ne!(Key::of(&Value::Texts(&texts(&["ab", "c"]))), Key::of(&Value::Texts(&texts(&["a", "bc"]))));
    }

    proptest! {
        #[test]
        fn numbers_have_keys_of_their_own(one: i64, other: i64) {
            prop_assert_eq!(Key::of_number(one) == Key::of_number(other), one == other);
            prop_assert_eq!(Key::of_number(one >> 1).as_number(), Some(one >> 1));
        }
    }
}
