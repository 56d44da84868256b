//! Decisions: the policies that a pod matches, the reads that they may make, and the combination of their answers.
//!
//! ```text
//!  Query ──> Gateway ──> Roster (which policies match?) ──> Policy (port: a guest answers)
//!               │                                              │ reads
//!               └── Cluster, Pod ──> View <────────────────────┘
//! ```
//!
//! This crate does no I/O and knows neither HTTP, WebAssembly, the file system nor Kubernetes'
//! client. It defines the ports ([`Policy`], [`Loader`], [`Binder`], [`Clock`], [`Observer`]) that the crates
//! around it implement. Everything that a policy can learn goes through [`View::read`].

mod cache;
mod decide;
mod gateway;
mod model;

pub use cache::*;
pub use decide::*;
pub use gateway::*;
pub use model::*;
