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

mod annotation;
mod announced;
mod answer;
mod bind;
mod bind_calls;
mod blocking;
mod cache;
mod cache_limit;
mod changes;
mod circuit;
mod clock;
mod cluster;
mod config;
mod decide;
mod facts;
mod fault;
mod gateway;
mod key_locks;
mod loader;
mod matching;
mod names;
mod node_cache;
mod node_order;
mod object;
mod observer;
mod placed;
mod policy;
mod quantity;
mod read;
mod real;
mod request;
mod roster;
mod selector;
mod sender;
mod slots;
mod stamp;
mod tally;
mod text;
mod trial;
mod verb;
mod view;
mod whole_cluster;
mod words;

pub use annotation::{Additions, Annotation, BindMetadata, Label, MAX_ANNOTATION_BYTES, MAX_ANNOTATIONS, MAX_LABELS};
pub use answer::{
    BindAnswer, DistinctReasons, MAX_REASON_BYTES, MAX_REASONS_BYTES, MAX_SCORE, NotBound, Preemption, SurveyAnswer,
    VerbAnswer, Verdict, check as check_answers,
};
pub use bind::{BindError, BindQuery, Binder, Binding, IsUnchanged, Leader, NotReserved, Reservation};
pub use bind_calls::{BIND_CALL_WAIT, BindCallWait};
pub use blocking::Blocking;
pub use cache::{Condition, DecisionCache, DecisionRow, DecisionTable, Disabled, ReadLine};
pub use cache_limit::CacheLimit;
pub use circuit::{Circuit, FAULTS_TO_OPEN, OPEN_TIME};
pub use clock::{Clock, SystemClock};
pub use cluster::{Cluster, Namespaces, Reserved};
pub use config::{Mode, OnError, PROGRAM_VERBS, PolicyConfig};
pub use decide::{
    BindOutcome, CandidateQuery, DecideError, DryBind, Explained, Explanation, FilterOutcome, NodeObject, Nodes,
    PreemptOutcome, PrioritizeOutcome, Query, Rejection, ScoreScale, Survey, SurveyColumn, SurvivingCandidate,
    TieBreak, Unbound, Victims, read_for,
};
pub use facts::{
    AbsentFacts, CsvError, FactAccess, FactError, FactSource, FactValue, Facts, MAX_FACT_KEY_BYTES,
    MAX_FACT_TEXT_BYTES, MAX_FACTS, MAX_SOURCE_BYTES, MAX_TOTAL_FACT_BYTES, MAX_TOTAL_FACTS, SidecarFacts,
    check_source_name,
};
pub use fault::{Fault, FaultKind};
pub use gateway::{Announcement, Gateway, PostReplyWork};
pub use loader::{LoadError, Loader, Module};
pub use matching::{LabelSelector, Match, Operator, Requirement};
pub use names::Names;
pub use node_cache::KnownNodes;
pub use object::{
    Entries, ImageName, MAX_KEPT_ANNOTATION_BYTES, Namespace, Node, ObjectError, Owner, Phase, Pod, Pool, Quantities,
    Taint,
};
pub use observer::{BindReport, CallOf, NoObserver, Observer, Outcome, ShadowRejections};
pub use placed::{Placed, Unlisted, UnlistedNode, placed_order};
pub use policy::{Ask, CallClass, Limits, NodeSource, Policy, Program};
pub use quantity::{QuantityError, parse_quantity};
pub use read::{CandidateRead, Grouping, NodeRead, PlacedRead, PodRead, Read, ReadError, Shown, Value};
pub use real::Real;
pub use request::{Origin, PodId, RequestId};
pub use roster::{Failure, Group, Member, PolicyState, Roster};
pub use selector::Selector;
pub use sender::Sender;
pub use slots::{Slot, Slots};
pub use tally::{LabelValues, MAX_LABEL_VALUES, ShapeLimit};
pub use text::{bounded, escaped, excerpt, is_unprintable, one_line, quotable};
pub use trial::{TRIAL_TIMEOUT, TrialCall, TrialFault};
pub use verb::{Verb, Verbs};
pub use view::{Candidate, View};
