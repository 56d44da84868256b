//! Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) as whole numbers: the one parser of the gateway and of policies.
//!
//! Source: `k8s.io/apimachinery/pkg/api/resource`, `Quantity.ScaledValue`. A fraction of the unit is rounded up, and
//! a number above the largest `i64` is cut to it, as Kubernetes does.

/// Reads a quantity as a whole number of `1 / per_unit` units; none if the text is not a quantity.
///
/// ```
/// assert_eq!(plimsoll_quantity::parse("1.5Gi", 1), Some(1_610_612_736));
/// assert_eq!(plimsoll_quantity::parse("0.25", 1000), Some(250));
/// assert_eq!(plimsoll_quantity::parse("16Ei", 1), Some(i64::MAX));
/// assert_eq!(plimsoll_quantity::parse("much", 1), None);
/// ```
pub fn parse(text: &str, per_unit: u32) -> Option<i64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number_end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at_checked(number_end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let scale = Scale::parse(suffix)?;
    let magnitude =
        Decimal::new(whole, fraction, scale.decimal).scaled(u128::from(scale.binary) * u128::from(per_unit));
    Some(if negative { -magnitude } else { magnitude })
}

/// What stands after a number: it multiplies by `binary * 10^decimal`.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// A power of two; 1 for a decimal suffix.
    pub binary: u64,
    /// A power of ten; 0 for a binary suffix.
    pub decimal: i32,
}

/// The digits of a number, and where its point is.
struct Decimal<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Before this digit; below 0 or past the last one, zeros lie between.
    point: i64,
}

// === impl Scale ===

impl Scale {
    /// Reads a suffix (`""`, `m`, `Gi`, `e3`); none if Kubernetes has no such suffix.
    pub fn parse(suffix: &str) -> Option<Self> {
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
}

// === impl Decimal ===

impl<'a> Decimal<'a> {
    fn new(whole: &'a str, fraction: &'a str, exponent: i32) -> Self {
        let point = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(i64::from(exponent));
        Self { whole: whole.as_bytes(), fraction: fraction.as_bytes(), point }
    }

    /// The number times `unit`, rounded up, and cut to the largest `i64`.
    fn scaled(&self, unit: u128) -> i64 {
        let value = self.above_point().and_then(|above| above.checked_mul(unit)?.checked_add(self.below_point(unit)));
        value.and_then(|value| i64::try_from(value).ok()).unwrap_or(i64::MAX)
    }

    /// The digits before the point; none if they make a number above the largest `i64`.
    fn above_point(&self) -> Option<u128> {
        let (mut above, digits) = (0u128, self.whole.len() + self.fraction.len());
        for at in 0..usize::try_from(self.point).unwrap_or(0) {
            // Zeros after zero change nothing, however many the exponent asks for.
            if above == 0 && at >= digits {
                break;
            }
            above = above * 10 + u128::from(self.digit(at));
            if i64::try_from(above).is_err() {
                return None;
            }
        }
        Some(above)
    }

    /// The digits after the point, times `unit`, rounded up.
    fn below_point(&self, unit: u128) -> u128 {
        // From the last digit to the first: each step keeps the whole part, and notes whether there was a remainder.
        let (mut below, mut more) = (0u128, false);
        let first = usize::try_from(self.point).unwrap_or(0);
        for at in (first..self.whole.len() + self.fraction.len()).rev() {
            let sum = below + u128::from(self.digit(at)) * unit;
            (below, more) = (sum / 10, more || !sum.is_multiple_of(10));
        }
        for _ in self.point..0 {
            if below == 0 {
                break;
            }
            (below, more) = (below / 10, more || !below.is_multiple_of(10));
        }
        below + u128::from(more)
    }

