//! `plimsoll version`: the build, its contract and its engine.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::Result;

use crate::{
    args::{OutputFormat, VersionArgs},
    output,
};

pub(super) fn version(args: &VersionArgs) -> Result<ExitCode> {
    // Given to the build as a variable: a build script that runs git would rebuild after each commit.
    let commit = option_env!("PLIMSOLL_COMMIT").filter(|commit| !commit.is_empty()).unwrap_or("unknown");
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    let build = [
        ("commit", commit),
        ("contract", plimsoll_wasm::CONTRACT),
        ("engine", plimsoll_wasm::ENGINE),
        ("platform", &platform),
    ];
    match args.output {
        OutputFormat::Json => {
            let all = build.into_iter().chain([("version", version)]);
            output::print_json(&all.collect::<BTreeMap<_, _>>())?;
        }
        OutputFormat::Text => {
            let lines = build.map(|(key, value)| format!("{key:<10}{value}\n")).concat();
            output::print(&format!("plimsoll  {version}\n{lines}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
