//! Answers remembered by what was read.
//!
//! A policy is a function of its reads: the same values, read in the same order, give the same answer.
//! So the reads of each evaluation are recorded, and kept as a trie whose inner nodes are the next
//! read, whose edges are values and whose leaves are answers. Pods that a policy cannot tell apart
//! are a class, nodes that a list of reads cannot tell apart are a kind: a request looks the answer of
//! each node up in the class's table of kinds, which is worked out from its trie. A guest is asked only
//! about a combination of values that was never seen.
//!
//! ```text
//!  Member ── Traces ── Remembered ──> Class (values of what was read of the pod and the time)
//!                          │            ├── Trie: read ── value ──> read ── value ──> answer
//!                          │            └── Settled: an answer by kind
//!                          └── RecentKinds ──> Kinds: a number for each list of values; by slot the number
//!  Group ── Joints ──> Joint (policies asked together; by slot the number of their kinds)
//!  Cluster ── Columns ──> Column (one read; a key by slot), and since when each slot is as it is
//! ```
//!
//! Nothing is ever invalidated: a value that changes makes the node one of another kind.

mod answers;
mod by_kind;
mod class;
mod classes;
mod column;
mod joint;
mod key;
mod kinds;
mod limit;
mod numbers;
mod path;
mod recheck;
mod recording;
mod remembered;
mod session;
mod since;
mod table;
mod together;
mod trie;

pub use limit::TraceLimit;
pub use recording::ReadLine;
pub use remembered::{Off, Traces};
pub use table::{Condition, DecisionRow, DecisionTable};

pub(crate) use answers::{Answers, Remember};
pub(crate) use by_kind::ByKind;
pub(crate) use column::{Column, Columns};
pub(crate) use joint::{Joint, Joints};
pub(crate) use key::Key;
pub(crate) use path::Path;
pub(crate) use recheck::{Draw, Recheck};
pub(crate) use recording::Recording;
pub(crate) use remembered::Lesson;
pub(crate) use session::{Session, Walked};
pub(crate) use since::Epoch;
pub(crate) use together::keys_of_nodes;

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts uses, so that what was not used for the longest is known.
fn tick() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1);
    NOW.fetch_add(1, Ordering::Relaxed)
}

/// A number that no record had before: two records with one stamp are the same record.
pub(crate) fn stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