    fn digit(&self, at: usize) -> u8 {
        let digit = match at.checked_sub(self.whole.len()) {
            None => self.whole.get(at),
            Some(at) => self.fraction.get(at),
        };
        digit.map_or(0, |digit| digit - b'0')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            ("0.00000000000000000000000000000000000000000001", 1, 1),
            ("1.0000000000000000001", 1, 2),
            ("0.00000000000000000012e30", 1, 120_000_000_000),
            ("99999999999999999999999999999999999999999999e-40", 1, 10_000),
            ("0e2147483647", 1, 0),
            ("1e2147483647", 1, i64::MAX),
            ("1e-2147483648", 1, 1),
            ("0.0", 1000, 0),
            ("0000000000000000000000000000000000000000000000001", 1, 1),
        ];
        for (text, per_unit, expected) in table {
            assert_eq!(parse(text, *per_unit), Some(*expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "Gi", "1Q", "1.2.3", "1 Gi", "--1", "1e", "1e3.5", "0x10", "é", ".", "1é"] {
            assert_eq!(parse(text, 1), None, "{text}");
        }
    }

    /// The value of a text of digits, point and exponent, in long-hand: a row of decimal digits.
    fn by_long_hand(whole: &str, fraction: &str, exponent: i32, binary: u64, per_unit: u32) -> i64 {
        let mut row: Vec<u64> = whole.bytes().chain(fraction.bytes()).map(|digit| u64::from(digit - b'0')).collect();
        for factor in [binary & 0xffff_ffff, binary >> 32, u64::from(per_unit)] {
            // `binary` is a power of two: one of its halves is 0, and is left out.
            if factor != 0 {
                row = times(&row, factor);
            }
        }
        if binary >> 32 != 0 {
            row = times(&times(&row, 1 << 16), 1 << 16);
        }
        let places = fraction.len() as i64 - i64::from(exponent);
        if places < 0 {
            row.extend(std::iter::repeat_n(0, places.unsigned_abs() as usize));
        }
        let whole_digits = (row.len() as i64 - places.max(0)).max(0) as usize;
        let rounds_up = row[whole_digits.min(row.len())..].iter().any(|digit| *digit != 0);
        let whole = row[..whole_digits.min(row.len())]
            .iter()
            .try_fold(0i64, |value, digit| value.checked_mul(10).and_then(|value| value.checked_add(*digit as i64)));
        whole.and_then(|whole| whole.checked_add(i64::from(rounds_up))).unwrap_or(i64::MAX)
    }

    fn times(row: &[u64], factor: u64) -> Vec<u64> {
        let (mut product, mut carry) = (vec![], 0);
        for digit in row.iter().rev() {
            carry += digit * factor;
            product.push(carry % 10);
            carry /= 10;
        }
        while carry > 0 {
            product.push(carry % 10);
            carry /= 10;
        }
        product.reverse();
        product
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn every_quantity_is_what_long_hand_makes_of_it(
            whole in "[0-9]{0,12}|[0-9]{0,45}", fraction in "0{0,25}[0-9]{0,6}|[0-9]{0,45}", exponent in -60i32..60,
            power in 0u32..7, per_unit in prop_oneof![Just(1u32), Just(1000), any::<u32>()], negative: bool,
        ) {
            prop_assume!(!whole.is_empty() || !fraction.is_empty());
            let sign = if negative { "-" } else { "" };
            let signed = |value: i64| if negative { -value } else { value };
            let decimal = by_long_hand(&whole, &fraction, exponent, 1, per_unit);
            prop_assert_eq!(parse(&format!("{sign}{whole}.{fraction}e{exponent}"), per_unit), Some(signed(decimal)));
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power as usize];
            let binary = by_long_hand(&whole, &fraction, 0, 1 << (10 * power), per_unit);
            prop_assert_eq!(parse(&format!("{sign}{whole}.{fraction}{suffix}"), per_unit), Some(signed(binary)));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,30}|[+-]?[0-9.]{0,6}[a-zA-Z]{0,2}[0-9-]{0,12}", per_unit: u32) {
            let _ = parse(&text, per_unit);
        }
    }
}
