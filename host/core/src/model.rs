//! What policies are asked about and what they can read: objects, snapshots of the cluster, views, and the ports that
//! the crates around this one implement. It imports no other layer.

mod annotation;
pub(crate) mod answer;
mod attributes;
mod binder;
mod blocking;
mod clock;
pub(crate) mod cluster;
mod config;
pub(crate) mod facts;
mod fault;
mod kube_scheduler;
mod loader;
mod matching;
mod names;
pub(crate) mod node_order;
mod object;
mod placed;
mod places;
pub(crate) mod policy;
mod quantity;
mod read;
mod real;
mod request;
mod selector;
pub(crate) mod slots;
mod stamp;
pub(crate) mod tally;
mod text;
mod verb;
mod view;
mod waiting;
mod words;

pub use annotation::{Additions, BindMetadata, MAX_ANNOTATION_BYTES, MAX_ENTRIES, MetadataEntry};
pub use answer::{
    BindAnswer, MAX_REASON_BYTES, MAX_REASONS_BYTES, MAX_SCORE, NotBound, Preemption, SurveyAnswer, VerbAnswer,
    Verdict, check as check_answers,
};
pub use attributes::ReadLine;
pub(crate) use attributes::{Attribute, Columns, FACTS, NODE, PODS, Recording};
pub use binder::{BindError, BindQuery, Binder, Binding, IsUnchanged, Leader, NotReserved, Reservation};
pub use blocking::Blocking;
pub use clock::{Clock, SystemClock};
pub use cluster::{Cluster, Namespaces, Reserved};
pub use config::{Mode, OnError, PROGRAM_VERBS, PlaceMode, PolicyConfig};
pub use facts::{
    AbsentFacts, FactAccess, FactSource, FactValue, Facts, MAX_FACT_KEY_BYTES, MAX_FACT_TEXT_BYTES, MAX_FACTS,
    MAX_SOURCE_BYTES, MAX_TOTAL_FACT_BYTES, MAX_TOTAL_FACTS, SidecarFacts, check_source_name,
};
pub use fault::{Fault, FaultKind};
pub use kube_scheduler::{SchedulerFilters, SchedulerRejection};
pub use loader::{LoadError, Loader, Module};
pub use matching::Match;
pub use names::Names;
pub(crate) use object::{AffinityTerm, AntiAffinity, LabelSelector, Required, parse};
pub use object::{
    BoundClaims, Claim, DeviceClass, DeviceClasses, Entries, HostPort, ImageName, KnownKeys, MAX_KEPT_ANNOTATION_BYTES,
    Namespace, Node, Nomination, ObjectError, Operator, Owner, Phase, Pod, Pool, Quantities, Requirement, Taint,
    set_defaults,
};
pub use placed::{Placed, Unlisted, UnlistedNode, placed_order};
pub use places::Places;
pub use policy::{Ask, CallClass, InterpretedPolicy, Limits, NodeSource, Policy, Program};
pub use quantity::{QuantityError, parse_quantity};
pub use read::{CandidateRead, Grouping, NodeRead, PlacedRead, PodRead, Read, ReadError, ReadSet, Shown, Value};
pub use real::Real;
pub use request::{Origin, PodId, RequestId};
pub use selector::Selector;
pub use slots::{Slot, Slots};
pub use tally::{LabelValues, MAX_LABEL_VALUES};
pub use text::{bounded, escaped, excerpt, is_unprintable, one_line, quotable};
pub use verb::{Verb, Verbs};
pub(crate) use view::ViewSource;
pub use view::{Candidate, ShapeLimit, View};
pub use waiting::{FIELD_MANAGER, NominatedFor, WaitingChange, WaitingPod};
