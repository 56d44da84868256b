//! Quantities, as `k8s.io/apimachinery/pkg/api/resource` and `k8s.io/apiserver/pkg/cel/library/quantity.go`.

use std::cmp::Ordering;

use plimsoll_quantity::Scale;

use super::value;

/// Kubernetes keeps no more digits.
const NANOS: i128 = 1_000_000_000;

/// Decimal digits that fit an `i64` surely.
const MAX_DIGITS: i64 = 18;

/// A quantity: an exact number of billionths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    nanos: i128,
    /// The power of ten of the unit that Kubernetes counts it in; none where it keeps a decimal number, which it takes to
    /// be no integer.
    scale: Option<i32>,
    /// That power where it keeps a decimal number.
    decimal_scale: i32,
}

value!(Quantity, QUANTITY, "quantity");

// === impl Quantity ===

impl Quantity {
    /// A whole number of units of `10^scale`, as the host counts resources: -3 for cpu, else 0.
    pub(crate) fn counted(value: i64, scale: i32) -> Self {
        Self { nanos: i128::from(value) * power(9 + scale), scale: Some(scale), decimal_scale: 0 }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).ok_or_else(|| format!("{text:?} is no quantity; expected one such as 500m, 2 or 8Gi"))
    }

    fn read(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at_checked(end)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // No digits are a zero.
        if fraction.contains('.') {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let suffix = Suffix::read(suffix)?;
        let sign = if negative { -1 } else { 1 };
        let digits = format!("{whole}{fraction}");
        if let Some((value, scale)) = suffix.fast(&digits, whole.len() as i64, fraction.len() as i64) {
            let nanos = i128::from(value).checked_mul(power(9 + scale))?;
            return Some(Self { nanos: sign * nanos, scale: Some(scale), decimal_scale: 0 });
        }
        // Rounded up to billionths, away from zero.
        let (kept, cut) = suffix.digits_to_keep(&digits, fraction.len() as i64);
        let unscaled = if kept.is_empty() { 0 } else { kept.parse::<i128>().ok()? };
        let dropped = cut.bytes().any(|digit| digit != b'0');
        let shift = 9 + i64::from(suffix.0.decimal) - fraction.len() as i64 + cut.len() as i64;
        let unscaled = unscaled.checked_mul(i128::from(suffix.0.binary))?;
        let nanos = if shift >= 0 {
            unscaled.checked_mul(checked_power(shift)?)?
        } else {
            let divisor = checked_power(-shift).unwrap_or(i128::MAX);
            unscaled / divisor + i128::from(unscaled % divisor != 0 || dropped)
        };
        let cap = i128::from(i64::MAX) * NANOS;
        let is_capped = suffix.is_binary() && nanos > cap;
        let nanos = if is_capped { cap } else { nanos };
        let decimal_scale = if is_capped { 0 } else { -9 };
        Some(Self { nanos: sign * nanos, scale: None, decimal_scale })
    }

    pub(crate) fn compare(self, other: Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }

    pub(crate) fn sign(self) -> i64 {
        self.nanos.signum() as i64
    }

    /// The number, where Kubernetes calls it an integer: it does not for `1000m`, or for a fraction with a binary suffix.
    pub(crate) fn integer(self) -> Option<i64> {
        self.scale.filter(|scale| *scale >= 0)?;
        i64::try_from(self.nanos / NANOS).ok()
    }

    pub(crate) fn float(self) -> f64 {
        let scale = self.scale.unwrap_or(self.decimal_scale);
        let base = (self.nanos / power(9 + scale)) as f64;
        if scale == 0 { base } else { base * format!("1e{scale}").parse::<f64>().unwrap_or(1.0) }
    }

    pub(crate) fn add(self, other: Self) -> Result<Self, String> {
        let nanos = self.nanos.checked_add(other.nanos).ok_or_else(|| "the sum is too large".to_owned())?;
        let scale = match (self.scale, other.scale) {
            (Some(_), Some(_)) if other.nanos == 0 => self.scale,
            (Some(_), Some(_)) if self.nanos == 0 => other.scale,
            (Some(one), Some(two)) => {
                let scale = one.min(two);
                i64::try_from(nanos / power(9 + scale)).ok().map(|_| scale)
            }
            _ => None,
        };
        let own = |quantity: Self| quantity.scale.unwrap_or(quantity.decimal_scale);
        Ok(Self { nanos, scale, decimal_scale: own(self).min(own(other)) })
    }

    pub(crate) fn negated(self) -> Self {
        Self { nanos: -self.nanos, ..self }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

/// What stands after a number.
struct Suffix(Scale);

// === impl Suffix ===

impl Suffix {
    fn read(text: &str) -> Option<Self> {
        Scale::parse(text).filter(|scale| scale.decimal.abs() < 1000).map(Self)
    }

    fn is_binary(&self) -> bool {
        self.0.binary > 1
    }

    /// The number as Kubernetes keeps it where few digits say it: a value and its power of ten.
    fn fast(&self, digits: &str, whole: i64, fraction: i64) -> Option<(i64, i32)> {
        let precision = match (self.is_binary(), fraction) {
            (false, _) => MAX_DIGITS - whole - fraction,
            (true, 0) => 15 - whole - (self.0.binary.trailing_zeros() as f32 * 3.0 / 10.0) as i64 - 1,
            (true, _) => -1,
        };
        let scale = if self.is_binary() { 0 } else { self.0.decimal - fraction as i32 };
        if precision < 0 || !(-9..=19).contains(&scale) {
            return None;
        }
        Some((digits.parse::<i64>().ok()?.checked_mul(self.0.binary as i64)?, scale))
    }

    /// Digits that would be rounded off in any case are not computed with.
    fn digits_to_keep<'d>(&self, digits: &'d str, fraction: i64) -> (&'d str, &'d str) {
        let digits = digits.trim_start_matches('0');
        let below = fraction - i64::from(self.0.decimal) - 15;
        let keep = usize::try_from(digits.len() as i64 - below.max(0)).unwrap_or(0).min(digits.len());
        digits.split_at(keep)
    }
}

fn power(exponent: i32) -> i128 {
    checked_power(i64::from(exponent)).unwrap_or(1)
}

fn checked_power(exponent: i64) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}
