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

    /// Have two gateways, and in each run kill the one that leads once the first pod is bound: cases of volumes and gangs
    #[arg(long)]
    pub(crate) kill_leader: bool,
}

impl Extent {
    /// The number of gateways of such a case.
    pub(crate) fn replicas(self) -> usize {
        1 + usize::from(self.kill_leader)
    }
}

fn seconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_secs)
}
