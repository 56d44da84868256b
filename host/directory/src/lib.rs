//! The watched directory: policies and sidecars become a roster.
//!
//! ```text
//!  directory ──> Scan ──> Settling ──> PolicyTable ──> RosterUpdate { roster, changes }
//!             (stamps)  (what is quiet?)  │  ▲ keeps the last good
//!                               LoadJob   ▼  │  LoadOutcome
//!                                      WorkerPool ──> Loader (port: compiles)
//! ```
//!
//! A policy is loaded as a whole or not at all: while its files are bad, the last good version keeps answering. One
//! thread scans, decides and publishes; a pool of threads reads and loads, so that a slow policy does not delay others.
//! None of this runs on a request's thread.

mod config;
mod entry;
mod error;
mod first;
mod known_modules;
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
pub use load::{load_one, module_bytes, module_of};
pub use sidecar::sidecar_schema;
pub use update::{PolicyChange, RosterUpdate};
pub use watch::{Directory, DirectoryWatch};
