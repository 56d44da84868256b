//! The time since the machine was started.

use std::{fs, time::Duration};

/// The time since the machine was started, which goes on while the machine is suspended and which nobody sets; `None`
/// without `/proc`.
pub fn uptime() -> Option<Duration> {
    parse(&fs::read_to_string("/proc/uptime").ok()?)
}

/// Parses the first of two numbers of seconds.
fn parse(text: &str) -> Option<Duration> {
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_is_the_first_number_and_does_not_go_back() {
        assert_eq!(parse("350735.47 234388.90\n"), Some(Duration::from_millis(350_735_470)));
        for bad in ["", "x", "-1.0 2", "NaN", "1e400"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        let [before, after] = [(); 2].map(|()| uptime().unwrap());
        assert!(before <= after);
    }
}
