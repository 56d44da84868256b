//! Amounts of resources by name, as whole numbers.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::value::RawValue;

use super::members::Members;
use crate::model::{QuantityError, parse_quantity};

/// Amounts by resource name, sorted: cpu in millicores, all else in base units.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Quantities(Vec<(Cow<'static, str>, i64)>);

/// Amounts that are being summed up.
#[derive(Debug, Default)]
pub(crate) struct Sums<'q>(BTreeMap<&'q str, i64>);

/// Amounts in thousandths of the base unit, which add up exactly: the API server rounds quantities up to thousandths, and
/// kube-scheduler rounds up the sum of a pod, not of each container.
#[derive(Debug, Default)]
pub(super) struct Amounts<'a>(BTreeMap<Cow<'a, str>, i128>);

/// Names that nearly every node and pod has; they are not stored again for each.
const COMMON: [&str; 6] = ["cpu", "memory", "ephemeral-storage", "pods", "hugepages-1Gi", "hugepages-2Mi"];

// === impl Quantities ===

impl Quantities {
    /// The amount of a resource; 0 if there is none.
    pub fn get(&self, name: &str) -> i64 {
        self.position(name).map_or(0, |at| self.0[at].1)
    }

    /// Whether the resource is named, if only with 0.
    pub fn names(&self, name: &str) -> bool {
        self.position(name).is_ok()
    }

    /// All amounts, by name in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (name.as_ref(), *amount))
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name))
    }
}

impl FromIterator<(Cow<'static, str>, i64)> for Quantities {
    /// Of two amounts of one resource the last one counts.
    fn from_iter<I: IntoIterator<Item = (Cow<'static, str>, i64)>>(amounts: I) -> Self {
        Self(amounts.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect())
    }
}

// === impl Sums ===

impl<'q> Sums<'q> {
    /// Adds every amount of `other`.
    pub(crate) fn add_all(&mut self, other: &'q Quantities) {
        for (name, amount) in other.iter() {
            let sum = self.0.entry(name).or_default();
            *sum = sum.saturating_add(amount);
        }
    }
}

impl From<Sums<'_>> for Quantities {
    fn from(sums: Sums<'_>) -> Self {
        Self(sums.0.into_iter().map(|(name, amount)| (stored(name), amount)).collect())
    }
}

// === impl Amounts ===

#[expect(clippy::ptr_arg, reason = "a borrowed name is kept as it is: a &str would lose that it is of 'a")]
impl<'a> Amounts<'a> {
    /// Adds to the amount of a resource, and returns the sum.
    pub(super) fn add(&mut self, name: &Cow<'a, str>, amount: i128) -> i128 {
        let sum = self.0.entry(name.clone()).or_default();
        *sum += amount;
        *sum
    }

    /// Raises the amount of a resource to this one if that is larger.
    pub(super) fn raise(&mut self, name: &Cow<'a, str>, amount: i128) {
        let largest = self.0.entry(name.clone()).or_insert(amount);
        *largest = amount.max(*largest);
    }

    pub(super) fn raise_all(&mut self, other: &Self) {
        other.iter().for_each(|(name, amount)| self.raise(name, amount));
    }

    pub(super) fn set(&mut self, name: &Cow<'a, str>, amount: i128) {
        self.0.insert(name.clone(), amount);
    }

