//! The command line; every flag is also an environment variable.

mod ask;
mod cluster;
mod engine;
mod new;
mod pending;
mod scheduler_config;
mod serve;
mod test;
#[cfg(test)]
mod tests;
mod values;

use clap::{Parser, Subcommand};

pub(crate) use ask::{AskArgs, CheckArgs, ExplainArgs, RunArgs};
pub(crate) use cluster::ClusterArgs;
pub(crate) use engine::{CompileModuleArgs, EngineArgs};
pub(crate) use new::{Language, NewArgs};
pub(crate) use pending::PendingArgs;
pub(crate) use scheduler_config::SchedulerConfigArgs;
pub(crate) use serve::{BindingArgs, DirectoryArgs, REQUEST_TIMEOUT, ServeArgs, ViewArgs};
pub(crate) use test::{ConformanceArgs, RecordArgs, TestArgs};
pub(crate) use values::{FineScores, LogFormat, OutputFormat};

/// One scheduler extender that fronts many WebAssembly policies.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, about, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer kube-scheduler: load a directory of policies and serve the extender wire
    Serve(Box<ServeArgs>),
    /// Write a new policy that is tested and runs at once: a folder, or for CEL one file and its cases
    New(NewArgs),
    /// Report what a policy file exports, imports and costs, or why it is refused
    Check(CheckArgs),
    /// Put test cases in YAML to policies of any language, and show what differs
    Test(Box<TestArgs>),
    /// Prove an SDK: put the cases of the conformance suite to its policy `conformance`
    Conformance(ConformanceArgs),
    /// Ask the policies about one pod and print a table: node by policy, with verdict, score and reason
    Run(RunArgs),
    /// Show each policy's answer about one pod and one node, with every value that it read
    Explain(ExplainArgs),
    /// List the pods that wait for a node, as a running gateway knows them, or show why one waits
    Pending(PendingArgs),
    /// Print the KubeSchedulerConfiguration for a directory of policies
    SchedulerConfig(SchedulerConfigArgs),
    /// Print the version, commit, contract and engine of this build
    Version(VersionArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Compile the module on standard input, as the process that the other commands start for it
    #[command(hide = true)]
    CompileModule(CompileModuleArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Output format
    #[arg(short, long, env = "PLIMSOLL_OUTPUT", value_name = "FORMAT", default_value = "text")]
    pub(crate) output: OutputFormat,
}
