//! Where log lines go and how they look.

mod limit;

use std::io;

use anyhow::{Context, Result};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

pub(crate) use self::limit::PENDING;
use self::limit::{GUEST, LEFT_OUT, Limiter};
use crate::{args::LogFormat, text::LogWriter};

/// The target of the spans of cases.
pub(crate) const CASE: &str = "plimsoll::case";

/// Libraries whose lines say less than ours about the same event, and say it for every attempt.
///
/// A watch, a lease or a bind that cannot reach the API server is logged by plimsoll, with the reason.
const QUIET: &str = "notify=off,kube_client=off,hyper=off,hyper_util=off,h2=off,tower=off,rustls=error";

/// Sends log lines to standard error.
///
/// # Errors
/// If the filter makes no sense.
pub(crate) fn start(format: LogFormat, filter: &str) -> Result<()> {
    let wrong = || format!("--log '{filter}' is not a level or a filter");
    refuse_misspelt_level(filter).map_err(anyhow::Error::msg).with_context(wrong)?;
    let filter = EnvFilter::try_new(with_quiet_libraries(filter)).with_context(wrong)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(|| LogWriter(io::stderr())).with_ansi(false);
    let lines = match format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::Pretty => lines.boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).with(Limiter::default()).init();
    Ok(())
}

/// Sends the lines that policies log to standard error, for a command by which a person asks about a policy.
pub(crate) fn start_for_command() {
    let lines = tracing_subscriber::fmt::layer().without_time().with_target(false).with_ansi(false);
    let lines = lines.with_writer(|| LogWriter(io::stderr()));
    let filter = Targets::new().with_target(GUEST, LevelFilter::TRACE).with_target(CASE, LevelFilter::TRACE);
    let filter = filter.with_target(LEFT_OUT, LevelFilter::TRACE);
    // It fails only where lines have gone to a log before.
    let _ = tracing_subscriber::registry().with(lines).with(Limiter::default()).with(filter).try_init();
}

/// Refuses a word that is no level: the filter would take it for the name of a target, and let nothing else pass.
///
/// Targets of plimsoll are named with a level (`plimsoll=debug`) or with a path (`plimsoll::guest`).
fn refuse_misspelt_level(filter: &str) -> Result<(), String> {
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    let is_target = |word: &str| word.contains(['=', ':', '[']) || matches!(word, "" | "plimsoll");
    let mut words = filter.split(',').map(str::trim);
    // The fields of a span, in brackets, may have commas.
    match words.find(|word| !filter.contains('[') && !is_level(word) && !is_target(word)) {
        Some(word) => Err(format!("'{word}' is no level: expected error, warn, info, debug or trace")),
        None => Ok(()),
    }
}

/// The filter. It hides lines of libraries unless it names them. A filter that has levels for some targets alone leaves
/// the warnings of all others.
fn with_quiet_libraries(filter: &str) -> String {
    let has_level = filter.split(',').any(|word| word.trim().parse::<LevelFilter>().is_ok());
    let others = if has_level || filter.contains('[') { "" } else { "warn," };
    format!("{QUIET},{others}{filter}")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused_and_not_taken_for_a_target() {
        for filter in ["warning", "inof", "loud", "info,debgu", "warn, verbose", "INFOO"] {
            let error = refuse_misspelt_level(filter).unwrap_err();
            assert!(error.ends_with("is no level: expected error, warn, info, debug or trace"), "{filter}: {error}");
        }
        let good =
            ["info", "WARN", "off", "", "info,plimsoll::guest=debug", "warn, hyper=info", "plimsoll::guest", "3"];
        for filter in good {
            assert_eq!(refuse_misspelt_level(filter), Ok(()), "{filter}");
        }
    }

    #[test]
    fn no_text_of_others_colours_or_forges_a_line() {
        static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        struct Shared;
        impl io::Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                WRITTEN.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lines = tracing_subscriber::fmt::layer().with_writer(|| LogWriter(Shared)).with_ansi(false);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            let name = "a\u{1b}[2Jb\n";
            tracing::warn!(pod = %name, node = name, many = ?[name], "about {name}");
        });
        let written = String::from_utf8(std::mem::take(&mut *WRITTEN.lock().unwrap())).unwrap();
        assert_eq!(written.lines().count(), 1, "{written:?}");
        assert!(!written.contains('\u{1b}'), "{written:?}");
    }

    #[test]
    fn libraries_are_quiet_unless_they_are_asked_for() {
        let info = with_quiet_libraries("info,plimsoll::guest=debug");
        assert!(info.contains("kube_client=off") && info.ends_with(",info,plimsoll::guest=debug"), "{info}");
        let asked = EnvFilter::try_new(with_quiet_libraries("warn,kube_client=info")).unwrap().to_string();
        assert!(asked.contains("kube_client=info") && !asked.contains("kube_client=off"), "{asked}");
        // Otherwise a filter for one target would silence the errors of all others.
        let guest = with_quiet_libraries("plimsoll::guest=debug");
        assert!(guest.ends_with(",warn,plimsoll::guest=debug"), "{guest}");
        assert!(!with_quiet_libraries("off,plimsoll::guest=debug").contains("warn"));
    }
}
