//! The watched directory: policies and sidecars become a roster.
//!
//! ```text
//!  directory ──> Scan ──> Settling ──> PolicyTable ──> RosterUpdate { roster, changes }
//!             (stamps)  (debouncing)      │  ▲ keeps the last good
//!                                   Job   ▼  │  JobOutcome
//!                                      WorkerPool ──> Loader (port: compiles)
//! ```
//!
//! A policy is loaded as a whole or not at all: while its files are bad, the last good version keeps answering. One
//! thread scans, decides and publishes; a pool of threads reads, loads and calls policies, so that a slow policy does not
//! delay others.
//! None of this runs on a request's thread.

mod change_watch;
mod config;
mod entry;
mod error;
mod fact_pool;
mod initial_sidecars;
mod known_modules;
mod last_good;
mod listing;
mod load;
mod past_versions;
mod refusal;
mod retry;
mod rollback_check;
mod scan;
mod settling;
mod sidecar;
mod source;
mod stand_in;
mod table;
mod update;
mod vanished;
mod watch;
mod watcher;
mod worker_pool;

pub use change_watch::ChangeWatch;
pub use config::DirectoryConfig;
pub use error::DirectoryError;
pub use fact_pool::FactPool;
pub use listing::{ListedPolicy, PolicyFiles, list_policies, policy_files};
pub use load::{load_one, module_at};
pub use scan::ignored_files;
pub use sidecar::sidecar_schema;
pub use update::{PolicyChange, RosterUpdate};
pub use watch::{Directory, DirectoryWatch};
