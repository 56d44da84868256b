//! Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) as whole numbers.
//!
//! Source: `k8s.io/apimachinery/pkg/api/resource`, `Quantity.ScaledValue`: what does not fit a whole
//! number of the unit is rounded up.

/// Why a text is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a quantity: expected a number with an optional suffix, such as 100m, 1.5Gi or 2e3")]
pub struct QuantityError(pub String);

/// Reads a quantity as a whole number of `1 / per_unit` units, rounded up and saturating.
///
/// # Errors
/// If the text is not a quantity.
pub fn parse_quantity(text: &str, per_unit: u32) -> Result<i64, QuantityError> {
    let wrong = || QuantityError(text.chars().take(40).collect());
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let number_end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(wrong());
    }
    let scale = Scale::parse(suffix).ok_or_else(wrong)?;
    let magnitude = scale.apply(whole, fraction, per_unit);
    Ok(if negative { -magnitude } else { magnitude })
}

/// Multiplies by `binary * 10^decimal`.
struct Scale {
    binary: u64,
    decimal: i32,
}

// === impl Scale ===

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        let decimal = |decimal| Some(Self { binary: 1, decimal });
        let binary = |power: u32| Some(Self { binary: 1 << (10 * power), decimal: 0 });
        match suffix {
            "" => decimal(0),
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(1),
            "Mi" => binary(2),
            "Gi" => binary(3),
            "Ti" => binary(4),
            "Pi" => binary(5),
            "Ei" => binary(6),
            _ => suffix.strip_prefix(['e', 'E'])?.parse().ok().and_then(decimal),
        }
    }

    fn apply(&self, whole: &str, fraction: &str, per_unit: u32) -> i64 {
        // Digits past the 18th after the point are below any unit; they only count for rounding up.
        let kept = &fraction[..fraction.len().min(18)];
        let lost = fraction[kept.len()..].bytes().any(|digit| digit != b'0');
        let Some(digits) = parse_digits(whole, kept) else { return i64::MAX };
        let scaled =
            digits.checked_mul(u128::from(self.binary)).and_then(|value| value.checked_mul(u128::from(per_unit)));
        let Some(scaled) = scaled else { return i64::MAX };
        let power = self.decimal.saturating_sub(kept.len() as i32);
        let value = if power >= 0 {
            10u128.checked_pow(power.unsigned_abs()).and_then(|factor| scaled.checked_mul(factor))
        } else {
            Some(
                10u128
                    .checked_pow(power.unsigned_abs())
                    .map_or(u128::from(scaled > 0), |divisor| scaled.div_ceil(divisor)),
            )
        };
        let value = value.map(|value| value.saturating_add(u128::from(lost && power >= -18 && value == 0)));
        value.and_then(|value| i64::try_from(value).ok()).unwrap_or(i64::MAX)
    }
}

/// Both parts of the number as one row of digits; none if it is larger than any quantity.
fn parse_digits(whole: &str, fraction: &str) -> Option<u128> {
    let mut value = 0u128;
    for digit in whole.bytes().chain(fraction.bytes()) {
        value = value.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        let table: &[(&str, u32, i64)] = &[
            ("0", 1, 0),
            ("100m", 1000, 100),
            ("2", 1000, 2000),
            ("0.5", 1000, 500),
            ("1.5Gi", 1, 1_610_612_736),
            ("64Mi", 1, 67_108_864),
            ("1k", 1, 1000),
            ("2e3", 1, 2000),
            ("2E3", 1, 2000),
            ("1E", 1, 1_000_000_000_000_000_000),
            ("1e-3", 1000, 1),
            ("1m", 1, 1),
            ("1n", 1000, 1),
            ("100u", 1000, 1),
            (".5", 1000, 500),
            ("5.", 1, 5),
            ("+3", 1, 3),
            ("-3", 1, -3),
            ("16Ei", 1, i64::MAX),
            ("99999999999999999999999999999999999999999999", 1, i64::MAX),
        ];
        for (text, per_unit, expected) in table {
            assert_eq!(parse_quantity(text, *per_unit), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "Gi", "1Q", "1.2.3", "1 Gi", "--1", "1e", "1e3.5", "0x10", "é", "."] {
            assert!(parse_quantity(text, 1).is_err(), "{text}");
        }
    }
}
