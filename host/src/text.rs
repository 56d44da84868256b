//! How durations and sizes are printed.

use std::time::Duration;

/// Three digits and a unit: `41.2 ms`.
pub(crate) fn duration(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    match micros {
        micros if micros < 1_000.0 => format!("{micros:.1} us"),
        micros if micros < 1_000_000.0 => format!("{:.1} ms", micros / 1e3),
        micros => format!("{:.2} s", micros / 1e6),
    }
}

/// `31.4 kB`, as file managers print it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_magnitude_has_its_unit() {
        assert_eq!(duration(Duration::from_nanos(35_400)), "35.4 us");
        assert_eq!(duration(Duration::from_micros(41_230)), "41.2 ms");
        assert_eq!(duration(Duration::from_millis(2_340)), "2.34 s");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(31_400), "31.4 kB");
        assert_eq!(size(18_000_000), "18.0 MB");
    }
}
