//! One call: a fresh instance, bounded in time and memory, that is gone when the call ends.

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
    engine::Host,
    fault::{Phase, Stop, classify},
    limits::{Budget, TRANSFER},
    log::GuestLog,
    ticker::TICK,
};

/// Handles of its own resources that a component may hold; the contract has none.
const MAX_HANDLES: usize = 10_000;

/// What the host keeps for one instance.
pub(crate) struct State {
    pub(crate) view: Arc<View>,
    pub(crate) budget: Budget,
    pub(crate) log: GuestLog,
    deadline: Instant,
    allowed: Duration,
}

/// An instance that is being asked, and what it is asked about.
pub(crate) struct Call {
    pub(crate) store: Store<State>,
    pub(crate) instance: Instance,
    pub(crate) phase: Phase,
}

impl Call {
    /// What follows is about this node or candidate.
    pub(crate) fn about(&mut self, node: u32) {
        self.phase = Phase::Node(node);
        self.store.data_mut().log.forget_last_words();
    }
}

/// Asks a fresh instance; `ask_guest` may call it as often as it likes.
pub(crate) fn call<R>(
    host: &Host,
    template: &InstancePre<State>,
    ask: &Ask,
    ask_guest: impl FnOnce(&mut Call) -> wasmtime::Result<R>,
) -> Result<R, Fault> {
    let started = Instant::now();
    let Some(_slot) = host.slots.take(ask.limits.deadline) else {
        return Err(Fault::new(FaultKind::Timeout, "too many calls are under way; its time was over before its turn"));
    };
    let _running = host.ticker.running();
    let mut store = store(host, template, ask, started);
    let instance = match template.instantiate(&mut store) {
        Ok(instance) => instance,
        Err(error) => {
            store.data_mut().log.flush();
            return Err(classify(&error, store.data(), Phase::Start));
        }
    };
    let mut call = Call { store, instance, phase: Phase::Whole };
    let result = ask_guest(&mut call);
    call.store.data_mut().log.flush();
    result.map_err(|error| classify(&error, call.store.data(), call.phase))
}

fn store(host: &Host, template: &InstancePre<State>, ask: &Ask, started: Instant) -> Store<State> {
    let deadline = ask.limits.deadline;
    let state = State {
        view: Arc::clone(&ask.view),
        budget: Budget::new(ask.limits.memory.min(host.max_memory)),
        log: GuestLog::new(Arc::clone(&ask.policy)),
        deadline,
        allowed: deadline.saturating_duration_since(started),
    };
    let mut store = Store::new(template.engine(), state);
    store.limiter(|state| &mut state.budget);
    // A rank has four bytes a node, which may come to more than what any other answer may have.
    store.set_hostcall_fuel(TRANSFER.max(4 * ask.view.node_count()));
    store.set_max_component_handles(MAX_HANDLES);
    store.set_epoch_deadline(ticks_until(deadline));
    store.epoch_deadline_callback(|store| at_epoch_deadline(store.data()));
    store
}

/// Ticks may come early or late; the clock decides.
fn at_epoch_deadline(state: &State) -> wasmtime::Result<UpdateDeadline> {
    if Instant::now() < state.deadline {
        return Ok(UpdateDeadline::Continue(ticks_until(state.deadline)));
    }
    Err(wasmtime::Error::new(Stop::Deadline(state.allowed)))
}

fn ticks_until(deadline: Instant) -> u64 {
    let left = deadline.saturating_duration_since(Instant::now());
    (left.as_nanos() / TICK.as_nanos()) as u64 + 1
}
