//! The commands that answer a question about policies: `check`, `run`, `explain`.

use std::path::PathBuf;

use super::{ClusterArgs, EngineArgs, OutputFormat, values::group};

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Policy modules (.wasm), sidecars (.yaml) to check with their module and settings, or directories of both
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Also refuse a module of a directory that has no sidecar, a module that needs settings and has none, a weight without
    /// effect, and a match that fits no pod of the cluster
    #[arg(long, env = "PLIMSOLL_STRICT")]
    pub(crate) strict: bool,

    /// Check that answers do not depend on the order of calls: ask about sample nodes forwards, backwards and one by one
    #[arg(long, env = "PLIMSOLL_PURITY")]
    pub(crate) purity: bool,

    /// Output format of the report
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// A question about one pod.
#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    /// The directory of policies
    #[arg(long, env = "PLIMSOLL_POLICIES", value_name = "DIR")]
    pub(crate) policies: PathBuf,

    /// The pod to ask about, YAML or JSON; `-` is standard input
    #[arg(long, env = "PLIMSOLL_POD", value_name = "FILE")]
    pub(crate) pod: PathBuf,

    /// The group of policies to ask
    #[arg(long, env = "PLIMSOLL_GROUP", value_name = "NAME", default_value = "", hide_default_value = true, value_parser = group)]
    pub(crate) group: String,

    /// A resource that policies count and kube-scheduler does not (`ignoredByScheduler`); may be given more than once
    #[arg(long, env = "PLIMSOLL_IGNORED_BY_SCHEDULER", value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) ignored_by_scheduler: Vec<String>,

    /// Output format
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Facts from outside, from a file: a map from each source to its facts by key [default: none]
    #[arg(long, env = "PLIMSOLL_FACTS_SNAPSHOT", value_name = "FILE", help_heading = "The cluster")]
    pub(crate) facts_snapshot: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Show only these nodes; the policies are still asked about the others, since an answer may depend on them
    #[arg(long = "node", env = "PLIMSOLL_NODES", value_name = "NAME", value_delimiter = ',')]
    pub(crate) nodes: Vec<String>,

    /// The most rows of the table; nodes that differ only in their names share one
    #[arg(long, env = "PLIMSOLL_ROWS", value_name = "N", default_value_t = 20)]
    pub(crate) rows: usize,

    /// Ask the policies about all nodes, also those that kube-scheduler's own filters reject
    #[arg(long, env = "PLIMSOLL_POLICIES_ONLY")]
    pub(crate) policies_only: bool,

    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The node to ask about
    #[arg(long, env = "PLIMSOLL_NODE", value_name = "NAME")]
    pub(crate) node: String,

    #[command(flatten)]
    pub(crate) ask: AskArgs,
}
