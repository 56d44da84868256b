//! Waiting for a condition, with a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Long enough for the slowest machine; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks until there is an answer.
///
/// # Errors
/// If there is none within a minute; the text says what was waited for.
#[expect(clippy::disallowed_methods, reason = "the one place that polls")]
pub fn wait_until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    bail!("waited {PATIENCE:?} in vain for {what}")
}
