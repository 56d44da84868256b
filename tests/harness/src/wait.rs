//! Waiting for a condition, with a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Long enough for the slowest machine; a test that is right never waits this long.
const PATIENCE: Duration = Duration::from_mins(1);

/// The interval between two questions that cost next to nothing.
const OFTEN: Duration = Duration::from_millis(2);

/// Asks until there is an answer.
pub fn wait_until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> Result<T> {
    wait_until_every(OFTEN, what, ask)
}

/// As [`wait_until`], with a pause between two questions: for those that start a process, which would take the processor
/// from what they wait for.
#[expect(clippy::disallowed_methods, reason = "the one place that polls")]
pub fn wait_until_every<T>(pause: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        std::thread::sleep(pause);
    }
    bail!("waited {PATIENCE:?} in vain for {what}")
}
