//! `plimsoll version`: the build, its contract and its engine.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::{
    args::{OutputFormat, VersionArgs},
    output,
};

pub(super) fn version(args: &VersionArgs) -> Result<ExitCode> {
    let build = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        // Given to the build as a variable: a build script that runs git would rebuild after each commit.
        ("commit", option_env!("PLIMSOLL_COMMIT").filter(|commit| !commit.is_empty()).unwrap_or("unknown").to_owned()),
        ("contract", plimsoll_wasm::CONTRACT.to_owned()),
        ("engine", plimsoll_wasm::ENGINE.to_owned()),
        ("platform", format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH)),
    ];
    output::print(&match args.output {
        OutputFormat::Json => {
            let json: serde_json::Map<_, _> =
                build.map(|(key, value)| (key.to_owned(), json!(value))).into_iter().collect();
            format!("{:#}\n", json!(json))
        }
        OutputFormat::Text => {
            let lines = build.map(|(key, value)| {
                if key == "version" { format!("plimsoll  {value}\n") } else { format!("{key:<10}{value}\n") }
            });
            lines.concat()
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