    pub(super) fn get(&self, name: &str) -> i128 {
        self.0.get(name).copied().unwrap_or(0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Cow<'a, str>, i128)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Amounts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members(members) = Members::<&RawValue>::deserialize(deserializer)?;
        let amount = |(name, amount): (Cow<'de, str>, &RawValue)| {
            let text = amount.get().trim_matches('"');
            Ok((
                name,
                match parse_quantity(text, 1000)? {
                    // More thousandths than the parser can count: they are lost in the size of the number.
                    i64::MAX => i128::from(parse_quantity(text, 1)?) * 1000,
                    thousandths => thousandths.into(),
                },
            ))
        };
        members.into_iter().map(amount).collect::<Result<_, QuantityError>>().map(Self).map_err(D::Error::custom)
    }
}

impl From<Amounts<'_>> for Quantities {
    fn from(amounts: Amounts<'_>) -> Self {
        let whole = |(name, amount): (Cow<'_, str>, i128)| {
            let units = if name == "cpu" { amount } else { (amount + 999).div_euclid(1000) };
            (stored(&name), i64::try_from(units).unwrap_or(i64::MAX))
        };
        Self(amounts.0.into_iter().map(whole).collect())
    }
}

fn stored(name: &str) -> Cow<'static, str> {
    COMMON
        .iter()
        .find(|common| **common == name)
        .map_or_else(|| Cow::Owned(name.to_owned()), |common| Cow::Borrowed(*common))
}

impl<'de> Deserialize<'de> for Quantities {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members(members) = Members::<&RawValue>::deserialize(deserializer)?;
        let amount = |(name, amount): (Cow<'de, str>, &RawValue)| {
            let per_unit = if name == "cpu" { 1000 } else { 1 };
            // A quantity is text in the API's JSON; YAML by hand has bare numbers too.
            Ok((stored(&name), parse_quantity(amount.get().trim_matches('"'), per_unit)?))
        };
        members.into_iter().map(amount).collect::<Result<_, QuantityError>>().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    const NAMES: [&str; 5] = ["cpu", "memory", "pods", "example.com/gpu", "example.com/disk"];

    fn any_amounts() -> impl Strategy<Value = Vec<(&'static str, i64)>> {
        vec((select(&NAMES[..]), prop_oneof![-5i64..100, Just(i64::MAX)]), 0..8)
    }

    fn quantities(amounts: &[(&str, i64)]) -> (Quantities, BTreeMap<String, i64>) {
        let stored = amounts.iter().map(|(name, amount)| (stored(name), *amount)).collect();
        (stored, amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
    }

    fn map_of(quantities: &Quantities) -> BTreeMap<String, i64> {
        quantities.iter().map(|(name, amount)| (name.to_owned(), amount)).collect()
    }

    proptest! {
        #[test]
        fn quantities_are_a_map_of_amounts(left in any_amounts(), right in any_amounts()) {
            let (left, left_map) = quantities(&left);
            let (right, right_map) = quantities(&right);
            prop_assert_eq!(map_of(&left), left_map.clone());
            prop_assert!(left.iter().is_sorted_by(|(one, _), (next, _)| one < next));
            for name in NAMES {
                prop_assert_eq!(left.get(name), left_map.get(name).copied().unwrap_or(0));
                prop_assert_eq!(left.names(name), left_map.contains_key(name));
            }
            let mut sums = Sums::default();
            sums.add_all(&left);
            sums.add_all(&right);
            let mut expected = left_map.clone();
            for (name, amount) in &right_map {
                let sum = expected.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*amount);
            }
            prop_assert_eq!(map_of(&sums.into()), expected);
        }
    }

    #[test]
    fn amounts_are_read_from_text_and_numbers() {
        let read = |json| serde_json::from_str::<Quantities>(json).map(|quantities| map_of(&quantities));
        let amounts = read(r#"{"cpu":"1500m","memory":"1Ki","x/gpu":2,"pods":110,"cpu":0.25,"y":-1,"z":1e3}"#).unwrap();
        let expected = [("cpu", 250), ("memory", 1024), ("pods", 110), ("x/gpu", 2), ("y", -1), ("z", 1000)];
        assert_eq!(amounts, expected.map(|(name, amount)| (name.to_owned(), amount)).into());
        assert!(read("null").unwrap().is_empty());
        for json in [r#"{"cpu":"lots"}"#, r#"{"cpu":true}"#, r#"{"cpu":{}}"#, "[]", "1"] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
