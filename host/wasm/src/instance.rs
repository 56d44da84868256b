//! One instance: made for a call or ahead of one, and asked within one call alone.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Fault, FaultKind, View};
use wasmtime::{
    Store, UpdateDeadline,
    component::{Instance, InstancePre},
};

use crate::{
    fault::{Phase, Stop, classify},
    limits::{Budget, TRANSFER},
    log::GuestLog,
    shares::{CallPermit, MemoryCharge, Shares},
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

/// Why there is no instance ahead of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// There is no memory for it now.
    Full,
    /// Its start reads, logs, fails or takes much.
    NeedsItsCall,
}

/// An instance that has been asked: all that is left to do is to give back what it holds.
pub(crate) struct Used(Option<Store<State>>);

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
    /// The limits of a call that begins at this moment.
    pub(crate) fn of(ask: &Ask, begun: Instant, max_memory: usize) -> Self {
        let deadline = ask.limits.end(begun);
        let allowed = deadline.saturating_duration_since(begun);
        Self { deadline, allowed, memory: ask.limits.memory.min(max_memory) }
    }

    /// Whether it leaves the guest less than half of its own time.
    pub(crate) fn is_short_for(&self, ask: &Ask) -> bool {
        self.allowed < ask.limits.timeout / 2
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
    pub(crate) fn start(
        linked: &InstancePre<State>,
        ask: &Ask,
        limit: Limit,
        reserved: MemoryCharge,
    ) -> Result<Self, Fault> {
        let mut store = store(linked, limit, Some(Question::of(ask)), reserved);
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

    /// Bytes that its instance has taken of the memory of all.
    pub(crate) fn memory(&mut self) -> usize {
        self.store.data_mut().budget.reserved().used()
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
        Used(Some(self.store))
    }
}

// === impl Ahead ===

impl Ahead {
    /// Makes an instance that waits for a call.
    ///
    /// # Errors
    /// If it must be made in its call, or there is no memory for it now.
    pub(crate) fn start(linked: &InstancePre<State>, shares: &Arc<Shares>) -> Result<Self, Failed> {
        let mut store = store(linked, Limit::ahead(), None, MemoryCharge::warm(shares));
        match linked.instantiate(&mut store) {
            Ok(instance) if store.data().budget.denied().is_none() => Ok(Self { store, instance }),
            Err(error) if matches!(error.downcast_ref(), Some(Stop::Full { .. })) => Err(Failed::Full),
            _ => Err(Failed::NeedsItsCall),
        }
    }

    /// Whether it would have started just so within this much memory.
    pub(crate) fn fits(&self, memory: usize) -> bool {
        self.store.data().budget.taken() <= memory
    }

    /// The call that it was made for has come.
    ///
    /// # Errors
    /// If there is no memory for the call.
    pub(crate) fn begin(mut self, ask: &Ask, limit: Limit, permit: &mut CallPermit<'_>) -> Result<Call, Fault> {
        let state = self.store.data_mut();
        state.budget.reserved().assign(permit).map_err(|full| busy(&full.to_string()))?;
        state.question = Some(Question::of(ask));
        state.limit = limit;
        state.budget.set_memory(limit.memory);
        set_call(&mut self.store, ask, limit);
        Ok(Call { store: self.store, instance: self.instance, phase: Phase::Whole })
    }
}

// === impl Used ===

impl Used {
    /// Whether it holds so much that it should not wait to be cleared away.
    pub(crate) fn is_large(&self) -> bool {
        self.0.as_ref().is_some_and(|store| store.data().budget.is_large())
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let Some(mut store) = self.0.take() else { return };
        // The memory is free for others once it is cleared, and not before.
        let _reserved = store.data_mut().budget.take_reservation();
        drop(store);
    }
}

fn store(
    linked: &InstancePre<State>,
    limit: Limit,
    question: Option<Question>,
    reserved: MemoryCharge,
) -> Store<State> {
    let budget = Budget::new(limit.memory, reserved);
    let mut store = Store::new(linked.engine(), State { question, budget, limit });
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

/// There is no room for the call, which is not the policy's fault.
pub(crate) fn busy(why: &str) -> Fault {
    Fault::new(FaultKind::Busy, why)
}

fn ticks_until(deadline: Instant) -> u64 {
    let left = deadline.saturating_duration_since(Instant::now());
    (left.as_nanos() / TICK.as_nanos()) as u64 + 1
}
