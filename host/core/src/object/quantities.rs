//! Amounts of resources by name, as whole numbers.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use super::{ALLOCATION, entries::Text};
use crate::parse_quantity;

/// Amounts by resource name: cpu in millicores, all else in base units.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Quantities(Vec<(Cow<'static, str>, i64)>);

/// Names that nearly every node and pod has; they are not stored again for each.
const COMMON: [&str; 6] = ["cpu", "memory", "ephemeral-storage", "pods", "hugepages-1Gi", "hugepages-2Mi"];

// === impl Quantities ===

impl Quantities {
    /// The bytes of the list and of the names that are its own.
    pub(crate) fn heap_bytes(&self) -> usize {
        let own = |name: &Cow<'_, str>| if let Cow::Owned(name) = name { name.len() + ALLOCATION } else { 0 };
        self.0.capacity() * size_of::<(Cow<'static, str>, i64)>()
            + self.0.iter().map(|(name, _)| own(name)).sum::<usize>()
    }

    /// The amount of a resource; 0 if there is none.
    pub fn get(&self, name: &str) -> i64 {
        self.0.iter().find(|(own, _)| own == name).map_or(0, |(_, amount)| *amount)
    }

    /// Whether the resource is named, if only with 0.
    pub fn names(&self, name: &str) -> bool {
        self.0.iter().any(|(own, _)| own == name)
    }

    /// All amounts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (name.as_ref(), *amount))
    }

    /// Sets the amount of a resource.
    pub fn set(&mut self, name: &str, amount: i64) {
        *self.slot(name) = amount;
    }

    /// Adds every amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            let slot = self.slot(name);
            *slot = slot.saturating_add(amount);
        }
    }

    /// Raises every amount to that of `other` where that is larger.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            let slot = self.slot(name);
            *slot = amount.max(*slot);
        }
    }

    /// Replaces the amounts that `other` names.
    pub fn override_with(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            *self.slot(name) = amount;
        }
    }

    fn slot(&mut self, name: &str) -> &mut i64 {
        let at = self.0.iter().position(|(own, _)| own == name).unwrap_or_else(|| {
            let common = COMMON.iter().find(|common| **common == name);
            self.0.push((common.map_or_else(|| Cow::Owned(name.to_owned()), |name| Cow::Borrowed(*name)), 0));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

impl fmt::Debug for Quantities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'de> Deserialize<'de> for Quantities {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantitiesVisitor;

        impl<'de> Visitor<'de> for QuantitiesVisitor {
            type Value = Quantities;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of resource names to quantities")
            }

            fn visit_unit<E>(self) -> Result<Quantities, E> {
                Ok(Quantities::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Quantities, A::Error> {
                let mut quantities = Quantities::default();
                while let Some(Text(name)) = map.next_key()? {
                    let Amount(text) = map.next_value()?;
                    let per_unit = if name == "cpu" { 1000 } else { 1 };
                    let amount = parse_quantity(&text, per_unit).map_err(A::Error::custom)?;
                    quantities.set(&name, amount);
                }
                quantities.0.shrink_to_fit();
                Ok(quantities)
            }
        }

        deserializer.deserialize_any(QuantitiesVisitor)
    }
}

/// A quantity is text in the API's own JSON; YAML by hand has bare numbers too.
struct Amount<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Amount<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;

        impl<'de> Visitor<'de> for AmountVisitor {
            type Value = Amount<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as \"100m\", \"1Gi\" or 2")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Amount<'de>, E> {
                Ok(Amount(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Amount<'de>, E> {
                Ok(Amount(Cow::Owned(text.to_owned())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Amount<'de>, E> {
                Ok(Amount(Cow::Owned(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Amount<'de>, E> {
                Ok(Amount(Cow::Owned(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Amount<'de>, E> {
                Ok(Amount(Cow::Owned(number.to_string())))
            }
        }

        deserializer.deserialize_any(AmountVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    const NAMES: [&str; 5] = ["cpu", "memory", "pods", "example.com/gpu", "example.com/disk"];

    type Merge = fn(&mut Quantities, &Quantities);
    type Amounts = fn(i64, i64) -> i64;

    fn any_amounts() -> impl Strategy<Value = Vec<(&'static str, i64)>> {
        vec((select(&NAMES[..]), prop_oneof![-5i64..100, Just(i64::MAX)]), 0..8)
    }

    fn mk(amounts: &[(&str, i64)]) -> (Quantities, BTreeMap<String, i64>) {
        let mut quantities = Quantities::default();
        for (name, amount) in amounts {
            quantities.set(name, *amount);
        }
        (quantities, amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
    }

    fn map_of(quantities: &Quantities) -> BTreeMap<String, i64> {
        quantities.iter().map(|(name, amount)| (name.to_owned(), amount)).collect()
    }

    proptest! {
        #[test]
        fn quantities_are_a_map_of_amounts(left in any_amounts(), right in any_amounts()) {
            let ((left, left_map), (right, right_map)) = (mk(&left), mk(&right));
            prop_assert_eq!(map_of(&left), left_map.clone());
            for name in NAMES {
                prop_assert_eq!(left.get(name), left_map.get(name).copied().unwrap_or(0));
                prop_assert_eq!(left.names(name), left_map.contains_key(name));
            }
            let merges: [(Merge, Amounts); 3] = [
                (Quantities::add, i64::saturating_add),
                (Quantities::raise_to, i64::max),
                (Quantities::override_with, |_, new| new),
            ];
            for (merge, amounts) in merges {
                let (mut merged, mut expected) = (left.clone(), left_map.clone());
                merge(&mut merged, &right);
                for (name, amount) in &right_map {
                    let slot = expected.entry(name.clone()).or_default();
                    *slot = amounts(*slot, *amount);
                }
                prop_assert_eq!(map_of(&merged), expected);
            }
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
