//! The watched directory: policies and sidecars become a roster.
//!
//! ```text
//!  directory ──> Scan ──> Settling ──> Table ──> Update { roster, changes }
//!             (stamps)  (what is quiet?)  │  ▲ keeps the last good
//!                                 Order   ▼  │  Outcome
//!                                        Crew ──> Loader (port: compiles)
//! ```
//!
//! A policy is loaded as a whole or not at all: while its files are bad, the version that was loaded
//! last goes on answering. One thread looks, decides and publishes; a few others read and load, so that
//! a policy that takes long holds up no other. None of it runs on a request's thread.

mod config;
mod entry;
mod error;
mod first;
mod last_good;
mod load;
mod past_versions;
mod retry;
mod scan;
mod settling;
mod sidecar;
mod source;
mod stamp;
mod stand_in;
mod table;
mod update;
mod vanished;
mod watch;
mod watcher;
mod worker_pool;

pub use config::DirectoryConfig;
pub use error::DirectoryError;
pub use load::{load_one, module_of};
pub use sidecar::sidecar_schema;
pub use update::{PolicyChange, RosterUpdate};
pub use watch::{Directory, DirectoryWatch};
