//! The watched directory: policies and sidecars become a roster.
//!
//! ```text
//!  directory ──> Scan ──> Settling ──> PolicyTable ──> RosterUpdate { roster, changes }
//!             (stamps)               of PolicyEntry
//!                                LoadJob ▼  ▲ LoadOutcome
//!                                  Content ──> Loader (port: compiles)
//! ```
//!
//! A policy is loaded as a whole or not at all: while its files are bad, the last good version keeps answering. One
//! thread (`watch.rs`) scans, decides and publishes; other threads read, load and try policies (`load.rs`). What each
//! policy goes through is two state machines (`states.rs`). None of this runs on a request's thread.

mod cel;
mod config;
mod content;
mod last_good;
mod listing;
mod load;
mod policy;
mod scan;
mod sidecar;
mod source;
mod states;
mod table;
mod update;
mod watch;
mod watcher;

pub use config::{DirectoryConfig, DirectoryError};
pub use listing::{ListedPolicy, PolicyFiles, list_policies, policy_files};
pub use load::{load_one, module_at};
pub use scan::ignored_files;
pub use sidecar::sidecar_schema;
pub use source::Source;
pub use update::{ChangeKind, PolicyChange, RosterUpdate};
pub use watch::{Directory, DirectoryWatch};
