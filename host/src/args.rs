//! The command line; every flag is also an environment variable.

mod ask;
mod cluster;
mod conformance;
mod engine;
mod format;
mod new;
mod scheduler_config;
mod scores;
mod serve;
mod test;
#[cfg(test)]
mod tests;
mod values;

use clap::{
    Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::{BoolishValueParser, OsStr, Resettable},
};

pub(crate) use ask::{AskArgs, CheckArgs, ExplainArgs, RunArgs};
pub(crate) use cluster::ClusterArgs;
pub(crate) use conformance::ConformanceArgs;
pub(crate) use engine::{CompileModuleArgs, EngineArgs};
pub(crate) use format::{LogFormat, OutputFormat, ReportFormat};
pub(crate) use new::{Language, NewArgs};
pub(crate) use scheduler_config::SchedulerConfigArgs;
pub(crate) use scores::{FineScores, PluginWeight};
pub(crate) use serve::{BindClientArgs, LeaseArgs, LimitArgs, REQUEST_TIMEOUT, ServeArgs};
pub(crate) use test::{RecordArgs, TestArgs};

/// One scheduler extender that fronts many WebAssembly policies.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, about, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the command line and the environment, or ends the process with an error message.
pub(crate) fn parse() -> Args {
    let matches = with_plain_variables(Args::command()).get_matches();
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Makes variables easy to set in templates.
///
/// An empty variable counts as not set, and the variable of a flag without a value accepts 1 and yes.
fn with_plain_variables(command: clap::Command) -> clap::Command {
    let plain = |arg: Arg| {
        let Some(name) = arg.get_env() else { return arg };
        if std::env::var_os(name).is_some_and(|value| value.is_empty()) {
            return arg.env(Resettable::<OsStr>::Reset);
        }
        if matches!(arg.get_action(), ArgAction::SetTrue) { arg.value_parser(BoolishValueParser::new()) } else { arg }
    };
    command.mut_args(plain).mut_subcommands(with_plain_variables)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer kube-scheduler: load a directory of policies and serve the extender wire
    Serve(Box<ServeArgs>),
    /// Write a folder with a new policy that builds, is tested and runs at once
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
