//! Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) in annotations and settings.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected, Visitor},
};

use crate::json::NUMBER_OR_TEXT;

/// A quantity in a policy's settings, written as in Kubernetes: `512Mi`, `500m`, `"3"` or the bare number `64`.
///
/// Amounts of cpu on pods and nodes are in millicores: compare them with [`millis`](Self::millis). All other amounts
/// are in base units: compare them with [`value`](Self::value).
///
/// ```
/// use plimsoll_policy::Quantity;
///
/// let cpu = Quantity::parse("1500m").unwrap();
/// assert_eq!((cpu.millis(), cpu.value()), (1500, 2));
/// let memory = Quantity::parse("512Mi").unwrap();
/// assert_eq!(memory.value(), 512 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    // Compared first: the value is rounded.
    millis: i64,
    value: i64,
}

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

// === impl Quantity ===

impl Quantity {
    /// A quantity of whole base units, such as bytes.
    pub const fn new(value: i64) -> Self {
        Self { millis: value.saturating_mul(1000), value }
    }

    /// Reads a quantity; none if the text is no quantity.
    pub fn parse(text: &str) -> Option<Self> {
        let millis = plimsoll_quantity::parse(text, 1000)?;
        Some(Self { millis, value: parse_quantity(text)? })
    }

    /// The amount in base units (bytes, devices, cores), rounded up: `500m` is 1.
    pub const fn value(self) -> i64 {
        self.value
    }

    /// The amount in thousandths, as amounts of cpu are counted: `500m` is 500, and `2` is 2000.
    pub const fn millis(self) -> i64 {
        self.millis
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QuantityVisitor;

        impl<'de> Visitor<'de> for QuantityVisitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 512Mi, 500m or 3")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                Quantity::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, text: D) -> Result<Quantity, D::Error> {
                text.deserialize_str(self)
            }
        }

        deserializer.deserialize_newtype_struct(NUMBER_OR_TEXT, QuantityVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::from_str;

    #[test]
    fn a_setting_may_be_text_or_a_bare_number() {
        let table = [
            (r#""512Mi""#, 512 << 20, 512 << 20),
            (r#""500m""#, 1, 0),
            ("64", 64, 64),
            ("-2", -2, -2),
            ("0.5", 1, 0),
            ("1.0000000000000000001", 2, 1),
            ("2e3", 2000, 2000),
        ];
        for (json, value, floor) in table {
            let quantity: Quantity = from_str(json).unwrap();
            assert_eq!(quantity.value(), value, "{json}");
            assert!(quantity.millis() >= 1000 * floor && quantity.millis() <= 1000 * value, "{json}");
        }
        assert_eq!(from_str::<Quantity>(r#""500m""#).unwrap().millis(), 500);
        assert_eq!(from_str::<Quantity>("64").unwrap(), Quantity::new(64));
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for (json, found) in [
            ("true", "true"),
            ("null", "null (an empty value)"),
            (r#""much""#, r#"the text "much""#),
            ("[1]", "a list"),
        ] {
            let error = from_str::<Quantity>(json).unwrap_err().to_string();
            assert_eq!(error, format!("expected a quantity such as 512Mi, 500m or 3, found {found}"));
        }
    }

    #[test]
    fn quantities_are_ordered_by_amount_and_not_by_the_rounded_value() {
        let of = |text| Quantity::parse(text).unwrap();
        assert!(of("100m") < of("200m") && of("200m") < of("1") && of("8Ei") >= of("1Ei"));
    }
}
