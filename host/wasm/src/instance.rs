//! One instance: created for a call or in advance, and used by one call only.

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

/// Maximum resource handles of a component; the contract defines no resources.
const MAX_HANDLES: usize = 10_000;

/// Limits for the start of a warm instance. A module that needs more is instantiated in its calls.
const WARM_START_MEMORY: usize = 16 << 20;
const WARM_START_TIME: Duration = Duration::from_millis(100);

/// The data of one instance's store.
pub(crate) struct StoreData {
    /// `None` until a call uses the instance.
    context: Option<CallContext>,
    pub(crate) limiter: MemoryLimiter,
    limit: CallLimits,
}

/// The context of a call: what its instance may read, and its log.
pub(crate) struct CallContext {
    pub(crate) view: Arc<View>,
    pub(crate) log: GuestLog,
}

/// Limits of one instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    deadline: Instant,
    /// The time from the call's start to the deadline.
    allowed: Duration,
    pub(crate) memory: usize,
}

/// An instance in use, and the phase of its call.
pub(crate) struct GuestCall {
    pub(crate) store: Store<StoreData>,
    pub(crate) instance: Instance,
    pub(crate) phase: Phase,
}

/// An instance that was created in advance and is still unused.
pub(crate) struct WarmInstance {
    store: Store<StoreData>,
    instance: Instance,
}

/// Why no warm instance was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWarmed {
    /// No memory is free now.
    Full,
    /// Its start reads, logs, fails or exceeds the limits.
    NeedsItsCall,
}

/// A used instance; dropping it frees its memory.
pub(crate) struct SpentInstance(Option<Store<StoreData>>);

// === impl StoreData ===

impl StoreData {
    /// The context of the call. A warm instance has none, so its start cannot read or log.
    pub(crate) fn context(&self) -> Result<&CallContext, Stop> {
        self.context.as_ref().ok_or(Stop::Unasked)
    }

    pub(crate) fn log(&mut self) -> Result<&mut GuestLog, Stop> {
        self.context.as_mut().map(|context| &mut context.log).ok_or(Stop::Unasked)
    }

    /// The first lines that the guest's runtime wrote to standard error.
    pub(crate) fn last_words(&self) -> &str {
        self.context.as_ref().map_or("", |context| context.log.last_words())
    }

    /// Epoch ticks are inexact; the clock decides.
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
    /// The limits of a call that begins at `begun`.
    pub(crate) fn of(ask: &Ask, begun: Instant, max_memory: usize) -> Self {
        let deadline = ask.limits.end(begun);
        let allowed = deadline.saturating_duration_since(begun);
        Self { deadline, allowed, memory: ask.limits.memory.min(max_memory) }
    }

    /// Whether less than half of the policy's timeout is left.
    pub(crate) fn is_short_for(&self, ask: &Ask) -> bool {
        self.allowed < ask.limits.timeout / 2
    }

    fn warm() -> Self {
        Self { deadline: Instant::now() + WARM_START_TIME, allowed: WARM_START_TIME, memory: WARM_START_MEMORY }
    }
}

// === impl GuestCall ===

impl GuestCall {
    /// Creates an instance for a call.
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

    /// Sets the node or candidate that is asked about next.
    pub(crate) fn about(&mut self, node: u32) {
        self.phase = Phase::Node(node);
        if let Ok(log) = self.store.data_mut().log() {
            log.about(node);
        }
    }

    /// Bytes of guest memory that the instance has used.
    pub(crate) fn memory(&mut self) -> usize {
        self.store.data_mut().limiter.reserved().used()
    }

    /// Classifies the end of the call.
    pub(crate) fn fault(&mut self, error: &wasmtime::Error) -> Fault {
        fault(&mut self.store, error, self.phase)
    }

    /// Flushes the log, and drops the context of the call.
    pub(crate) fn finish(mut self) -> SpentInstance {
        if let Some(mut context) = self.store.data_mut().context.take() {
            context.log.flush();
        }
        SpentInstance(Some(self.store))
    }
}

// === impl WarmInstance ===

impl WarmInstance {
    /// Creates a warm instance.
    ///
    /// # Errors
    /// If its start needs a call, or no memory is free now.
    pub(crate) fn start(linked: &InstancePre<StoreData>, shares: &Arc<Shares>) -> Result<Self, NotWarmed> {
        let mut store = store(linked, CallLimits::warm(), None, MemoryCharge::warm(shares));
        match linked.instantiate(&mut store) {
            Ok(instance) if store.data().limiter.denied().is_none() => Ok(Self { store, instance }),
            Err(error) if matches!(error.downcast_ref(), Some(Stop::Full { .. })) => Err(NotWarmed::Full),
            _ => Err(NotWarmed::NeedsItsCall),
        }
    }

    /// Whether its start would have behaved the same within this memory limit.
    pub(crate) fn fits(&self, memory: usize) -> bool {
        self.store.data().limiter.taken() <= memory
    }

    /// Hands the instance to a call.
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
    /// Whether it holds so much memory that it must be dropped at once.
    pub(crate) fn is_large(&self) -> bool {
        self.0.as_ref().is_some_and(|store| store.data().limiter.is_large())
    }
}

impl Drop for SpentInstance {
    fn drop(&mut self) {
        let Some(mut store) = self.0.take() else { return };
        // The charge is released after the store is dropped, not before.
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
    // A ranking has four bytes per node, which can exceed the limit for other answers.
    store.set_hostcall_fuel(TRANSFER.max(4 * ask.view.node_count()));
    store.set_epoch_deadline(ticks_until(limit.deadline));
}

fn fault(store: &mut Store<StoreData>, error: &wasmtime::Error, phase: Phase) -> Fault {
    // The last output may explain the end.
    if let Ok(log) = store.data_mut().log() {
        log.flush();
    }
    classify(error, store.data(), phase)
}

/// The fault for a lack of capacity, which is not the policy's fault.
pub(crate) fn busy(why: &str) -> Fault {
    Fault::new(FaultKind::Busy, why)
}

fn ticks_until(deadline: Instant) -> u64 {
    let left = deadline.saturating_duration_since(Instant::now());
    (left.as_nanos() / TICK.as_nanos()) as u64 + 1
}
