//! One gateway of several binds: the holder of a Lease (`coordination.k8s.io/v1`).
//!
//! ```text
//!  Elector ──> Election (pure: whose is the Lease, by our own clock?)
//!     │ API server            │
//!     v                       v
//!  LeadershipState ──> Term ──> Fenced connections (nothing is written once the term is over)
//! ```
//!
//! Why no two of them write at the same time, and the assumptions behind it, are explained in
//! `docs/decisions/0013-who-binds.md`.

mod config;
mod election;
mod elector;
mod fence;
mod leadership;
mod record;
mod state;
mod term;
mod timings;

pub use config::LeaseConfig;
pub use leadership::Leadership;
pub use record::URL_ANNOTATION;
pub use state::LeadershipState;
pub use term::Term;
pub use timings::LeaseTimings;

pub(crate) use fence::fenced_client;
pub(crate) use record::LeaseRecord;
