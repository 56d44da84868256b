//! The median of some figures, with the interval in which the true one lies.

use std::fmt;

use serde::Serialize;

/// A median and its 95 % confidence interval.
///
/// Its ends are figures themselves (order statistics), so nothing is assumed of how they are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

// === impl Interval ===

impl Interval {
    /// None of fewer than six figures: their ends do not hold the median in 95 of 100 cases.
    pub(crate) fn of(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_unstable_by(f64::total_cmp);
        let outside = left_out(figures.len())?;
        let (low, high) = (figures[outside], figures[figures.len() - 1 - outside]);
        Some(Self { low, median: median(&figures), high })
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} [{:.3}, {:.3}]", self.median, self.low, self.high)
    }
}

/// The median of figures in any order.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The number of the least figures, and of the greatest, that are outside of the interval.
///
/// Each figure lies below the true median as a coin falls: as many are left out at one side as are there by chance in
/// at most 2.5 of 100 cases.
fn left_out(figures: usize) -> Option<usize> {
    let (mut chance, mut below, mut count) = (0.5_f64.powi(figures as i32), 0.0, 0);
    loop {
        below += chance;
        if below > 0.025 {
            return usize::checked_sub(count, 1);
        }
        chance *= (figures - count) as f64 / (count + 1) as f64;
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_of_the_sign_test() {
        // From tables of the binomial distribution: the 6th and the 15th of 20, the 7th and the 18th of 24.
        for (figures, outside) in [(5, None), (6, Some(0)), (9, Some(1)), (20, Some(5)), (24, Some(6))] {
            assert_eq!(left_out(figures), outside, "{figures}");
        }
    }

    #[test]
    fn figures_in_any_order_have_one_interval() {
        let figures: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(Interval::of(figures), Some(Interval { low: 6.0, median: 10.5, high: 15.0 }));
        assert_eq!(Interval::of(vec![1.0; 5]), None);
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    }
}
