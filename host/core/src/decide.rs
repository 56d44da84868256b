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
mod lookup;
mod model_watch;
mod node_cache;
mod nominations;
mod observer;
mod outcome;
mod places;
mod preempt;
mod prioritize;
mod query;
mod roster;
mod scale;
mod trial;
mod waiting;
mod whole_answer;

pub use bind_calls::{BIND_CALL_WAIT, BindCallWait};
pub use calls::{Calls, LastFault};
pub use circuit::{Circuit, FAULTS_TO_OPEN, OPEN_TIME};
pub use explain::{DryBind, Explained, Explanation, Survey, SurveyColumn, read_for};
pub use model_watch::ModelDifference;
pub use node_cache::KnownNodes;
pub use nominations::NominationPatch;
pub use observer::{BindReport, CallOf, LeftWithoutNode, NoObserver, Observer, Outcome, ShadowRejections};
pub use outcome::{FilterOutcome, Reason, RejectedBy, Rejection};
pub use preempt::{PreemptOutcome, SurvivingCandidate};
pub use query::{BindOutcome, CandidateQuery, DecideError, NodeObject, Nodes, Query, Unbound, Victims};
pub use roster::{Failure, Group, Member, PolicyState, Roster};
pub use scale::{ScoreScale, TieBreak};
pub use trial::{TRIAL_TIMEOUT, TrialCall, TrialFault};
pub use waiting::{
    AskedAbout, MainReason, PendingFault, PendingPod, ReasonBy, ReasonCount, RejectedNodes, ScheduledCondition,
};

pub(crate) use bind::{BindQueue, Bound, bind, shadow_bind};
pub(crate) use bind_calls::BindCalls;
pub(crate) use call::Caller;
pub(crate) use context::RequestContext;
pub(crate) use explain::{explain, shadow, survey};
pub(crate) use filter::filter;
pub(crate) use model_watch::{ModelVerdict, ModelWatch};
pub(crate) use node_cache::NodeCache;
pub(crate) use nominations::{LONGEST_NOMINATION, NominationNews, Nominations, place_of};
pub(crate) use places::{
    EarlyPod, MAX_LIFETIME, PLACES_OF_EARLIER_LEADER, PODS_OF_EARLIER_LEADER, TentativePlaces, best_of, early_pod,
    keep_best, place_mode,
};
pub(crate) use preempt::{preempt, shadow_preempt};
pub(crate) use prioritize::prioritize;
pub(crate) use waiting::{DuePod, Pass, Refusal, Said, WaitingPods};
pub(crate) use whole_answer::{FreeNodes, MAX_NAMED, MIN_SAMPLE, complete, filter_all, unite};

#[cfg(test)]
mod tests;
