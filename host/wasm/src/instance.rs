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
    limits::{MemoryLimiter, TRANSFER},
    log::GuestLog,
    shares::{CallPermit, MemoryCharge, Shares},
    ticker::TICK,
};

/// Handles of its own resources that a component may hold; the contract has none.
const MAX_HANDLES: usize = 10_000;

/// What an instance that is made ahead of its call may take to start. One that needs more is made in the call.
const WARM_START_MEMORY: usize = 16 << 20;
const WARM_START_TIME: Duration = Duration::from_millis(100);

/// What the host keeps for one instance.
pub(crate) struct StoreData {
    /// None until the instance is asked.
    context: Option<CallContext>,
    pub(crate) limiter: MemoryLimiter,
    limit: CallLimits,
}

/// What a call brings to its instance.
pub(crate) struct CallContext {
    pub(crate) view: Arc<View>,
    pub(crate) log: GuestLog,
}

/// What bounds an instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    deadline: Instant,
    /// How much time there was at first.
    allowed: Duration,
    pub(crate) memory: usize,
}

/// An instance that is being asked, and what it is asked about.
pub(crate) struct GuestCall {
    pub(crate) store: Store<StoreData>,
    pub(crate) instance: Instance,
    pub(crate) phase: Phase,
}

/// An instance that was made ahead, and that nobody has asked.
pub(crate) struct WarmInstance {
    store: Store<StoreData>,
    instance: Instance,
}

/// Why there is no instance ahead of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWarmed {
    /// There is no memory for it now.
    Full,
    /// Its start reads, logs, fails or takes much.
    NeedsItsCall,
}

/// An instance that has been asked: all that is left to do is to give back what it holds.
pub(crate) struct SpentInstance(Option<Store<StoreData>>);

// === impl StoreData ===

impl StoreData {
    /// What is asked. An instance that is made ahead has no answer to whatever its start wants to know or to say.
    pub(crate) fn context(&self) -> Result<&CallContext, Stop> {
        self.context.as_ref().ok_or(Stop::Unasked)
    }

    pub(crate) fn log(&mut self) -> Result<&mut GuestLog, Stop> {
        self.context.as_mut().map(|context| &mut context.log).ok_or(Stop::Unasked)
    }

    /// What the guest's runtime wrote to standard error first.
    pub(crate) fn last_words(&self) -> &str {
        self.context.as_ref().map_or("", |context| context.log.last_words())
    }

    /// Ticks may come early or late; the clock decides.
    fn at_epoch_deadline(&self) -> wasmtime::Result<UpdateDeadline> {
        if Instant::now() < self.limit.deadline {
            return Ok(UpdateDeadline::Continue(ticks_until(self.limit.deadline)));
        }
        Err(wasmtime::Error::new(Stop::Deadline(self.limit.allowed)))
    }
}

// === impl CallContext ===

impl CallContext {
    fn of(ask: &Ask) -> Self {
        Self { view: Arc::clone(&ask.view), log: GuestLog::of(ask) }
    }
}

// === impl CallLimits ===

impl CallLimits {
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

    fn warm() -> Self {
        Self { deadline: Instant::now() + WARM_START_TIME, allowed: WARM_START_TIME, memory: WARM_START_MEMORY }
    }
}

// === impl GuestCall ===

impl GuestCall {
    /// Makes an instance for a call.
    ///
    /// # Errors
    /// The fault that ended its start.
    pub(crate) fn start(
        linked: &InstancePre<StoreData>,
        ask: &Ask,
        limit: CallLimits,
        reserved: MemoryCharge,
    ) -> Result<Self, Fault> {
        let mut store = store(linked, limit, Some(CallContext::of(ask)), reserved);
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
        self.store.data_mut().limiter.reserved().used()
    }

    /// Names the end of the call.
    pub(crate) fn fault(&mut self, error: &wasmtime::Error) -> Fault {
        fault(&mut self.store, error, self.phase)
    }

    /// Writes what is left of the log, and lets go of what the call brought.
    pub(crate) fn finish(mut self) -> SpentInstance {
        if let Some(mut context) = self.store.data_mut().context.take() {
            context.log.flush();
        }
        SpentInstance(Some(self.store))
    }
}

// === impl WarmInstance ===

impl WarmInstance {
    /// Makes an instance that waits for a call.
    ///
    /// # Errors
    /// If it must be made in its call, or there is no memory for it now.
    pub(crate) fn start(linked: &InstancePre<StoreData>, shares: &Arc<Shares>) -> Result<Self, NotWarmed> {
        let mut store = store(linked, CallLimits::warm(), None, MemoryCharge::warm(shares));
        match linked.instantiate(&mut store) {
            Ok(instance) if store.data().limiter.denied().is_none() => Ok(Self { store, instance }),
            Err(error) if matches!(error.downcast_ref(), Some(Stop::Full { .. })) => Err(NotWarmed::Full),
            _ => Err(NotWarmed::NeedsItsCall),
        }
    }

    /// Whether it would have started just so within this much memory.
    pub(crate) fn fits(&self, memory: usize) -> bool {
        self.store.data().limiter.taken() <= memory
    }

    /// The call that it was made for has come.
    ///
    /// # Errors
    /// If there is no memory for the call.
    pub(crate) fn begin(
        mut self,
        ask: &Ask,
        limit: CallLimits,
        permit: &mut CallPermit<'_>,
    ) -> Result<GuestCall, Fault> {
        let state = self.store.data_mut();
        state.limiter.reserved().assign(permit).map_err(|full| busy(&full.to_string()))?;
        state.context = Some(CallContext::of(ask));
        state.limit = limit;
        state.limiter.set_memory(limit.memory);
        set_call(&mut self.store, ask, limit);
        Ok(GuestCall { store: self.store, instance: self.instance, phase: Phase::Whole })
    }
}

// === impl SpentInstance ===

impl SpentInstance {
    /// Whether it holds so much that it should not wait to be cleared away.
    pub(crate) fn is_large(&self) -> bool {
        self.0.as_ref().is_some_and(|store| store.data().limiter.is_large())
    }
}

impl Drop for SpentInstance {
    fn drop(&mut self) {
        let Some(mut store) = self.0.take() else { return };
        // The memory is free for others once it is cleared, and not before.
        let _reserved = store.data_mut().limiter.take_reservation();
        drop(store);
    }
}

fn store(
    linked: &InstancePre<StoreData>,
    limit: CallLimits,
    context: Option<CallContext>,
    reserved: MemoryCharge,
) -> Store<StoreData> {
    let limiter = MemoryLimiter::new(limit.memory, reserved);
    let mut store = Store::new(linked.engine(), StoreData { context, limiter, limit });
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(TRANSFER);
    store.set_max_component_handles(MAX_HANDLES);
    store.set_epoch_deadline(ticks_until(limit.deadline));
    store.epoch_deadline_callback(|store| store.data().at_epoch_deadline());
    store
}

fn set_call(store: &mut Store<StoreData>, ask: &Ask, limit: CallLimits) {
    // A rank has four bytes a node, which may come to more than what any other answer may have.
    store.set_hostcall_fuel(TRANSFER.max(4 * ask.view.node_count()));
    store.set_epoch_deadline(ticks_until(limit.deadline));
}

fn fault(store: &mut Store<StoreData>, error: &wasmtime::Error, phase: Phase) -> Fault {
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
