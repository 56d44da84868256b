//! The histograms of durations.

use prometheus_client::metrics::histogram::Histogram;

/// Upper bounds in seconds: from 5 microseconds, by factors of 2 to 2.5, to 5 seconds.
const BUCKETS: [f64; 19] = [
    5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 1e-1, 2.5e-1, 5e-1, 1.0, 2.5,
    5.0,
];

/// Durations in seconds.
pub(super) fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}
