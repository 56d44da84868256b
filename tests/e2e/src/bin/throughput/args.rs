//! The command line.

use clap::{Parser, ValueEnum};

/// Measures pods per second of a real kube-scheduler.
#[derive(Debug, Parser)]
#[command(name = "plimsoll-throughput")]
pub(crate) struct Args {
    /// Sizes of the cluster, ascending
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 5_000])]
    pub(crate) nodes: Vec<usize>,

    /// Pods of each run, after those that warm up
    #[arg(long, default_value_t = 800)]
    pub(crate) pods: usize,

    /// The number of turns that each contender has; the median counts
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,

    /// Where plimsoll knows the cluster from; the Go extender has a file in both cases
    #[arg(long, default_value = "watch")]
    pub(crate) view: View,

    /// Write the table into docs/performance
    #[arg(long)]
    pub(crate) page: bool,
}

/// Where plimsoll knows the cluster from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// A file that is written before the first pod
    Snapshot,
    /// A watch on the API server
    Watch,
}
