//! Access to the operating system that several crates of the host share.
//!
//! ```text
//!  wasm (compiled code) ─────┐
//!  directory (last good) ────┼──> PrivateDir · bounded_file · cgroup · digest · Debouncer · FileStamp · error_chain
//!  cluster, http, binary ────┘
//! ```
//!
//! It names no other crate of the project, and knows nothing of policies.

pub mod bounded_file;
pub mod cgroup;
mod debouncer;
pub mod digest;
mod error_chain;
mod file_stamp;
mod private_dir;

pub use debouncer::Debouncer;
pub use error_chain::error_chain;
pub use file_stamp::FileStamp;
pub use private_dir::PrivateDir;
