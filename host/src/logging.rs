//! Where log lines go and how they look.

mod guest_lines;
mod limit;

use std::{
    fmt::{self, Debug},
    io::{self, IsTerminal},
};

use anyhow::{Context, Result};
use tracing::field::Field;
use tracing_subscriber::{
    EnvFilter, Layer,
    field::MakeExt,
    filter::LevelFilter,
    fmt::{
        FormatFields,
        format::{self, Writer},
    },
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

pub(crate) use self::guest_lines::GuestLines;
use self::limit::Limiter;
use crate::{
    args::LogFormat,
    text::{LogWriter, one_line},
};

/// The target of lines that policies write.
const GUEST: &str = "plimsoll::guest";

/// The target of reports on policies in shadow mode: each request may cause some.
const SHADOW: &str = "plimsoll::shadow";

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
    let has_colours = format == LogFormat::Pretty && has_colours();
    let lines = tracing_subscriber::fmt::layer().with_writer(move || LogWriter { to: io::stderr(), has_colours });
    let lines = match format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::Pretty => lines.with_ansi(has_colours).fmt_fields(escaped_fields()).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).with(Limiter::default()).init();
    Ok(())
}

/// Colours are for terminals, and not for those who want none (<https://no-color.org>).
fn has_colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Fields as the library writes them, and with nothing in their values that could colour or forge a line.
fn escaped_fields() -> impl for<'w> FormatFields<'w> + Send + Sync + 'static {
    format::debug_fn(|writer, field, value| write_field(writer, field, value)).delimited(" ")
}

fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let value = one_line(&value);
    match field.name() {
        "message" => write!(writer, "{value}"),
        name if writer.has_ansi_escapes() => write!(writer, "\u{1b}[3m{name}\u{1b}[0m\u{1b}[2m=\u{1b}[0m{value}"),
        name => write!(writer, "{name}={value}"),
    }
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
    fn no_value_of_a_field_writes_an_escape_to_a_terminal() {
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
        let lines = |has_colours| {
            let lines = tracing_subscriber::fmt::layer().with_writer(move || LogWriter { to: Shared, has_colours });
            let lines = lines.with_ansi(has_colours).fmt_fields(escaped_fields()).without_time();
            tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
                let name = "a\u{1b}[2Jb\n";
                tracing::warn!(target: "t", pod = %name, node = name, many = ?[name], "about {name}");
            });
            String::from_utf8(std::mem::take(&mut *WRITTEN.lock().unwrap())).unwrap()
        };
        let [shown, quoted, listed] = [r"a\u001b[2Jb\u000a", r#""a\u{1b}[2Jb\n""#, r#"["a\u{1b}[2Jb\n"]"#];
        let plain = lines(false);
        assert_eq!(plain.trim_start(), format!("WARN t: about {shown} pod={shown} node={quoted} many={listed}\n"));
        let coloured = lines(true);
        assert!(!coloured.contains("\u{1b}[2J") && coloured.contains(&format!("about {shown} ")), "{coloured:?}");
        let field = |name| format!("\u{1b}[3m{name}\u{1b}[0m\u{1b}[2m=\u{1b}[0m");
        assert!(coloured.ends_with(&format!("{}{quoted} {}{listed}\n", field("node"), field("many"))), "{coloured:?}");
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
