//! One call of one policy: circuit, deadline, and a check of what comes back.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    Annotation, Ask, Clock, Fault, FaultKind, Limits, MAX_REASON_BYTES, MAX_SCORE, Member, Observer, OnError, Outcome,
    Preemption, Verb, Verdict, View, annotation,
};

use super::DecideError;

/// A request has at most this much time, whatever the operator says, so that its deadline can be told.
const LONGEST_REQUEST: Duration = Duration::from_hours(24);

/// Calls policies within the time of one request.
pub(crate) struct Caller {
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    deadline: Instant,
    request_timeout: Duration,
}

/// An answer about one node or candidate.
pub(super) trait Answer {
    /// Why the answer breaks the contract.
    fn breach(&self) -> Option<String>;
    /// Whether it turns the node or candidate down.
    fn rejects(&self) -> bool;
}

// === impl Caller ===

impl Caller {
    /// Calls for a request that came in at this moment and has this much time.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        received: Instant,
        request_timeout: Duration,
    ) -> Self {
        let request_timeout = request_timeout.min(LONGEST_REQUEST);
        Self { clock, observer, deadline: received + request_timeout, request_timeout }
    }

    /// When the request's time is over.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the request's time is over.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.clock.now() >= self.deadline
    }

    /// How much time is left of the request.
    pub(crate) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(self.clock.now())
    }

    /// Asks a policy about each of the view's nodes or candidates.
    ///
    /// Every answer is within the contract, and there is one for each; anything else is a fault.
    pub(super) fn call<A: Answer>(
        &self,
        member: &Member,
        verb: Verb,
        view: View,
        ask: impl FnOnce(&Ask, &[u32]) -> Result<Vec<A>, Fault>,
    ) -> Result<Vec<A>, Fault> {
        let started = self.clock.now();
        let asked = view.node_count();
        let result = self.bounded(member, view, started, ask).and_then(|answers| check(answers, asked));
        let elapsed = self.clock.now().saturating_duration_since(started);
        match &result {
            Ok(answers) => {
                member.circuit.succeeded();
                let rejected = answers.iter().filter(|answer| answer.rejects()).count();
                self.observer.called(member, verb, Outcome::Answered { asked, rejected }, elapsed);
            }
            Err(fault) => {
                self.observer.called(member, verb, Outcome::Fault(fault), elapsed);
                if self.is_to_blame(member, fault, started) && member.circuit.failed(self.clock.now()) {
                    self.observer.circuit_opened(member);
                }
            }
        }
        result
    }

    /// As [`Caller::call`]; none where the policy's faults leave it out of the decision.
    pub(super) fn call_or_skip<A: Answer>(
        &self,
        member: &Member,
        verb: Verb,
        view: View,
        ask: impl FnOnce(&Ask, &[u32]) -> Result<Vec<A>, Fault>,
    ) -> Result<Option<Vec<A>>, DecideError> {
        match self.call(member, verb, view, ask) {
            Ok(answers) => Ok(Some(answers)),
            Err(_) if member.config.on_error(verb) == OnError::Ignore => Ok(None),
            Err(fault) => Err(DecideError::Policy { policy: member.id(), verb, fault }),
        }
    }

    /// Whether a fault counts for the policy's circuit: not if others had left it less than half of its time.
    fn is_to_blame(&self, member: &Member, fault: &Fault, started: Instant) -> bool {
        let had = self.deadline.saturating_duration_since(started);
        match fault.kind {
            FaultKind::CircuitOpen => false,
            FaultKind::Timeout => had >= member.config.timeout.min(self.request_timeout) / 2,
            _ => true,
        }
    }

    fn bounded<A>(
        &self,
        member: &Member,
        view: View,
        started: Instant,
        ask: impl FnOnce(&Ask, &[u32]) -> Result<Vec<A>, Fault>,
    ) -> Result<Vec<A>, Fault> {
        if member.circuit.is_open(started) {
            return Err(Fault::new(FaultKind::CircuitOpen, "too many faults in a row; it is asked again within 10 s"));
        }
        if started >= self.deadline {
            return Err(Fault::new(FaultKind::Timeout, "no time was left of the request"));
        }
        // A timeout beyond what the clock can tell is no bound of its own.
        let own = started.checked_add(member.config.timeout).unwrap_or(self.deadline);
        let limits = Limits { deadline: own.min(self.deadline), memory: member.config.memory };
        let nodes: Vec<u32> = (0..view.node_count() as u32).collect();
        let view = Arc::new(view.with_settings(Arc::clone(&member.settings)));
        let question = Ask { policy: Arc::clone(&member.name), view, limits };
        catch_unwind(AssertUnwindSafe(|| ask(&question, &nodes)))
            .unwrap_or_else(|panic| Err(Fault::new(FaultKind::Host, panic_text(panic.as_ref()))))
    }
}

fn check<A: Answer>(answers: Vec<A>, asked: usize) -> Result<Vec<A>, Fault> {
    let breach = |detail| Err(Fault::new(FaultKind::Output, detail));
    if answers.len() != asked {
        return breach(format!("{} answers for {asked} nodes", answers.len()));
    }
    match answers.iter().find_map(Answer::breach) {
        Some(detail) => breach(detail),
        None => Ok(answers),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}

fn reason_breach(reason: &str) -> Option<String> {
    let length = reason.len();
    (length > MAX_REASON_BYTES).then(|| format!("a reason of {length} bytes; at most {MAX_REASON_BYTES} are allowed"))
}

impl Answer for Verdict {
    fn breach(&self) -> Option<String> {
        match self {
            Self::Fits => None,
            Self::Unschedulable(reason) | Self::Unresolvable(reason) => reason_breach(reason),
        }
    }

    fn rejects(&self) -> bool {
        *self != Self::Fits
    }
}

impl Answer for u32 {
    fn breach(&self) -> Option<String> {
        (*self > MAX_SCORE).then(|| format!("a score of {self}; at most {MAX_SCORE} is allowed"))
    }

    fn rejects(&self) -> bool {
        false
    }
}

impl Answer for Result<Vec<Annotation>, String> {
    fn breach(&self) -> Option<String> {
        match self {
            Ok(annotations) => annotation::breach(annotations),
            Err(reason) => reason_breach(reason),
        }
    }

    fn rejects(&self) -> bool {
        self.is_err()
    }
}

impl Answer for Preemption {
    fn breach(&self) -> Option<String> {
        match self {
            Self::Keep => None,
            Self::Reject(reason) => reason_breach(reason),
            Self::Replace(victims) => victims.is_empty().then(|| "a replacement without victims".to_owned()),
        }
    }

    fn rejects(&self) -> bool {
        matches!(self, Self::Reject(_))
    }
}
