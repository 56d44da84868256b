//! The arguments of `plimsoll test` and `plimsoll conformance`.

use std::path::PathBuf;

use super::{EngineArgs, OutputFormat};

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

    /// Output format of the report
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) record: RecordArgs,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// A new case, instead of a test.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Recording a case")]
pub(crate) struct RecordArgs {
    /// Write a case about one policy: --pod and --snapshot, cut down to what the policy reads, and what it answers now;
    /// `-` prints it
    #[arg(long = "record", env = "PLIMSOLL_RECORD", value_name = "FILE", conflicts_with_all = ["cases", "filter", "strict", "explain", "output"])]
    pub(crate) target: Option<PathBuf>,

    /// The pod to ask about: YAML or JSON
    #[arg(long, env = "PLIMSOLL_POD", value_name = "FILE")]
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
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    /// The policy `conformance` in the language of the SDK, compiled (.wasm)
    #[arg(value_name = "FILE", required_unless_present = "print_spec")]
    pub(crate) file: Option<PathBuf>,

    /// Print the page that says what that policy must do, with every case, and exit
    #[arg(long, env = "PLIMSOLL_PRINT_SPEC", conflicts_with_all = ["file", "filter"])]
    pub(crate) print_spec: bool,

    /// Only cases whose name or verb contains this text
    #[arg(long, env = "PLIMSOLL_FILTER", value_name = "TEXT")]
    pub(crate) filter: Option<String>,

    /// Output format of the report
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,

    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
