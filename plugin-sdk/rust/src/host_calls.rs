//! The way to the world: imports of the host in WebAssembly, a model of a cluster in native tests.
//!
//! Both sides offer one `HostCalls` with the same methods, one for each function of the contract.

#[cfg(target_family = "wasm")]
use crate::abi as side;
#[cfg(not(target_family = "wasm"))]
use crate::native as side;

pub(crate) use side::{HostCalls, log};

/// Returns Unix seconds, rounded down to a multiple of `granularity` seconds; 0 counts as 1.
///
/// The coarser, the longer an answer stays valid: ask for minutes if minutes will do.
///
/// # Panics
/// In a native test, outside a verb.
pub fn now(granularity: u32) -> u64 {
    side::now(granularity)
}
