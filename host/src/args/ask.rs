//! The commands that answer a question about policies: `check`, `run`, `explain`.

use std::path::PathBuf;

use super::{
    ClusterArgs, EngineArgs, FineScores, OutputFormat, ReportFormat,
    values::{fine_scores, group},
};

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Policy modules (.wasm), sidecars (.yaml) to check with their module and settings, or directories of both
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Also refuse a module that could not be tried, because it needs settings and has no sidecar
    #[arg(long, env = "PLIMSOLL_STRICT")]
    pub(crate) strict: bool,

    /// Check that answers do not depend on the order of calls: ask about sample nodes forwards, backwards and one by one
    #[arg(long, env = "PLIMSOLL_PURITY")]
    pub(crate) purity: bool,

    /// Output format of the report
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ReportFormat,

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

    /// Output format
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text", display_order = LAST)]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// In `--help` the flags of one command stand behind those of [`AskArgs`]. They are declared before them: a flag that is
/// declared after a flattened struct gets the heading of that.
const OWN: usize = 100;
const LAST: usize = 200;

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Show only these nodes; the policies are still asked about all nodes, since an answer may depend on the others
    #[arg(long = "node", env = "PLIMSOLL_NODES", value_name = "NAME", value_delimiter = ',', display_order = OWN)]
    pub(crate) nodes: Vec<String>,

    /// Show for each --node the values that every policy read
    #[arg(long, env = "PLIMSOLL_EXPLAIN", requires = "nodes", display_order = OWN + 1)]
    pub(crate) explain: bool,

    /// Show the scores of a group as `scheduler-config` has kube-scheduler ask for them with the same flag
    #[arg(
        long,
        env = "PLIMSOLL_FINE_SCORES",
        value_name = "GROUP[=TIE-BREAK]",
        value_delimiter = ',',
        value_parser = fine_scores,
        display_order = OWN + 2
    )]
    pub(crate) fine_scores: Vec<FineScores>,

    /// The most rows of the table
    #[arg(long, env = "PLIMSOLL_ROWS", value_name = "N", default_value_t = 20, display_order = OWN + 3)]
    pub(crate) rows: usize,

    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The node to ask about
    #[arg(long, env = "PLIMSOLL_NODE", value_name = "NAME", display_order = OWN)]
    pub(crate) node: String,

    #[command(flatten)]
    pub(crate) ask: AskArgs,
}
