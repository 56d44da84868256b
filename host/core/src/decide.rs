//! Combines the answers of many policies into one reply.

mod additions;
mod bind;
mod call;
mod context;
mod explain;
mod feasible;
mod filter;
mod lookup;
mod preempt;
mod prioritize;
mod query;
mod scale;
mod survey;
mod unbound;

pub use explain::{DryBind, Explained, Explanation, read_for};
pub use filter::{FilterOutcome, Rejection};
pub use preempt::{PreemptOutcome, SurvivingCandidate};
pub use prioritize::PrioritizeOutcome;
pub use query::{CandidateQuery, DecideError, NodeObject, Nodes, Query, Victims};
pub use scale::{ScoreScale, TieBreak};
pub use survey::{Survey, SurveyColumn};
pub use unbound::{BindOutcome, Unbound};

pub(crate) use bind::{BindLocks, Done, bind, shadow_bind};
pub(crate) use call::Caller;
pub(crate) use context::RequestContext;
pub(crate) use explain::explain;
pub(crate) use filter::filter;
pub(crate) use preempt::{preempt, shadow_preempt};
pub(crate) use prioritize::prioritize;
pub(crate) use survey::{shadow, survey};

#[cfg(test)]
mod tests;
