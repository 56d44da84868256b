//! Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) in annotations and settings.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected, Visitor},
};

/// A quantity in a policy's settings, in its base unit; written as text, such as `512Mi` or `"3"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(pub i64);

/// Reads a quantity in its base unit, rounded up as Kubernetes does; none if the text is no quantity or too large.
///
/// ```
/// use plimsoll_policy::parse_quantity;
///
/// assert_eq!(parse_quantity("1.5Gi"), Some(1_610_612_736));
/// assert_eq!(parse_quantity("100m"), Some(1));
/// assert_eq!(parse_quantity("much"), None);
/// ```
pub fn parse_quantity(text: &str) -> Option<i64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (binary, decimal) = scale(suffix)?;
    let digits = whole.bytes().chain(fraction.bytes()).try_fold(0u128, |value, digit| {
        let digit = (digit as char).to_digit(10)?;
        value.checked_mul(10)?.checked_add(u128::from(digit))
    })?;
    let power = decimal.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.checked_mul(1 << binary)?;
    let factor = 10u128.checked_pow(power.unsigned_abs());
    let magnitude = if power >= 0 {
        scaled.checked_mul(factor?)?
    } else {
        // A divisor larger than any number leaves a fraction of the base unit.
        factor.map_or(u128::from(scaled > 0), |factor| scaled.div_ceil(factor))
    };
    let magnitude = i64::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
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

/// The powers of 2 and of 10 that a suffix stands for.
fn scale(suffix: &str) -> Option<(u32, i32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        exponent => (0, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_what_the_host_reads() {
        let texts = [
            "0",
            "1",
            "100m",
            "0.5",
            "1.5Gi",
            "64Mi",
            "1k",
            "2e3",
            "2E3",
            "1E",
            "1e-3",
            "1n",
            "100u",
            ".5",
            "5.",
            "+3",
            "-3",
            "-1.5k",
            "1e-30",
            "0.0000000001",
            "4Ei",
        ];
        for text in texts {
            assert_eq!(parse_quantity(text), plimsoll_core::parse_quantity(text, 1).ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_or_too_large_is_none() {
        let texts =
            ["", "Gi", "1Q", "1.2.3", "1 Gi", "--1", "1e", "1e3.5", "0x10", "é", ".", "1é", "16Ei", "1e99999999999"];
        for text in texts {
            assert_eq!(parse_quantity(text), None, "{text}");
        }
        assert_eq!(parse_quantity(&"9".repeat(100)), None);
    }
}
