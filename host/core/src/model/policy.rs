//! The port behind which guests live: a [`Policy`] answers within the bounds of an [`Ask`].

mod interpreted;
mod node_source;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use self::node_source::{NodeList, ViewedNodes};
pub use self::{interpreted::InterpretedPolicy, node_source::NodeSource};
use crate::model::{BindAnswer, Fault, FaultKind, Origin, Preemption, ReadSet, Verb, Verbs, Verdict, View};

crate::words! {
    /// Whether a decision waits for the answer of a call, which decides the call's share where there is not enough for
    /// all.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CallClass {
        /// One does.
        Decision = "decision",
        /// None does: shadow mode, explanations, tables, and the calls as a policy is loaded.
        Background = "background",
    }
}

/// The bounds of one call.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The call is over at this moment, whatever the guest does, and however long it had to wait before it began.
    pub deadline: Instant,
    /// The time of the guest itself, from when it begins.
    pub timeout: Duration,
    /// Bytes of linear memory that the guest may have, all its memories together.
    pub memory: usize,
}

/// One call: the policy that is asked, the reads that it may make, and the limits of the call.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The policy's name with its group: for its log lines, and to share permits and memory fairly among policies.
    pub policy: Arc<str>,
    /// Answers every read of the guest.
    pub view: Arc<View>,
    /// Time and memory of this call.
    pub limits: Limits,
    /// Whether a decision waits for the answer.
    pub class: CallClass,
    /// The request or event that the call belongs to, for its log lines.
    pub origin: Origin,
    /// Whether the instance is asked `validate` first: where answers are compared, since any call may get an instance
    /// that was.
    pub after_validate: bool,
}

/// A loaded policy module. Each call runs in a fresh instance and holds nothing from earlier calls.
///
/// Several members of a roster may share one: settings come with the [`View`], bounds with the [`Ask`]. A verb without a
/// method is one that the policy lacks.
pub trait Policy: Send + Sync {
    /// The verbs that it answers.
    fn verbs(&self) -> Verbs;

    /// The reads that it may make; none where they are not known.
    fn reads(&self) -> ReadSet {
        ReadSet::default()
    }

    /// What is allowed, and most likely not what its author wants: it costs much, or looks misspelt.
    fn remarks(&self) -> &[String] {
        &[]
    }

    /// The program behind this policy, if it is one that answers on standard output.
    fn program(&self) -> Option<&dyn Program> {
        None
    }

    /// Asks whether the settings of the view are acceptable; the inner error is the guest's text.
    ///
    /// # Errors
    /// The fault that ended the call.
    fn validate(&self, _: &Ask) -> Result<Result<(), String>, Fault> {
        Err(self.lacks(Verb::Validate))
    }

    /// Asks about one node of the view after another, in one instance. Which one comes next may depend on the answers.
    ///
    /// # Errors
    /// The fault that ended the call; answers that were taken before it stand.
    fn filter_each(&self, _: &Ask, _: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        Err(self.lacks(Verb::Filter))
    }

    /// As [`Policy::filter_each`]; each score is 0 to [`MAX_SCORE`](crate::MAX_SCORE).
    ///
    /// # Errors
    /// As for [`Policy::filter_each`].
    fn score_each(&self, _: &Ask, _: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        Err(self.lacks(Verb::Score))
    }

    /// Scores all the nodes of the view at once.
    ///
    /// # Errors
    /// The fault that ended the call.
    fn rank(&self, _: &Ask) -> Result<Vec<u32>, Fault> {
        Err(self.lacks(Verb::Rank))
    }

    /// As [`Policy::filter_each`], about candidates of the view.
    ///
    /// # Errors
    /// As for [`Policy::filter_each`].
    fn preempt_each(&self, _: &Ask, _: &mut dyn NodeSource<Preemption>) -> Result<(), Fault> {
        Err(self.lacks(Verb::Preempt))
    }

    /// Asks for the metadata that the pod gets once it is bound to the node; the inner error is the guest's reason
    /// why it cannot be bound there any more.
    ///
    /// # Errors
    /// The fault that ended the call.
    fn bind(&self, _: &Ask, _: u32) -> Result<BindAnswer, Fault> {
        Err(self.lacks(Verb::Bind))
    }

    /// The fault of a call of a verb that it has no method for.
    fn lacks(&self, verb: Verb) -> Fault {
        Fault::new(FaultKind::Host, format!("the policy has no verb {verb}"))
    }
}

/// A program that gets the pod and all nodes on standard input, and answers about all of them at once.
///
/// Its module does not say which verbs it answers, so its sidecar does. Each answer depends on all nodes: none is
/// cached.
pub trait Program {
    /// The policy that answers these verbs.
    fn answering(&self, verbs: Verbs) -> Arc<dyn Policy>;
}

// === impl Policy ===

impl dyn Policy + '_ {
    /// Asks about each of these nodes of the view, in order.
    ///
    /// # Errors
    /// The fault that ended the call.
    pub fn filter(&self, ask: &Ask, nodes: &[u32]) -> Result<Vec<Verdict>, Fault> {
        NodeList::collect(nodes, |nodes| self.filter_each(ask, nodes))
    }

    /// As `filter`, of a view in which each node is without the victims there: reads about the whole cluster are
    /// answered without the victims on the node that is asked about.
    ///
    /// # Errors
    /// The fault that ended the call.
    pub(crate) fn filter_without_victims(&self, ask: &Ask, nodes: &[u32]) -> Result<Vec<Verdict>, Fault> {
        let view = Arc::new(View::clone(&ask.view).asked_about_each());
        let ask = Ask { view: Arc::clone(&view), ..ask.clone() };
        NodeList::collect(nodes, |nodes| self.filter_each(&ask, &mut ViewedNodes::new(nodes, &view)))
    }

    /// Scores each of these nodes of the view, in order.
    ///
    /// # Errors
    /// The fault that ended the call.
    pub fn score(&self, ask: &Ask, nodes: &[u32]) -> Result<Vec<u32>, Fault> {
        NodeList::collect(nodes, |nodes| self.score_each(ask, nodes))
    }

    /// Asks about each of these candidates of the view, in order.
    ///
    /// # Errors
    /// The fault that ended the call.
    pub fn preempt(&self, ask: &Ask, candidates: &[u32]) -> Result<Vec<Preemption>, Fault> {
        NodeList::collect(candidates, |candidates| self.preempt_each(ask, candidates))
    }
}

// === impl Ask ===

impl Ask {
    /// A call that belongs to no request, for one who waits for it.
    pub fn new(policy: Arc<str>, view: Arc<View>, limits: Limits) -> Self {
        let (class, origin) = (CallClass::Decision, Origin::default());
        Self { policy, view, limits, class, origin, after_validate: false }
    }
}

// === impl Limits ===

impl Limits {
    /// A call that may take all the time until then.
    pub const fn until(deadline: Instant, memory: usize) -> Self {
        Self { deadline, timeout: Duration::MAX, memory }
    }

    /// When a guest is stopped that began at this moment.
    pub fn end(&self, begun: Instant) -> Instant {
        begun.checked_add(self.timeout).map_or(self.deadline, |own| own.min(self.deadline))
    }
}
