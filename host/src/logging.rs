//! Where log lines go and how they look.

use std::io::{self, IsTerminal};

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;

/// Sends log lines to standard error.
///
/// # Errors
/// If the filter makes no sense.
pub(crate) fn start(format: LogFormat, filter: &str) -> Result<()> {
    let filter = EnvFilter::try_new(filter).with_context(|| format!("--log '{filter}' is not a level or a filter"))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Json => lines.json().flatten_event(true).init(),
        LogFormat::Pretty => lines.with_ansi(io::stderr().is_terminal()).init(),
    }
    Ok(())
}
