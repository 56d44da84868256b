//! One instance: made for a call or ahead of one, and asked within one call alone.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Fault, View};
use wasmtime::{
    Store, UpdateDeadline,
    component::{Instance, InstancePre},
};

use crate::{
    fault::{Phase, Stop, classify},
    limits::{Budget, TRANSFER},
    log::GuestLog,
    ticker::TICK,
};

/// Handles of its own resources that a component may hold; the contract has none.
const MAX_HANDLES: usize = 10_000;

/// What an instance that is made ahead of its call may take to start. One that needs more is made in the call.
const AHEAD_MEMORY: usize = 16 << 20;
const AHEAD_TIME: Duration = Duration::from_millis(100);

/// What the host keeps for one instance.
pub(crate) struct State {
    /// None until the instance is asked.
    question: Option<Question>,
    pub(crate) budget: Budget,
    limit: Limit,
}

/// What a call brings to its instance.
pub(crate) struct Question {
    pub(crate) view: Arc<View>,
    pub(crate) log: GuestLog,
}

/// What bounds an instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    deadline: Instant,
    /// How much time there was at first.
    allowed: Duration,
    pub(crate) memory: usize,
}

/// An instance that is being asked, and what it is asked about.
pub(crate) struct Call {
    pub(crate) store: Store<State>,
    pub(crate) instance: Instance,
    pub(crate) phase: Phase,
}

/// An instance that was made ahead, and that nobody has asked.
pub(crate) struct Ahead {
    store: Store<State>,
    instance: Instance,
}

/// An instance that has been asked: all that is left to do is to give back what it holds.
pub(crate) struct Used(#[expect(dead_code, reason = "dropping it is its use")] Store<State>);

// === impl State ===

impl State {
    /// What is asked. An instance that is made ahead has no answer to whatever its start wants to know or to say.
    pub(crate) fn question(&self) -> Result<&Question, Stop> {
        self.question.as_ref().ok_or(Stop::Unasked)
    }

    pub(crate) fn log(&mut self) -> Result<&mut GuestLog, Stop> {
        self.question.as_mut().map(|question| &mut question.log).ok_or(Stop::Unasked)
    }

    /// What the guest's runtime wrote to standard error first.
    pub(crate) fn last_words(&self) -> &str {
        self.question.as_ref().map_or("", |question| question.log.last_words())
    }

    /// Ticks may come early or late; the clock decides.
    fn at_epoch_deadline(&self) -> wasmtime::Result<UpdateDeadline> {
        if Instant::now() < self.limit.deadline {
            return Ok(UpdateDeadline::Continue(ticks_until(self.limit.deadline)));
        }
        Err(wasmtime::Error::new(Stop::Deadline(self.limit.allowed)))
    }
}

// === impl Question ===

impl Question {
    fn of(ask: &Ask) -> Self {
        Self { view: Arc::clone(&ask.view), log: GuestLog::of(ask) }
    }
}

// === impl Limit ===

impl Limit {
    /// The limits of a call that began at this moment.
    pub(crate) fn of(ask: &Ask, started: Instant, max_memory: usize) -> Self {
        let deadline = ask.limits.deadline;
        let allowed = deadline.saturating_duration_since(started);
        Self { deadline, allowed, memory: ask.limits.memory.min(max_memory) }
    }

    fn ahead() -> Self {
        Self { deadline: Instant::now() + AHEAD_TIME, allowed: AHEAD_TIME, memory: AHEAD_MEMORY }
    }
}

// === impl Call ===

impl Call {
    /// Makes an instance for a call.
    ///
    /// # Errors
    /// The fault that ended its start.
    pub(crate) fn start(linked: &InstancePre<State>, ask: &Ask, limit: Limit) -> Result<Self, Fault> {
        let mut store = store(linked, limit, Some(Question::of(ask)));
        set_call(&mut store, ask, limit);
        match linked.instantiate(&mut store) {
            Ok(instance) => Ok(Self { store, instance, phase: Phase::Whole }),
            Err(error) => Err(fault(&mut store, &error, Phase::Start)),
        }
    }

    /// What follows is about this node or candidate.
    pub(crate) fn about(&mut self, node: u32) {
        self.phase = Phase::Node(node);
        if let Ok(log) = self.store.data_mut().log() {
            log.about(node);
        }
    }

    /// Names the end of the call.
    pub(crate) fn fault(&mut self, error: &wasmtime::Error) -> Fault {
        fault(&mut self.store, error, self.phase)
    }

    /// Writes what is left of the log, and lets go of what the call brought.
    pub(crate) fn finish(mut self) -> Used {
        if let Some(mut question) = self.store.data_mut().question.take() {
            question.log.flush();
        }
        Used(self.store)
    }
}

// === impl Ahead ===

impl Ahead {
    /// Makes an instance that waits for a call; none where its start needs one: it reads, logs, fails or takes much.
    pub(crate) fn start(linked: &InstancePre<State>) -> Option<Self> {
        let mut store = store(linked, Limit::ahead(), None);
        let instance = linked.instantiate(&mut store).ok()?;
        store.data().budget.denied().is_none().then_some(Self { store, instance })
    }

    /// Whether it would have started just so within this much memory.
    pub(crate) fn fits(&self, memory: usize) -> bool {
        self.store.data().budget.taken() <= memory
    }

    /// The call that it was made for has come.
    pub(crate) fn begin(mut self, ask: &Ask, limit: Limit) -> Call {
        let state = self.store.data_mut();
        state.question = Some(Question::of(ask));
        state.limit = limit;
        state.budget.set_memory(limit.memory);
        set_call(&mut self.store, ask, limit);
        Call { store: self.store, instance: self.instance, phase: Phase::Whole }
    }
}

fn store(linked: &InstancePre<State>, limit: Limit, question: Option<Question>) -> Store<State> {
    let mut store = Store::new(linked.engine(), State { question, budget: Budget::new(limit.memory), limit });
    store.limiter(|state| &mut state.budget);
    store.set_hostcall_fuel(TRANSFER);
    store.set_max_component_handles(MAX_HANDLES);
    store.set_epoch_deadline(ticks_until(limit.deadline));
    store.epoch_deadline_callback(|store| store.data().at_epoch_deadline());
    store
}

fn set_call(store: &mut Store<State>, ask: &Ask, limit: Limit) {
    // A rank has four bytes a node, which may come to more than what any other answer may have.
    store.set_hostcall_fuel(TRANSFER.max(4 * ask.view.node_count()));
    store.set_epoch_deadline(ticks_until(limit.deadline));
}

fn fault(store: &mut Store<State>, error: &wasmtime::Error, phase: Phase) -> Fault {
    // What was written last may be what explains the end.
    if let Ok(log) = store.data_mut().log() {
        log.flush();
    }
    classify(error, store.data(), phase)
}

fn ticks_until(deadline: Instant) -> u64 {
    let left = deadline.saturating_duration_since(Instant::now());
    (left.as_nanos() / TICK.as_nanos()) as u64 + 1
}
