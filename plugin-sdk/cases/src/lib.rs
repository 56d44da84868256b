//! Test cases of policies: a cluster in YAML, and the answers that are expected.
//!
//! ```text
//!  cases/*.yaml ──> Case ──> World ──> View ──> Policy (port: native or compiled)
//!                     └────> Expectations <────────┘ Difference
//! ```
//!
//! The Rust SDK runs them natively, `plimsoll test` against any module. A case file is not trusted: its size, depth and
//! number of values have limits, and each call has those of the policy.

mod call_error;
mod caller;
mod case;
mod compare;
mod emit;
mod expect;
mod object;
mod record;
mod reduce;
mod run;
mod scalar;
mod world;

pub use caller::CallLimits;
pub use case::{Case, CaseError, WRONG_CASE, cases};
pub use compare::Explained;
pub use expect::{Difference, Expectations, ExpectedBinding, ExpectedPreemption, ExpectedVerdict};
pub use record::{Cut, CutError};
pub use world::{ProposedVictims, World, WorldError};
