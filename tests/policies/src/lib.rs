//! Builds policies in Rust and loads them as the gateway does, for the tests of this crate.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Limits, Policy, View};
use plimsoll_wasm::{EngineConfig, WasmLoader};

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Builds modules with the project's own script; cargo makes it quick where nothing changed.
///
/// # Panics
/// If they do not build.
pub fn build(arguments: &[&str]) -> Vec<PathBuf> {
    let mut script = Command::new(workspace().join("plugin-sdk/rust/build-wasm"));
    script.arg("--quiet").arg("--manifest-path").arg(workspace().join("Cargo.toml")).args(arguments);
    // What cargo tells its tests is not for the cargo that the script runs.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_") || name == "CARGO") {
        script.env_remove(name);
    }
    let built = script.stderr(Stdio::inherit()).output();
    let built = built.unwrap_or_else(|error| panic!("build-wasm: {error}"));
    assert!(built.status.success(), "build-wasm failed, see above");
    String::from_utf8_lossy(&built.stdout).lines().map(PathBuf::from).collect()
}

/// Loads a module.
///
/// # Panics
/// If it is refused.
pub fn load(module: &Path) -> Arc<dyn Policy> {
    static LOADER: OnceLock<WasmLoader> = OnceLock::new();
    let loader = LOADER.get_or_init(|| {
        WasmLoader::new(EngineConfig::in_process()).unwrap_or_else(|error| panic!("no engine: {error}"))
    });
    let bytes = std::fs::read(module).unwrap_or_else(|error| panic!("{}: {error}", module.display()));
    let inspection = loader.inspect(&bytes).unwrap_or_else(|error| panic!("{}: {error}", module.display()));
    inspection.policy
}

/// A call over this view, with settings in JSON.
pub fn ask(view: View, settings: &str) -> Ask {
    let limits = Limits::until(Instant::now() + Duration::from_secs(10), 64 << 20);
    Ask::new("test".into(), Arc::new(view.with_settings(settings.into())), limits)
}
