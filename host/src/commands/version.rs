//! `plimsoll version`: the build, its contract and its engine.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

use crate::{
    args::{OutputFormat, VersionArgs},
    output,
};

/// The facts that decide how a policy is compiled and run.
#[derive(Debug, Serialize)]
struct Build {
    version: &'static str,
    /// Given to the build as `PLIMSOLL_COMMIT`: a build script that runs git would rebuild after each commit.
    commit: &'static str,
    /// The contract that policies must be built for.
    contract: &'static str,
    /// The engine that compiles and runs policies.
    engine: &'static str,
    platform: String,
}

pub(super) fn version(args: &VersionArgs) -> Result<ExitCode> {
    let build = Build {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("PLIMSOLL_COMMIT").filter(|commit| !commit.is_empty()).unwrap_or("unknown"),
        contract: plimsoll_wasm::CONTRACT,
        engine: plimsoll_wasm::ENGINE,
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    };
    let text = match args.output {
        OutputFormat::Json => format!("{}\n", serde_json::to_string_pretty(&build)?),
        OutputFormat::Text => {
            let Build { version, commit, contract, engine, platform } = build;
            format!(
                "plimsoll  {version}\ncommit    {commit}\ncontract  {contract}\nengine    {engine}\nplatform  {platform}\n"
            )
        }
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
