//! The output of this program.

use std::io::Write;

use anyhow::Result;

/// Writes a line at once: a worker may end with the next module.
pub(crate) fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
