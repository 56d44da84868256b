//! Where nodes and pods come from: snapshot files.
//!
//! ```text
//!  file ──> documents ──> Node, Pod ──> Cluster
//!  (JSON or YAML, as kubectl writes it)
//! ```
//!
//! A snapshot is what `kubectl get nodes,pods -A -o json` prints. It is read as a whole and replaces
//! the picture before it as a whole; while a new file is bad, the last good picture stays.

mod document;
mod error;
mod snapshot;
mod watch;

pub use document::DocumentError;
pub use error::SnapshotError;
pub use snapshot::{read_pod, read_snapshot};
pub use watch::{SnapshotWatch, watch_snapshot};
