//! Compiling policies, and calling them.

use std::{path::PathBuf, time::Duration};

use super::values::{duration, quantity};

/// The compilation of policies, the cache of their code, and the limits of their calls.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Compiling and calling policies")]
pub(crate) struct EngineArgs {
    /// Directory for compiled policies, and the last good version of each [default: `plimsoll` in the user's cache
    /// directory]
    #[arg(long, env = "PLIMSOLL_COMPILE_CACHE", value_name = "DIR")]
    pub(crate) compile_cache: Option<PathBuf>,

    /// Keep no compiled policies and no last good versions on disk: compile policies again at each start
    #[arg(long, env = "PLIMSOLL_NO_COMPILE_CACHE", conflicts_with = "compile_cache")]
    pub(crate) no_compile_cache: bool,

    /// Disk space for compiled policies; the least recently used are deleted first
    #[arg(long, env = "PLIMSOLL_COMPILE_CACHE_SIZE", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) compile_cache_size: usize,

    /// Memory limit of the process that compiles a policy; lower if the container's limit leaves less
    #[arg(long, env = "PLIMSOLL_COMPILE_MEMORY", value_name = "SIZE", default_value = "1Gi", value_parser = quantity)]
    pub(crate) compile_memory: usize,

    /// Time limit for compiling one policy
    #[arg(long, env = "PLIMSOLL_COMPILE_TIMEOUT", value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) compile_timeout: Duration,

    /// The largest memory limit that a sidecar may set for its policy
    #[arg(long, env = "PLIMSOLL_MAX_POLICY_MEMORY", value_name = "SIZE", default_value = "256Mi", value_parser = quantity)]
    pub(crate) max_policy_memory: usize,

    /// The number of policy calls that may run at once
    #[arg(long, env = "PLIMSOLL_MAX_CALLS", value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_calls: u32,

    /// Memory limit for all running policy calls together [default: a quarter of the container's limit, or 1Gi]
    #[arg(long, env = "PLIMSOLL_GUEST_MEMORY", value_name = "SIZE", value_parser = quantity)]
    pub(crate) guest_memory: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompileModuleArgs {
    /// Bytes of memory that this process may take
    #[arg(long, value_name = "SIZE", value_parser = quantity)]
    pub(crate) memory: usize,

    /// Processor time that this process may take
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) cpu: Duration,
}
