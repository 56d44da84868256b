//! Combines the answers of many policies into one reply.

mod additions;
mod bind;
mod bind_calls;
mod cache_limit;
mod call;
mod circuit;
mod context;
mod explain;
mod feasible;
mod filter;
mod lookup;
mod node_cache;
mod observer;
mod preempt;
mod prioritize;
mod query;
mod roster;
mod scale;
mod survey;
mod trial;
mod unbound;

pub use bind_calls::{BIND_CALL_WAIT, BindCallWait};
pub use cache_limit::CacheLimit;
pub use circuit::{Circuit, FAULTS_TO_OPEN, OPEN_TIME};
pub use explain::{DryBind, Explained, Explanation, read_for};
pub use filter::{FilterOutcome, Rejection};
pub use node_cache::KnownNodes;
pub use observer::{BindReport, CallOf, NoObserver, Observer, Outcome, ShadowRejections};
pub use preempt::{PreemptOutcome, SurvivingCandidate};
pub use prioritize::PrioritizeOutcome;
pub use query::{CandidateQuery, DecideError, NodeObject, Nodes, Query, Victims};
pub use roster::{Failure, Group, Member, PolicyState, Roster};
pub use scale::{ScoreScale, TieBreak};
pub use survey::{Survey, SurveyColumn};
pub use trial::{TRIAL_TIMEOUT, TrialCall, TrialFault};
pub use unbound::{BindOutcome, Unbound};

pub(crate) use bind::{BindQueue, Done, bind, shadow_bind};
pub(crate) use bind_calls::BindCalls;
pub(crate) use call::Caller;
pub(crate) use context::RequestContext;
pub(crate) use explain::explain;
pub(crate) use filter::filter;
pub(crate) use node_cache::NodeCache;
pub(crate) use preempt::{preempt, shadow_preempt};
pub(crate) use prioritize::prioritize;
pub(crate) use survey::{shadow, survey};

#[cfg(test)]
mod tests;
