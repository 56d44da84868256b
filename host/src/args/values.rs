//! Values that clap does not know by itself.

use std::time::Duration;

/// `4s`, `250ms`, `1m 30s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration.is_zero() => Err("it must be longer than 0".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("{error}; expected a time such as 250ms or 4s")),
    }
}

/// `64Mi`, `1Gi`, `1000000`.
pub(super) fn quantity(text: &str) -> Result<usize, String> {
    let bytes = plimsoll_core::parse_quantity(text, 1).map_err(|error| error.to_string())?;
    usize::try_from(bytes).ok().filter(|bytes| *bytes > 0).ok_or_else(|| "it must be more than 0".to_owned())
}

/// The name of a group; a leading or trailing slash is forgiven.
#[expect(clippy::unnecessary_wraps, reason = "clap's value parsers return a result")]
pub(super) fn group(text: &str) -> Result<String, String> {
    Ok(text.trim_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_as_people_write_them() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(quantity("64Mi"), Ok(64 << 20));
        assert_eq!(group("/gpu/"), Ok("gpu".to_owned()));
    }

    #[test]
    fn nothing_and_nonsense_are_refused() {
        for text in ["0s", "", "4", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "", "64MB!"] {
            assert!(quantity(text).is_err(), "{text}");
        }
    }
}
