//! The watched directory: policies and sidecars become a roster.
//!
//! ```text
//!  directory ──> Scan ──> Settling ──> Table ──> Update { roster, changes }
//!             (stamps)  (what is quiet?)  │ reads, checks, keeps the last good
//!                                         └──> Loader (port: compiles)
//! ```
//!
//! A policy is loaded as a whole or not at all: while its files are bad, the version that was loaded
//! last goes on answering. Everything here runs on one thread of its own, never on a request's.

mod config;
mod error;
mod load;
mod scan;
mod settling;
mod sidecar;
mod source;
mod stamp;
mod table;
mod update;
mod watch;
mod watcher;

pub use config::DirectoryConfig;
pub use error::DirectoryError;
pub use load::{load_one, module_of};
pub use sidecar::sidecar_schema;
pub use update::{Change, Update};
pub use watch::{Directory, Watching};
