//! Numbers with a fraction.

use std::{cmp::Ordering, fmt};

/// A finite number, by its bits. Equal numbers have equal bits, so it can be compared and hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Real(u64);

// === impl Real ===

impl Real {
    /// None if the number is not finite.
    pub fn new(number: f64) -> Option<Self> {
        // A sum with 0.0 turns -0.0 into 0.0.
        number.is_finite().then(|| Self((number + 0.0).to_bits()))
    }

    /// The number that a text writes, such as `0.85` or `1e9`; none for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().and_then(Self::new)
    }

    /// The number.
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().total_cmp(&other.get())
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_numbers_are_numbers_and_there_is_one_zero() {
        for text in ["NaN", "nan", "inf", "-inf", "+Inf", "infinity", "1e999", "", " 1", "1 ", "0x10", "1,5"] {
            assert_eq!(Real::parse(text), None, "{text}");
        }
        assert_eq!(Real::parse("-0"), Real::parse("0.00"));
        assert_eq!(Real::parse("0.85").map(Real::get), Some(0.85));
        assert_eq!(Real::parse("1e3").map(|number| number.to_string()).as_deref(), Some("1000"));
    }
}
