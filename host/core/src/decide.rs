//! Combines the answers of many policies into one reply.

mod additions;
mod bind;
mod bind_calls;
mod call;
mod calls;
mod circuit;
mod context;
mod explain;
mod filter;
mod gangs;
mod lookup;
mod node_cache;
mod observer;
mod preempt;
mod prioritize;
mod query;
mod rejected_pods;
mod roster;
mod scale;
mod trial;

pub use bind_calls::{BIND_CALL_WAIT, BindCallWait};
pub use calls::{Calls, LastFault};
pub use circuit::{Circuit, FAULTS_TO_OPEN, OPEN_TIME};
pub use explain::{DryBind, Explained, Explanation, Survey, SurveyColumn, read_for};
pub use filter::{FilterOutcome, Rejection};
pub use node_cache::KnownNodes;
pub use observer::{BindReport, CallOf, NoObserver, Observer, Outcome, ShadowRejections};
pub use preempt::{PreemptOutcome, SurvivingCandidate};
pub use query::{BindOutcome, CandidateQuery, DecideError, NodeObject, Nodes, Query, Unbound, Victims};
pub use rejected_pods::MIN_SAMPLE;
pub use roster::{Failure, Group, Member, PolicyState, Roster};
pub use scale::{ScoreScale, TieBreak};
pub use trial::{TRIAL_TIMEOUT, TrialCall, TrialFault};

pub(crate) use bind::{BindQueue, Bound, bind, shadow_bind};
pub(crate) use bind_calls::BindCalls;
pub(crate) use call::Caller;
pub(crate) use context::RequestContext;
pub(crate) use explain::{explain, shadow, survey};
pub(crate) use filter::filter;
pub(crate) use gangs::{Gangs, gang_of, keep_best, place_of};
pub(crate) use node_cache::NodeCache;
pub(crate) use observer::BackgroundObserver;
pub(crate) use preempt::{preempt, shadow_preempt};
pub(crate) use prioritize::prioritize;
pub(crate) use rejected_pods::{RejectedPod, RejectedPods};

#[cfg(test)]
mod tests;
