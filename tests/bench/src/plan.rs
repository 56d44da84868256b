//! The choice of measurements, and their duration.

use std::{path::PathBuf, time::Duration};

use clap::Parser;

use crate::sample::Effort;

/// Measures plimsoll against its aims.
#[derive(Debug, Parser)]
#[command(name = "plimsoll-bench")]
pub(crate) struct Args {
    /// About a minute: the small rows, each for a moment
    #[arg(long)]
    quick: bool,

    /// Only rows whose `WORK MODE NODES POLICIES` holds this text, such as `steady names 500`
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,

    /// Compare with another build of plimsoll, call by call, and measure nothing else; exit code 1 if a call was clearly slower than with BINARY
    #[arg(long, value_name = "BINARY")]
    pub(crate) against: Option<PathBuf>,

    /// The modules [default: target/policies, which `make policies` fills]
    pub(crate) policies: Option<PathBuf>,

    /// Be the echo server
    #[arg(long, hide = true)]
    pub(crate) echo: bool,
}

/// The choice of measurements, and their duration.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) quick: bool,
    filter: String,
}

// === impl Args ===

impl Args {
    pub(crate) fn plan(&self) -> Plan {
        Plan { quick: self.quick, filter: self.filter.clone() }
    }
}

// === impl Plan ===

impl Plan {
    /// Whether a row with this label is wanted.
    pub(crate) fn wants(&self, label: &str) -> bool {
        label.contains(&self.filter)
    }

    /// So many seconds and calls, or a fraction of them.
    pub(crate) fn effort(&self, seconds: u64, calls: usize) -> Effort {
        let share = if self.quick { 8 } else { 1 };
        Effort { time: Duration::from_secs(seconds) / share as u32, calls: calls.div_ceil(share) }
    }

    /// The number of times that something is done which takes long each time.
    pub(crate) fn times(&self, times: usize) -> usize {
        if self.quick { times.div_ceil(3) } else { times }
    }
}
