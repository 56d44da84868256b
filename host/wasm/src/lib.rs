//! The policy host: loads, lifts, bounds and calls WebAssembly guests.
//!
//! ```text
//!  bytes ──> cache, or a compile process: lift (a core module becomes a component), compile ──> link ──> GuestModule
//!                                                                                                 │ each call:
//!  View <── abi (every import is one Read) <── a fresh instance, in bounds of time and memory ────┘
//! ```
//!
//! This is the only crate that names wasmtime. A guest can only compute, read the [`View`] of its call and write log
//! lines; anything else ends the call with a named [`Fault`](plimsoll_core::Fault), and the process continues.
//!
//! [`View`]: plimsoll_core::View

mod abi;
mod cache;
mod call;
mod code;
mod compile;
mod contract;
mod engine;
mod fault;
mod guest;
mod instance;
mod instance_pool;
mod lift;
mod limits;
mod linked_module;
mod loader;
mod log;
mod pool_permits;
mod pool_worker;
mod program;
mod progress;
mod shares;
mod stdio;
mod stop;
mod store;
mod ticker;
mod wasi;

pub use compile::{ChildConfig, Compiler, ProcessLimits, compile_module};
pub use contract::CONTRACT;
pub use engine::{ENGINE, EngineConfig, EngineError};
pub use loader::{Inspection, WasmLoader};
pub use plimsoll_system::digest::digest;
pub use progress::{CompileReport, CompileReporter};
pub use shares::SharesInUse;
pub use wasi::WasiImport;
