//! One file for each command; results go to standard output, errors to standard error.

mod answer;
mod check;
mod completions;
pub(crate) mod explain;
mod offline;
mod run;
mod scheduler_config;
pub(crate) mod serve;
pub(crate) mod table;
mod version;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use plimsoll_wasm::{ChildConfig, EngineConfig, EngineError, ProcessLimits, WasmLoader};

use crate::{
    args::{Args, Command, CompileModuleArgs, EngineArgs},
    text,
};

/// The part of the container's memory that guests may take; docs/operations.md has the whole sum.
const GUESTS: usize = 4;

/// Runs the command.
///
/// The exit code is 0 if all is well, 1 if the answer is no (a policy is refused), 2 if it could not be done.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Serve(args) => serve::serve(*args),
        Command::Check(args) => check::check(&args),
        Command::Run(args) => run::run(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Table(args) => table::table(&args),
        Command::SchedulerConfig(args) => scheduler_config::scheduler_config(&args),
        Command::Version(args) => version::version(&args),
        Command::Completions { shell } => completions::completions(shell),
        Command::CompileModule(args) => compile_module(&args),
    }
}

/// Prints an error with all its causes on one line.
#[expect(clippy::print_stderr, reason = "this is the one place where a command complains")]
pub(crate) fn complain(error: &anyhow::Error) {
    eprintln!("plimsoll: {}", text::printable(&format!("{error:#}")));
}

/// Prints a remark to standard error.
#[expect(clippy::print_stderr, reason = "as for `complain`")]
fn remark(text: &str) {
    eprintln!("plimsoll: {}", text::printable(text));
}

/// The process that [`ChildConfig::this_program`] starts.
fn compile_module(args: &CompileModuleArgs) -> Result<ExitCode> {
    let limits = ProcessLimits { memory: args.memory as u64, cpu: args.cpu };
    plimsoll_wasm::compile_module(limits).context("cannot compile in this process")?;
    Ok(ExitCode::SUCCESS)
}

/// The policy loader, configured by the flags.
///
/// A cache that the user named must work; the default one may be unusable, as in a pod with a read-only root.
fn loader(args: &EngineArgs) -> Result<WasmLoader> {
    let memory = args.compile_memory as u64;
    let child = ChildConfig { memory, timeout: args.compile_timeout, ..ChildConfig::this_program() };
    let unlimited = EngineConfig::new(child);
    let config = EngineConfig {
        cache_size: args.compile_cache_size as u64,
        cache: cache_directory(args),
        max_memory: args.max_policy_memory,
        max_calls: args.max_calls,
        guest_memory: args.guest_memory.or_else(guest_memory_of_container).unwrap_or(unlimited.guest_memory),
        ..unlimited
    };
    match WasmLoader::new(config.clone()) {
        Err(error @ EngineError::Cache { .. }) if args.compile_cache.is_none() => {
            tracing::warn!(%error, "compiled policies are not cached, so each start compiles them again; --compile-cache names another directory");
            Ok(WasmLoader::new(EngineConfig { cache: None, ..config })?)
        }
        loader => Ok(loader?),
    }
}

/// The default memory of all guests together; `None` if the container has no limit.
fn guest_memory_of_container() -> Option<usize> {
    plimsoll_system::cgroup::memory_limit().map(|limit| limit as usize / GUESTS)
}

/// The directory of compiled policies; `None` if they are not cached.
fn cache_directory(args: &EngineArgs) -> Option<PathBuf> {
    if args.no_compile_cache { None } else { args.compile_cache.clone().or_else(default_cache) }
}

/// `plimsoll` in the user's cache directory, by the XDG base directory specification.
fn default_cache() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    base.or_else(home).map(|base| base.join("plimsoll"))
}

/// Prints a line of output, and ends quietly when nobody reads it (`plimsoll ... | head`).
///
/// Names, labels and reasons are foreign texts: only their printable characters reach the terminal.
fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    match std::io::stdout().write_all(text::printable(text).as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        result => Ok(result?),
    }
}
