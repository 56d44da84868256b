//! The arguments of `plimsoll test`.

use std::path::PathBuf;

use super::{EngineArgs, ReportFormat};

#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Policy modules (.wasm), sidecars (.yaml), or directories that are searched for both
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) files: Vec<PathBuf>,

    /// Where the cases are: a directory with NAME/cases or cases/NAME for a policy NAME, or the cases of a single policy
    /// [default: the directory of each module, and the current one]
    #[arg(long, env = "PLIMSOLL_CASES", value_name = "DIR|FILE")]
    pub(crate) cases: Option<PathBuf>,

    /// Only cases whose file, description or policy contains this text
    #[arg(long, env = "PLIMSOLL_FILTER", value_name = "TEXT")]
    pub(crate) filter: Option<String>,

    /// Also fail if a policy has no cases, or cases have no policy
    #[arg(long, env = "PLIMSOLL_STRICT")]
    pub(crate) strict: bool,

    /// Show with each difference the values that the policy read, and on standard error the lines that policies log
    #[arg(long, env = "PLIMSOLL_EXPLAIN")]
    pub(crate) explain: bool,

    /// Stay, and test again whenever a module, a sidecar or a case changes
    #[arg(long, env = "PLIMSOLL_WATCH")]
    pub(crate) watch: bool,

    /// Output format of the report
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ReportFormat,

    #[command(flatten)]
    pub(crate) record: RecordArgs,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// A new case, instead of a test.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Recording a case")]
pub(crate) struct RecordArgs {
    /// Write a case about one policy: a request or a snapshot, cut down to what the policy reads, and what it answers
    /// now; `-` prints it
    #[arg(long = "record", env = "PLIMSOLL_RECORD", value_name = "FILE", conflicts_with_all = ["cases", "filter", "strict", "explain", "watch", "output"])]
    pub(crate) target: Option<PathBuf>,

    /// The body of a request of kube-scheduler: filter or prioritize
    #[arg(long, env = "PLIMSOLL_REQUEST", value_name = "FILE", requires = "target")]
    pub(crate) request: Option<PathBuf>,

    /// The pod to ask about, instead of a request: YAML or JSON
    #[arg(long, env = "PLIMSOLL_POD", value_name = "FILE", conflicts_with = "request")]
    pub(crate) pod: Option<PathBuf>,

    /// Nodes and pods from a file (`kubectl get nodes,pods -A -o json`)
    #[arg(long, env = "PLIMSOLL_SNAPSHOT", value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,

    /// Facts from outside, from a file: a map from each source to its facts by key [default: none]
    #[arg(long, env = "PLIMSOLL_FACTS_SNAPSHOT", value_name = "FILE")]
    pub(crate) facts_snapshot: Option<PathBuf>,

    /// Only these nodes
    #[arg(long = "node", env = "PLIMSOLL_NODES", value_name = "NAME", value_delimiter = ',')]
    pub(crate) nodes: Vec<String>,

    /// The description of the case
    #[arg(long, env = "PLIMSOLL_DESCRIPTION", value_name = "TEXT", requires = "target")]
    pub(crate) description: Option<String>,
}
