//! One call of one policy: circuit, deadline, and a check of the answers.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    decide::{CallOf, Member, Observer, Outcome},
    model::{
        Ask, Blocking, CallClass, Clock, Fault, FaultKind, Limits, OnError, Origin, Pod, RequestId, Verb, View,
        answer::{VerbAnswer, check},
    },
};

use super::DecideError;

/// Calls policies within the time of one request.
pub(crate) struct Caller {
    clock: Arc<dyn Clock>,
    pub(super) observer: Arc<dyn Observer>,
    /// For log lines.
    request: RequestId,
    /// When the request's time is over.
    pub(super) deadline: Instant,
    request_timeout: Duration,
    class: CallClass,
    /// Whether the calls count for the policy's circuit, its calls and the observer: not those that no request asks for.
    has_effects: bool,
    /// The way to run work that may block.
    pub(crate) blocking: Blocking,
    /// Cache inserts to run after the reply.
    deferred: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
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
        Self {
            clock,
            observer,
            request: RequestId::current(),
            deadline: received + request_timeout,
            request_timeout,
            class: CallClass::Decision,
            has_effects: true,
            blocking: Blocking::default(),
            deferred: Mutex::default(),
        }
    }

    /// For calls that no decision waits for.
    pub(crate) fn in_background(self) -> Self {
        Self { class: CallClass::Background, ..self }
    }

    /// For calls that no request asks for. A fault neither opens a circuit nor rolls a version back, and an answer proves
    /// nothing about a version.
    pub(crate) fn without_effects(self) -> Self {
        Self { has_effects: false, ..self.in_background() }
    }

    /// With this end of its time, if that is earlier.
    pub(crate) fn until(self, deadline: Instant) -> Self {
        Self { deadline: self.deadline.min(deadline), ..self }
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Defers work until after the reply.
    pub(super) fn defer(&self, work: impl FnOnce() + Send + 'static) {
        self.deferred.lock().push(Box::new(work));
    }

    /// The deferred cache inserts of the calls so far.
    pub(crate) fn take_deferred(&self) -> Vec<Box<dyn FnOnce() + Send>> {
        std::mem::take(&mut *self.deferred.lock())
    }

    /// The time that is left of the request.
    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(self.clock.now())
    }

    /// Asks a policy about each of the view's nodes or candidates, whatever its cache knows.
    ///
    /// Every answer is within the contract, and there is one for each; anything else is a fault.
    pub(super) fn ask<A: VerbAnswer>(
        &self,
        member: &Member,
        verb: Verb,
        view: View,
        ask_guest: impl FnOnce(&Ask, &[u32]) -> Result<Vec<A>, Fault>,
    ) -> Result<Vec<A>, Fault> {
        let host_began = self.clock.now();
        let asked = view.node_count();
        let nodes: Vec<u32> = (0..asked as u32).collect();
        let view = Arc::new(member.view_of(view, verb));
        let pod = Arc::clone(view.shared_pod());
        let guest_began = self.now();
        let result = self.call_guest(member, verb, view, guest_began, |question| ask_guest(question, &nodes));
        let result = result.and_then(|answers| check(&answers, asked).map(|()| answers));
        let rejected = |answers: &Vec<A>| answers.iter().filter(|answer| answer.rejects()).count();
        let counts = result.as_ref().map(|answers| (asked, rejected(answers), asked));
        self.report(&pod, member, verb, (host_began, guest_began), counts);
        result
    }

    /// Reports a call to the observer and the circuit: the number of nodes, of rejected ones and of evaluated ones, and
    /// the time. The host worked from `host_began` on, the guest from `guest_began` on.
    pub(super) fn report(
        &self,
        pod: &Pod,
        member: &Member,
        verb: Verb,
        (host_began, guest_began): (Instant, Instant),
        result: Result<(usize, usize, usize), &Fault>,
    ) {
        if !self.has_effects {
            if result.is_err() {
                self.observer.failed_unasked(member, verb);
            }
            return;
        }
        let now = self.clock.now();
        let elapsed = now.saturating_duration_since(host_began);
        let call = self.call_of(pod, member, verb);
        member.calls.asked();
        match result {
            Ok((asked, rejected, evaluated)) => {
                // A cached answer says nothing about the guest's health.
                if evaluated > 0 {
                    member.circuit.succeeded(verb);
                }
                self.observer.called(call, Outcome::Answered { asked, rejected, evaluated }, elapsed);
            }
            Err(fault) => {
                member.calls.failed(verb, pod, fault);
                self.observer.called(call, Outcome::Fault(fault), elapsed);
                if self.counts_for_circuit(member, fault, guest_began) && member.circuit.failed(verb, pod, fault, now) {
                    self.observer.circuit_opened(member, verb);
                }
            }
        }
    }

    /// A call as the observer may log it.
    pub(super) fn call_of<'c>(&'c self, pod: &'c Pod, member: &'c Member, verb: Verb) -> CallOf<'c> {
        CallOf { request: &self.request, pod, member, verb }
    }

    /// Whether a fault counts for the policy's circuit: not if others had left it no room, or less than half of its
    /// time.
    fn counts_for_circuit(&self, member: &Member, fault: &Fault, guest_began: Instant) -> bool {
        let had = self.deadline.saturating_duration_since(guest_began);
        match fault.kind {
            FaultKind::CircuitOpen | FaultKind::NotLoaded | FaultKind::Busy | FaultKind::AbsentFact => false,
            FaultKind::Timeout => had >= member.config.timeout.min(self.request_timeout) / 2,
            _ => true,
        }
    }

    /// Calls a guest, unless the circuit is open or the request's time is over; the guest's own time begins no earlier.
    pub(super) fn call_guest<A>(
        &self,
        member: &Member,
        verb: Verb,
        view: Arc<View>,
        guest_began: Instant,
        ask_guest: impl FnOnce(&Ask) -> Result<A, Fault>,
    ) -> Result<A, Fault> {
        if member.circuit.is_open(verb, guest_began) {
            let detail = "too many faults in a row; calls resume in at most 10 s";
            return Err(Fault::new(FaultKind::CircuitOpen, detail));
        }
        if guest_began >= self.deadline {
            let detail = format!("no time was left of the request, which may take {:?}", self.request_timeout);
            return Err(Fault::new(FaultKind::Timeout, detail));
        }
        let limits = Limits { deadline: self.deadline, timeout: member.config.timeout, memory: member.config.memory };
        let (request, mode) = (self.request.clone(), member.config.mode);
        let origin = Origin { request, version: member.version, mode, verb: Some(verb) };
        let question =
            Ask { policy: Arc::clone(&member.id), view, limits, class: self.class, origin, after_validate: false };
        self.blocking
            .run(|| catch_unwind(AssertUnwindSafe(|| ask_guest(&question))))
            .unwrap_or_else(|panic| Err(Fault::new(FaultKind::Host, panic_text(panic.as_ref()))))
    }
}

pub(super) fn or_skip<A>(member: &Member, verb: Verb, result: Result<A, Fault>) -> Result<Option<A>, DecideError> {
    match result {
        Ok(answers) => Ok(Some(answers)),
        Err(fault) if member.config.on_fault(verb, fault.kind) == OnError::Ignore => Ok(None),
        Err(fault) => Err(failed(member, verb)(fault)),
    }
}

/// The failure of a decision by a fault, whatever the policy's `onError` says.
pub(super) fn failed(member: &Member, verb: Verb) -> impl FnOnce(Fault) -> DecideError {
    move |fault| DecideError::Policy { policy: member.id().to_owned(), verb, fault }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}
