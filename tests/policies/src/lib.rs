//! Loads compiled policies as the gateway does, for the tests of this crate.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

use std::{
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Limits, Policy, View};
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

/// Loads a module.
pub fn load(module: &Path) -> Arc<dyn Policy> {
    let bytes = std::fs::read(module).unwrap_or_else(|error| panic!("{}: {error}", module.display()));
    load_bytes(&module.display().to_string(), &bytes)
}

/// Loads a module that is in memory.
pub fn load_bytes(name: &str, module: &[u8]) -> Arc<dyn Policy> {
    static LOADER: OnceLock<WasmLoader> = OnceLock::new();
    let loader = LOADER.get_or_init(|| {
        WasmLoader::new(EngineConfig::in_process()).unwrap_or_else(|error| panic!("no engine: {error}"))
    });
    let inspection = loader.inspect("", &module_of(module)).unwrap_or_else(|error| panic!("{name}: {error}"));
    inspection.policy
}

/// A call over this view, with settings in JSON.
pub fn ask(view: View, settings: &str) -> Ask {
    let limits = Limits::until(Instant::now() + Duration::from_secs(10), 64 << 20);
    Ask::new("test".into(), Arc::new(view.with_settings(settings.into())), limits)
}
