//! The conformance suite: one world, one table of cases, and the answers that a policy in any language gives.
//!
//! ```text
//!  world.yaml ────> World ─┐
//!  cases.yaml ────> Case ──┴─> View ──> Policy (port: native or compiled)
//!  answers/*.txt ──> expected <──────────┘ Mismatch
//! ```
//!
//! The policy `conformance` of an SDK says all that it reads as lines of `key=value`, gives every kind of answer, and fails
//! in every way that there is. `plugin-sdk/conformance/spec.md` says what it has to do; [`page`] writes the parts of that page that
//! follow from the data. A policy is not trusted: each call has limits, and texts are shown in part.

mod answer;
mod ask;
mod case;
pub mod page;
mod world;

pub use ask::{Mismatch, Outcome};
pub use case::{Case, Without, cases};
pub use world::world;
