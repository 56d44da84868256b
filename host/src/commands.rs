//! One file for each command; results go to standard output, errors to standard error.

mod check;
mod conformance;
mod explain;
mod new;
mod offline;
mod pending;
mod run;
mod scheduler_config;
mod serve;
mod source_folder;
mod test;
mod version;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;
use plimsoll_wasm::ProcessLimits;

use crate::{
    args::{Args, Command, CompileModuleArgs},
    output,
};

/// Runs the command.
///
/// The exit code is 0 if all is well, 1 if the answer is no (a policy is refused), 2 if it could not be done.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Serve(args) => serve::serve(*args),
        Command::New(args) => new::new(&args),
        Command::Check(args) => check::check(&args),
        Command::Test(args) => test::test(&args),
        Command::Conformance(args) => conformance::conformance(&args),
        Command::Run(args) => run::run(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Pending(args) => pending::pending(&args),
        Command::SchedulerConfig(args) => scheduler_config::scheduler_config(&args),
        Command::Version(args) => version::version(&args),
        Command::Completions { shell } => completions(shell),
        Command::CompileModule(args) => compile_module(&args),
    }
}

/// Prints a script for the user's shell.
fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "plimsoll", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// The process that [`plimsoll_wasm::ChildConfig::this_program`] starts.
fn compile_module(args: &CompileModuleArgs) -> Result<ExitCode> {
    let limits = ProcessLimits { memory: args.memory as u64, cpu: args.cpu };
    plimsoll_wasm::compile_module(limits).context("cannot compile in this process")
}
