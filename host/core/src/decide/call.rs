//! One call of one policy: circuit, deadline, and a check of what comes back.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    Ask, Blocking, CallClass, CallOf, Clock, Fault, FaultKind, Limits, Member, Observer, OnError, Origin, Outcome, Pod,
    RequestId, Secrets, Verb, View,
    answer::Answer,
    cache::{Draw, Recheck},
};

use super::{
    DecideError,
    cores::{pieces, split},
};

/// A request has at most this much time, whatever the operator says, so that its deadline can be told.
const LONGEST_REQUEST: Duration = Duration::from_hours(24);

/// Calls policies within the time of one request.
pub(crate) struct Caller {
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    /// For log lines.
    request: RequestId,
    deadline: Instant,
    request_timeout: Duration,
    class: CallClass,
    blocking: Blocking,
    /// What the calls have taught, to be learned when the reply is out.
    lessons: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    /// None where nothing that is remembered is asked again.
    again: Option<Draw>,
}

// === impl Caller ===

impl Caller {
    /// Calls for the request of this thread, which came in at this moment and has this much time.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        received: Instant,
        request_timeout: Duration,
    ) -> Self {
        let request_timeout = request_timeout.min(LONGEST_REQUEST);
        Self {
            clock,
            observer,
            request: RequestId::current(),
            deadline: received + request_timeout,
            request_timeout,
            class: CallClass::Decision,
            blocking: Blocking::default(),
            lessons: Mutex::default(),
            again: None,
        }
    }

    /// The same, and remembered answers are asked again now and then.
    pub(crate) fn with_recheck(self, recheck: &Arc<Recheck>) -> Self {
        Self { again: Some(Draw::of(recheck)), ..self }
    }

    /// The same; what may take long is run in this way.
    pub(crate) fn with_blocking(self, blocking: Blocking) -> Self {
        Self { blocking, ..self }
    }

    /// The same for calls that no decision waits for.
    pub(crate) fn in_background(self) -> Self {
        Self { class: CallClass::Background, ..self }
    }

    pub(super) fn observer(&self) -> &dyn Observer {
        self.observer.as_ref()
    }

    pub(super) fn blocking(&self) -> Blocking {
        self.blocking
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Draws what is asked again.
    pub(super) fn again(&self) -> Option<&Draw> {
        self.again.as_ref()
    }

    /// A caller for work behind the reply, whose time starts when it is made.
    pub(super) fn behind_the_reply(&self) -> impl FnOnce() -> Self + Send + 'static {
        let (clock, observer, timeout) = (Arc::clone(&self.clock), Arc::clone(&self.observer), self.request_timeout);
        let request = self.request.clone();
        move || {
            let started = clock.now();
            Self { request, ..Self::new(clock, observer, started, timeout) }.in_background()
        }
    }

    /// Leaves work for when the reply is out.
    pub(super) fn leave(&self, work: impl FnOnce() + Send + 'static) {
        self.lessons.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(work));
    }

    /// What the calls so far have taught: it is learned by calling each.
    pub(crate) fn take_lessons(&self) -> Vec<Box<dyn FnOnce() + Send>> {
        std::mem::take(&mut *self.lessons.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is to be asked again, if anything is: it is asked by calling it.
    pub(crate) fn take_recheck(&self) -> Option<Box<dyn FnOnce() + Send>> {
        let clock = Arc::clone(&self.clock);
        self.again.as_ref()?.take(move || clock.now())
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
    pub(super) fn call<A: Answer + Send>(
        &self,
        member: &Member,
        verb: Verb,
        view: View,
        ask: impl Fn(&Ask, &[u32]) -> Result<Vec<A>, Fault> + Sync,
    ) -> Result<Vec<A>, Fault> {
        let started = self.clock.now();
        let asked = view.node_count();
        let nodes: Vec<u32> = (0..asked as u32).collect();
        let view = Arc::new(view.with_settings(Arc::clone(&member.settings)));
        let pod = Arc::clone(view.shared_pod());
        // Each piece is put to an instance of its own, so only answers about single nodes can be cut.
        let pace = &member.cache.pace;
        let cut = if matches!(verb, Verb::Filter | Verb::Score) { pieces(pace.last(verb)) } else { 1 };
        let begun = self.now();
        let result = self.bounded(member, verb, view, begun, |question| {
            split(self.blocking, &nodes, cut, |nodes| ask(question, nodes))
        });
        let result = result.and_then(|answers| check(answers, asked));
        let rejected = |answers: &Vec<A>| answers.iter().filter(|answer| answer.rejects()).count();
        let told = result.as_ref().map(|answers| (asked, rejected(answers), asked));
        let elapsed = self.tell(&pod, member, verb, (started, begun), told);
        pace.set(verb, elapsed * cut as u32);
        result
    }

    /// Tells the observer and the circuit: of how many nodes, how many were turned down, and how many were put to
    /// the guest; how long it took. The host's own work came first, the guest was asked from `begun` on.
    pub(super) fn tell(
        &self,
        pod: &Pod,
        member: &Member,
        verb: Verb,
        (started, begun): (Instant, Instant),
        result: Result<(usize, usize, usize), &Fault>,
    ) -> Duration {
        let elapsed = self.clock.now().saturating_duration_since(started);
        match result {
            Ok((asked, rejected, evaluated)) => {
                // An answer that was remembered says nothing about the guest's health.
                if evaluated > 0 {
                    member.circuit.succeeded();
                }
                self.observer.called(member, verb, Outcome::Answered { asked, rejected, evaluated }, elapsed);
            }
            Err(fault) => {
                self.observer.called(member, verb, Outcome::Fault(fault), elapsed);
                self.observer.failed(self.call_of(pod, member, verb), fault);
                if self.is_to_blame(member, fault, begun) && member.circuit.failed(self.clock.now()) {
                    self.observer.circuit_opened(member);
                }
            }
        }
        elapsed
    }

    /// A call as the observer may log it.
    pub(super) fn call_of<'c>(&'c self, pod: &'c Pod, member: &'c Member, verb: Verb) -> CallOf<'c> {
        CallOf { request: &self.request, pod, member, verb }
    }

    /// Tells the observer that every answer was remembered: of how many nodes, how many were turned down.
    pub(super) fn tell_remembered(
        &self,
        member: &Member,
        verb: Verb,
        (asked, rejected): (usize, usize),
        took: Duration,
    ) {
        self.observer.called(member, verb, Outcome::Answered { asked, rejected, evaluated: 0 }, took);
        member.cache.pace.set(verb, took);
    }

    /// As [`Caller::call`]; none where the policy's faults leave it out of the decision.
    pub(super) fn call_or_skip<A: Answer + Send>(
        &self,
        member: &Member,
        verb: Verb,
        view: View,
        ask: impl Fn(&Ask, &[u32]) -> Result<Vec<A>, Fault> + Sync,
    ) -> Result<Option<Vec<A>>, DecideError> {
        or_skip(member, verb, self.call(member, verb, view, ask))
    }

    /// Whether a fault counts for the policy's circuit: not if others had left it no room, or less than half of its
    /// time.
    fn is_to_blame(&self, member: &Member, fault: &Fault, begun: Instant) -> bool {
        let had = self.deadline.saturating_duration_since(begun);
        match fault.kind {
            FaultKind::CircuitOpen | FaultKind::NotLoaded | FaultKind::Busy => false,
            FaultKind::Timeout => had >= member.config.timeout.min(self.request_timeout) / 2,
            _ => true,
        }
    }

    /// Asks, unless the circuit is open or the request's time is over; the guest's own time begins no earlier.
    pub(super) fn bounded<A>(
        &self,
        member: &Member,
        verb: Verb,
        view: Arc<View>,
        begun: Instant,
        ask: impl FnOnce(&Ask) -> Result<A, Fault>,
    ) -> Result<A, Fault> {
        if member.circuit.is_open(begun) {
            return Err(Fault::new(FaultKind::CircuitOpen, "too many faults in a row; it is asked again within 10 s"));
        }
        if begun >= self.deadline {
            return Err(Fault::new(FaultKind::Timeout, "no time was left of the request"));
        }
        let limits = Limits { deadline: self.deadline, timeout: member.config.timeout, memory: member.config.memory };
        let (request, mode) = (self.request.clone(), member.config.mode);
        let origin = Origin { request, version: member.version, mode, verb: Some(verb) };
        let question = Ask { policy: Arc::clone(&member.id), view, limits, class: self.class, origin };
        let result = self
            .blocking
            .run(|| catch_unwind(AssertUnwindSafe(|| ask(&question))))
            .unwrap_or_else(|panic| Err(Fault::new(FaultKind::Host, panic_text(panic.as_ref()))))
            .map_err(|fault| fault.without(&Secrets::of(&member.settings)));
        if let Err(fault) = &result {
            member.circuit.keep_failed(verb, &question.view, fault);
        }
        result
    }
}

pub(super) fn or_skip<A>(member: &Member, verb: Verb, result: Result<A, Fault>) -> Result<Option<A>, DecideError> {
    match result {
        Ok(answers) => Ok(Some(answers)),
        Err(_) if member.config.on_error(verb) == OnError::Ignore => Ok(None),
        Err(fault) => Err(DecideError::Policy { policy: member.id().to_owned(), verb, fault }),
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
