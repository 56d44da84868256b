//! Rounds numbers to multiples of a step, so that noise makes no new values.

use std::borrow::Cow;

use plimsoll_core::Real;

/// The least and the greatest step. Below and above them an `f64` has too few digits for its multiples.
pub(crate) const STEPS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// A step, and the digits that its multiples have behind the point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Round {
    step: f64,
    decimals: usize,
}

// === impl Round ===

impl Round {
    /// Rounds to multiples of `step`; none if it is not among [`STEPS`].
    pub(crate) fn to(step: f64) -> Option<Self> {
        let decimals = step.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
        STEPS.contains(&step).then_some(Self { step, decimals })
    }

    /// The nearest multiple, if the text is a number; else the text.
    pub(crate) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let multiple = Real::parse(text).and_then(|number| Real::new((number.get() / self.step).round() * self.step));
        let Some(multiple) = multiple else { return Cow::Borrowed(text) };
        // Digits behind those of the step come from the arithmetic: 3 * 0.05 is 0.15000000000000002.
        let shown = format!("{:.*}", self.decimals, multiple.get());
        Cow::Owned(if self.decimals == 0 {
            shown
        } else {
            shown.trim_end_matches('0').trim_end_matches('.').to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_multiples_and_texts_stay() {
        for (step, text, expected) in [
            (0.05, "0.1499", "0.15"),
            (0.05, "0.4321", "0.45"),
            (0.05, "0.99", "1"),
            (0.05, "-0.01", "0"),
            (0.05, "1e-3", "0"),
            (0.25, "10.13", "10.25"),
            (10.0, "94", "90"),
            (10.0, "100", "100"),
            (0.05, "closed", "closed"),
            (0.05, "NaN", "NaN"),
            (1e-9, "1.7e308", "1.7e308"),
        ] {
            assert_eq!(Round::to(step).unwrap().apply(text), expected, "{text} by {step}");
        }
    }

    #[test]
    fn a_step_is_more_than_zero_and_finite() {
        assert!([1e-9, 1e9].iter().all(|step| Round::to(*step).is_some()));
        assert!([0.0, -1.0, 9e-10, 1.1e9, f64::NAN, f64::INFINITY].iter().all(|step| Round::to(*step).is_none()));
    }
}
