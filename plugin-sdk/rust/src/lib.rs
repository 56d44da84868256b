//! Write a plimsoll policy in Rust.
//!
//! ```text
//!  settings ──> your type ── impl Filter, Score, Rank, Preempt, Bind ──> export!
//!                  │ reads
//!                  └──> Pod, Node, Nodes, Placed, Candidate, Cluster, Facts ──> the host (or, in `cargo test`, its model)
//! ```
//!
//! A policy is a type whose fields are its settings. It implements the traits of the verbs that it has,
//! and [`export!`] makes the crate a policy:
//!
//! ```
//! use plimsoll_policy::prelude::*;
//!
//! /// Rejects nodes that lack the label a pod asks for.
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct NeedsLabel { annotation: String }
//!
//! impl Filter for NeedsLabel {
//!     fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
//!         match pod.annotation(&self.annotation) {
//!             Some(key) if node.label(key).is_none() => Verdict::unresolvable("node lacks the label that the pod needs"),
//!             _ => Verdict::Fits,
//!         }
//!     }
//! }
//!
//! export!(NeedsLabel: filter);
//! ```
//!
//! A verb is a function of its reads: the host remembers its answers by the values that were read, may ask any
//! instance, and makes a fresh one whenever it likes. So a policy value is shared and never changes (`&self`, and the
//! type is `Sync`). State that must be remembered belongs into the cluster, as annotations that [`Bind`] returns.
//!
//! Settings that do not fit are refused as the policy loads, with the field and the expected value ([`JsonError`]);
//! [`Validate`] adds checks beyond types. No settings count as `{}`. A panic ends the call as a fault with its
//! text. [`testing`] runs the same source natively.

#[cfg(target_family = "wasm")]
mod abi;
mod answer;
mod export;
mod host_calls;
#[cfg(target_family = "wasm")]
mod instance;
mod json;
mod level;
pub mod log;
#[cfg(not(target_family = "wasm"))]
mod native;
mod quantity;
mod settings;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod values;
mod verbs;
mod view;

pub use answer::{BindMetadata, MetadataEntry, NotBound, Preemption, Verdict};
pub use host_calls::now;
pub use json::JsonError;
pub use quantity::{Quantity, parse_quantity};
pub use values::{Groups, LabelCount, Owner, Selector, Taint};
pub use verbs::{Bind, Filter, Preempt, Rank, Score, Validate};
pub use view::{Candidate, Candidates, Cluster, Facts, Node, Nodes, Placed, Pod};

/// The parts of [`export!`].
#[doc(hidden)]
pub mod __private {
    pub use crate::export::{Exported, Table};
    #[cfg(target_family = "wasm")]
    pub use crate::{
        abi::{BindReply, List, Reply, panic, realloc},
        instance::Instance,
    };
}

/// Everything that a policy usually needs: `use plimsoll_policy::prelude::*;`.
pub mod prelude {
    pub use serde::Deserialize;

    pub use crate::{
        Bind, BindMetadata, Candidate, Candidates, Cluster, Facts, Filter, MetadataEntry, Node, Nodes, NotBound, Owner,
        Placed, Pod, Preempt, Preemption, Quantity, Rank, Score, Selector, Taint, Validate, Verdict, export, log, now,
        parse_quantity,
    };
}
