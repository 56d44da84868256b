//! What several crates of the host need of the machine, each of it once.
//!
//! ```text
//!  wasm (compiled code) ─────┐
//!  directory (last good) ────┼──> PrivateDir · cgroup · private_memory · digest
//!  the binary ───────────────┘
//! ```
//!
//! It names no other crate of the project, and knows nothing of policies.

pub mod cgroup;
pub mod digest;
mod private_dir;
mod process_memory;

pub use private_dir::{DirLimit, PrivateDir};
pub use process_memory::private_memory;
