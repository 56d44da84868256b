//! Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) in annotations and settings.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected, Visitor},
};

/// A quantity in a policy's settings, in its base unit; written as text, such as `512Mi` or `"3"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(pub i64);

/// Reads a quantity in its base unit, as the host reads it; none if the text is no quantity.
///
/// A fraction of the unit is rounded up, and a number above the largest `i64` is cut to it, as Kubernetes does.
///
/// ```
/// use plimsoll_policy::parse_quantity;
///
/// assert_eq!(parse_quantity("1.5Gi"), Some(1_610_612_736));
/// assert_eq!(parse_quantity("100m"), Some(1));
/// assert_eq!(parse_quantity("16Ei"), Some(i64::MAX));
/// assert_eq!(parse_quantity("much"), None);
/// ```
pub fn parse_quantity(text: &str) -> Option<i64> {
    plimsoll_quantity::parse(text, 1)
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;

        impl Visitor<'_> for QuantityVisitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 512Mi or \"3\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                parse_quantity(text).map(Quantity).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(QuantityVisitor)
    }
}
