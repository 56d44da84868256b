//! How much is measured.

use std::{num::ParseIntError, time::Duration};

/// How long and how often.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Extent {
    /// Seconds after which a pod was waited for in vain
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) limit: Duration,

    /// Seconds for which attempts are counted
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) window: Duration,

    /// Runs of each case in which chance plays a part
    #[arg(long, default_value_t = 5)]
    pub(crate) runs: usize,
}

fn seconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_secs)
}
