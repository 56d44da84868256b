//! The source of nodes and pods, the API server or snapshot files; and the target of Bindings.
//!
//! ```text
//!  API server ──> list and watch ──> Store ──┐
//!                                            ├──> Node, Pod ──> Cluster
//!  file ──> documents ───────────────────────┘
//!  (JSON or YAML, as kubectl writes it)
//! ```
//!
//! A [`ClusterWatch`] follows the API server and publishes a new cluster after each change. A snapshot file has the
//! output of `kubectl get nodes,pods -A -o json`; it is read as a whole and replaces the cluster before it as a
//! whole; while a new file is bad, the last good cluster stays.
//!
//! Of several gateways on one API server the holder of a Lease binds ([`Leadership`], [`ApiBinder`]).

mod api;
mod api_watch;
mod binder;
mod clock;
mod document;
mod lease;
mod once;
#[cfg(test)]
mod simulation;
mod snapshot;
mod snapshot_watch;
mod term;

pub use api::{ApiServer, ConnectError, Credentials, NominateError};
pub use api_watch::{ClusterWatch, ResourceStatus, WatchStatus};
pub use binder::ApiBinder;
pub use lease::{Leadership, LeadershipState, LeaseConfig, URL_ANNOTATION};
pub use once::{list_once, list_waiting};
pub use snapshot::{
    RawObjects, SnapshotError, read_facts, read_objects, read_pod, read_pod_as_json, read_snapshot,
    read_snapshot_and_waiting,
};
pub use snapshot_watch::{SnapshotWatch, watch_snapshot};
pub use term::{LeaseTimings, Term};
