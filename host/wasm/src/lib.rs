//! The policy host: loads, bounds and calls WebAssembly guests.
//!
//! ```text
//!  bytes ──> cache, or a compile process: componentize (a core module), compile ──> link ──> GuestModule
//!                                                                                                 │ each call:
//!  View <── abi (every import is one Read) <── a fresh instance, in bounds of time and memory ────┘
//! ```
//!
//! This is the only crate that names wasmtime. A guest can only compute, read the [`View`] of its call and write log
//! lines; anything else ends the call with a named [`Fault`](plimsoll_core::Fault), and the process continues.
//!
//! [`View`]: plimsoll_core::View

mod abi;
mod code;
mod compile;
mod componentize;
mod contract;
mod engine;
mod fault;
mod guest;
mod instance;
mod limits;
mod loader;
mod log;
mod program;
mod shares;
mod spares;
mod stdio;
mod stop;
mod store;
mod ticker;
mod wasi;

pub use compile::{ChildConfig, Compiler, ProcessLimits, compile_module};
pub use contract::CONTRACT;
pub use engine::{CompileReporter, ENGINE, EngineConfig, EngineError};
pub use loader::{Inspection, WasmLoader};
pub use plimsoll_system::digest::digest;
pub use shares::SharesInUse;
pub use wasi::WasiImport;

/// A module with these bytes: for tests and benchmarks, which read no directory.
pub fn module_of(bytes: &[u8]) -> plimsoll_core::Module {
    plimsoll_core::Module::new(bytes.to_vec(), plimsoll_system::digest::sha256)
}
