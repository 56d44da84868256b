//! The `plimsoll` under test.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, ensure};
use plimsoll_core::Loader;
use plimsoll_wasm::{ChildConfig, EngineConfig, WasmLoader, module_of};

/// The program that was built beside this one.
pub(crate) fn program() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("plimsoll");
    ensure!(program.exists(), "{} is missing: `make fuzz` builds it", program.display());
    Ok(program)
}

/// The answer that a gateway gives to a module.
pub(crate) fn answer(module: &Path) -> Result<String> {
    let child = ChildConfig { timeout: Duration::from_secs(10), ..ChildConfig::of(program()?) };
    let config = EngineConfig { max_calls: 2, ..EngineConfig::new(child) };
    let loaded = WasmLoader::new(config)?.load("", &module_of(&fs::read(module)?));
    Ok(loaded.map_or_else(|error| error.to_string(), |_| "accepted".to_owned()))
}
