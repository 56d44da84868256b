//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// Show plimsoll at work on a sample cluster: real calls, a hot swap, a crash
#[derive(Debug, Parser)]
#[command(name = "plimsoll-demo")]
pub(crate) struct Args {
    /// The sample policies, as `make policies` builds them
    #[arg(long, value_name = "DIR", default_value = "target/policies")]
    pub(crate) policies: PathBuf,

    /// The two versions of `zone-drain` and the policy that crashes, as `make policies` builds them
    #[arg(long, value_name = "DIR", default_value = "target/demo-guests")]
    pub(crate) guests: PathBuf,

    /// Where the demo writes its policies and its cluster; it replaces only files of an earlier demo
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    pub(crate) directory: PathBuf,

    /// The number of pods to schedule
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(9..=10_000))]
    pub(crate) pods: u32,
}
