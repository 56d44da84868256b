//! The arguments of `plimsoll conformance`.

use std::path::PathBuf;

use super::{EngineArgs, OutputFormat};

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
