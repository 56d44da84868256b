//! Where nodes and pods come from: the API server, or snapshot files.
//!
//! ```text
//!  API server ──> list and watch ──> Store ──┐
//!                                            ├──> Node, Pod ──> Cluster
//!  file ──> documents ───────────────────────┘
//!  (JSON or YAML, as kubectl writes it)
//! ```
//!
//! A [`ClusterWatch`] follows the API server and publishes one cluster after another. A snapshot is what
//! `kubectl get nodes,pods -A -o json` prints; it is read as a whole and replaces the picture before it as a
//! whole; while a new file is bad, the last good picture stays.

mod api;
mod document;
mod error;
mod live;
mod snapshot;
mod watch;

pub use api::{ApiServer, ConnectError};
pub use document::DocumentError;
pub use error::SnapshotError;
pub use live::{ClusterWatch, ResourceStatus, WatchStatus, list_once};
pub use snapshot::{read_pod, read_snapshot};
pub use watch::{SnapshotWatch, watch_snapshot};
