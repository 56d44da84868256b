//! The arguments of `plimsoll pending`.

use super::{
    OutputFormat,
    values::{pod_name, url},
};

#[derive(Debug, clap::Args)]
pub(crate) struct PendingArgs {
    /// The pod to explain [default: list all]
    #[arg(value_name = "NAMESPACE/NAME", value_parser = pod_name)]
    pub(crate) pod: Option<String>,

    /// The admin listener of the gateway to ask; each replica knows the attempts that it was asked about
    #[arg(long, env = "PLIMSOLL_SERVER", value_name = "URL", default_value = "http://127.0.0.1:8889", value_parser = url)]
    pub(crate) server: String,

    /// Output format
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,
}
