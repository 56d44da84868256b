//! Values that clap does not know by itself.

use std::time::Duration;

use clap::ValueEnum;
use plimsoll_core::{ScoreScale, TieBreak};

/// The format of tables and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object a line
    Json,
    /// Text
    Pretty,
}

/// A group with fine scores: `gpu`, `gpu=name`, or `/=spread` for the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FineScores {
    /// Empty for the root.
    pub(crate) group: String,
    pub(crate) scale: ScoreScale,
}

/// `4s`, `250ms`, `1m 30s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration.is_zero() => Err("it must be longer than 0".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("{error}; expected a time such as 250ms or 4s")),
    }
}

/// `5ms`, or `0s`.
pub(super) fn duration_or_zero(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; expected a time such as 5ms, or 0s"))
}

/// `64Mi`, `1Gi`, `1000000`.
pub(super) fn quantity(text: &str) -> Result<usize, String> {
    let bytes = plimsoll_core::parse_quantity(text, 1).map_err(|_| "expected a size such as 64Mi or 1Gi".to_owned())?;
    usize::try_from(bytes).ok().filter(|bytes| *bytes > 0).ok_or_else(|| "it must be more than 0".to_owned())
}

/// `http://10.96.0.42:8888`.
pub(super) fn url(text: &str) -> Result<String, String> {
    let is_url = ["http://", "https://"].iter().any(|scheme| text.len() > scheme.len() && text.starts_with(scheme));
    let example = || "expected a URL that begins with http:// or https://, such as http://10.96.0.42:8888".to_owned();
    is_url.then(|| text.to_owned()).ok_or_else(example)
}

/// `team-a/api-0`.
pub(super) fn pod_name(text: &str) -> Result<String, String> {
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
    };
    let is_name = text.split_once('/').is_some_and(|(namespace, name)| is_plain(namespace) && is_plain(name));
    is_name.then(|| text.to_owned()).ok_or_else(|| "expected NAMESPACE/NAME, such as team-a/api-0".to_owned())
}

/// The name of a group; a leading or trailing slash is forgiven.
#[expect(clippy::unnecessary_wraps, reason = "clap's value parsers return a result")]
pub(super) fn group(text: &str) -> Result<String, String> {
    Ok(text.trim_matches('/').to_owned())
}

/// `gpu`, `gpu=name`, `/=spread`.
pub(super) fn fine_scores(text: &str) -> Result<FineScores, String> {
    let (name, tie_break) = text.split_once('=').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let scale = match tie_break {
        None => ScoreScale::Fine,
        Some("name") => ScoreScale::FineWith(TieBreak::Name),
        Some("spread") => ScoreScale::FineWith(TieBreak::Spread),
        Some(_) => return Err("expected GROUP, GROUP=name or GROUP=spread; the root is /".to_owned()),
    };
    if name.is_empty() {
        return Err("expected the name of a group, or / for the root".to_owned());
    }
    Ok(FineScores { group: group(name)?, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fine_scores_name_a_group_and_perhaps_a_tie_break() {
        for (text, group, scale) in [
            ("gpu", "gpu", ScoreScale::Fine),
            ("/gpu/=name", "gpu", ScoreScale::FineWith(TieBreak::Name)),
            ("/=spread", "", ScoreScale::FineWith(TieBreak::Spread)),
        ] {
            assert_eq!(fine_scores(text), Ok(FineScores { group: group.to_owned(), scale }), "{text}");
        }
        for text in ["", "=name", "gpu=", "gpu=random", "gpu=name=spread"] {
            assert!(fine_scores(text).unwrap_err().starts_with("expected "), "{text}");
        }
    }

    #[test]
    fn times_and_sizes_are_read_as_people_write_them() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(quantity("64Mi"), Ok(64 << 20));
        assert_eq!(url("https://a:1"), Ok("https://a:1".to_owned()));
        assert_eq!(group("/gpu/"), Ok("gpu".to_owned()));
        assert_eq!(pod_name("team-a/web-0.x"), Ok("team-a/web-0.x".to_owned()));
    }

    #[test]
    fn nothing_and_nonsense_are_refused() {
        for text in ["0s", "", "4", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "", "64MB!"] {
            assert!(quantity(text).is_err(), "{text}");
        }
        for text in ["api-0", "/api-0", "a/", "a/b/c", "a/b?c", ""] {
            assert!(pod_name(text).unwrap_err().starts_with("expected NAMESPACE/NAME"), "{text}");
        }
        for text in ["plimsoll:8888", "https://", "", "ftp://plimsoll"] {
            assert!(url(text).unwrap_err().contains("such as http://"), "{text}");
        }
    }
}
