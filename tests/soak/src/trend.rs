//! The growth of a series of measurements, with a confidence interval.

/// The growth of a measurement per hour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    pub(crate) per_hour: f64,
    /// The bounds of its 95 % confidence interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The number of stretches whose means are compared. Samples of one stretch depend on each other, the stretches hardly.
const STRETCHES: usize = 16;

/// The 97.5 % quantile of Student's distribution with `STRETCHES - 2` degrees of freedom.
const STUDENT: f64 = 2.145;

/// The straight line through (seconds, value); none with too few points.
pub(crate) fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    if points.len() < 2 * STRETCHES {
        return None;
    }
    let mean_of = |points: &[(f64, f64)]| {
        let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        (x / points.len() as f64, y / points.len() as f64)
    };
    let bound = |at: usize| at * points.len() / STRETCHES;
    let means: Vec<(f64, f64)> = (0..STRETCHES).map(|at| mean_of(&points[bound(at)..bound(at + 1)])).collect();
    let middle = mean_of(&means);
    let spread: f64 = means.iter().map(|(x, _)| (x - middle.0).powi(2)).sum();
    let slope = means.iter().map(|(x, y)| (x - middle.0) * (y - middle.1)).sum::<f64>() / spread;
    let residuals: f64 = means.iter().map(|(x, y)| (y - middle.1 - slope * (x - middle.0)).powi(2)).sum();
    let error = STUDENT * (residuals / (STRETCHES - 2) as f64 / spread).sqrt();
    let hour = 3_600.0;
    Some(Trend { per_hour: slope * hour, low: (slope - error) * hour, high: (slope + error) * hour })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise that is the same every time, between -1 and 1.
    fn noise(at: u32) -> f64 {
        f64::from(at.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 23) - 1.0
    }

    #[test]
    fn a_line_is_found_with_its_slope() {
        let points: Vec<(f64, f64)> =
            (0..600).map(|at| (f64::from(at), 100.0 + 2.0 * f64::from(at) / 3_600.0)).collect();
        let trend = trend(&points).unwrap();
        assert!((trend.per_hour - 2.0).abs() < 1e-6 && trend.high - trend.low < 1e-3, "{trend:?}");
    }

    #[test]
    fn growth_below_the_noise_is_not_called_growth_and_above_it_is() {
        let points = |slope: f64| -> Vec<(f64, f64)> {
            (0..3_600).map(|at| (f64::from(at), 50.0 + slope * f64::from(at) / 3_600.0 + noise(at))).collect()
        };
        let flat = trend(&points(0.0)).unwrap();
        assert!(flat.low < 0.0 && flat.high > 0.0 && flat.high < 0.5, "{flat:?}");
        let growing = trend(&points(2.0)).unwrap();
        assert!(growing.low > 1.0, "{growing:?}");
    }

    #[test]
    fn a_few_points_tell_nothing() {
        assert_eq!(trend(&[(0.0, 1.0), (1.0, 2.0)]), None);
    }
}
