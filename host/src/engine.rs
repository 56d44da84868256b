//! The policy loader, as the flags configure it.

use std::path::PathBuf;

use anyhow::Result;
use plimsoll_wasm::{ChildConfig, CompileReporter, EngineConfig, EngineError, WasmLoader};

use crate::{args::EngineArgs, output, text};

/// The part of the container's memory that guests may take; docs/operations.md has the whole sum.
const GUESTS: usize = 4;

/// The warning about an unusable default cache.
const NOT_CACHED: &str =
    "compiled policies are not cached, so each start compiles them again; --compile-cache names another directory";

/// The policy loader of `serve`, configured by the flags; it logs the compiles of large modules.
///
/// # Errors
/// If there is no engine, or the cache that the user named does not work.
pub(crate) fn loader(args: &EngineArgs) -> Result<WasmLoader> {
    loader_with(args, None, |error| tracing::warn!(%error, "{NOT_CACHED}"))
}

/// The policy loader of a command. With a report for people, compiles of large modules are announced.
///
/// # Errors
/// As for [`loader`].
pub(crate) fn loader_of_command(args: &EngineArgs, is_for_people: bool) -> Result<WasmLoader> {
    let reporter: CompileReporter = if is_for_people { announce } else { |_, _| {} };
    // A command has no log.
    loader_with(args, Some(reporter), |error| output::remark(&format!("{NOT_CACHED} ({error})")))
}

fn announce(name: &str, bytes: u64) {
    output::remark(&format!("compiling {name} ({}), once for each version ...", text::size(bytes)));
}

/// A cache that the user named must work; the default one may be unusable, as in a pod with a read-only root, and is then
/// only reported.
fn loader_with(
    args: &EngineArgs,
    reporter: Option<CompileReporter>,
    report_no_cache: impl FnOnce(&EngineError),
) -> Result<WasmLoader> {
    let memory = args.compile_memory as u64;
    let child = ChildConfig { memory, timeout: args.compile_timeout, ..ChildConfig::this_program() };
    let defaults = EngineConfig::new(child);
    let config = EngineConfig {
        cache_size: args.compile_cache_size as u64,
        cache: cache_directory(args),
        max_memory: args.max_policy_memory,
        max_calls: args.max_calls,
        guest_memory: args.guest_memory.or_else(guest_memory_of_container).unwrap_or(defaults.guest_memory),
        reporter: reporter.unwrap_or(defaults.reporter),
        ..defaults
    };
    match WasmLoader::new(config.clone()) {
        Err(error @ EngineError::Cache { .. }) if args.compile_cache.is_none() => {
            report_no_cache(&error);
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
pub(crate) fn cache_directory(args: &EngineArgs) -> Option<PathBuf> {
    if args.no_compile_cache { None } else { args.compile_cache.clone().or_else(default_cache) }
}

/// `plimsoll` in the user's cache directory, by the XDG base directory specification.
fn default_cache() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    base.or_else(home).map(|base| base.join("plimsoll"))
}
