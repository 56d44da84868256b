//! The store of one instance: its data, and the limits of its call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Read, View};
use wasmtime::{Engine, Store, UpdateDeadline};

use crate::{
    limits::{MemoryLimiter, TRANSFER},
    log::GuestLog,
    shares::Charge,
    stdio::ProgramStdio,
    stop::Stop,
    ticker::TICK,
};

/// Maximum resource handles of a component; the contract defines no resources.
const MAX_HANDLES: usize = 10_000;

/// Maximum time of the host that one call is not charged with.
const MAX_HOST_TIME: Duration = Duration::from_secs(1);

/// Memory of a warm instance, and time in which it starts and reads its settings: Python's needs 4 ms, and the machine
/// may be busy. A module that needs more is instantiated in its calls.
const WARM_MEMORY: usize = 16 << 20;
pub(crate) const WARM_TIME: Duration = Duration::from_millis(100);

/// The data of one instance's store.
pub(crate) struct StoreData {
    /// `None` until a call uses the instance.
    context: Option<CallContext>,
    /// The view of a warm instance while it reads its settings: it has nothing else.
    settings: Option<View>,
    pub(crate) limiter: MemoryLimiter,
    limit: CallLimits,
    /// Nanoseconds of the call that the host has needed for itself.
    host_time: AtomicU64,
}

/// The context of a call: the view that its instance may read, and its log.
pub(crate) struct CallContext {
    pub(crate) view: Arc<View>,
    pub(crate) log: GuestLog,
    /// The standard input and output of a program.
    stdio: Option<ProgramStdio>,
}

/// Limits of one instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    deadline: Instant,
    /// The end of the request, which time of the host does not move.
    latest: Instant,
    /// The time from the call's start to the deadline.
    allowed: Duration,
    pub(crate) memory: usize,
}

// === impl StoreData ===

impl StoreData {
    /// The view that answers a read. A warm instance has none, so it cannot read anything but its settings.
    pub(crate) fn view(&self, read: &Read<'_>) -> Result<&View, Stop> {
        match &self.context {
            Some(context) => Ok(&context.view),
            None => self.settings.as_ref().filter(|_| *read == Read::HostSettings).ok_or(Stop::Unasked),
        }
    }

    /// The name of a node of the call.
    pub(crate) fn node_name(&self, node: u32) -> Option<&Arc<str>> {
        self.context.as_ref()?.view.node_name(node)
    }

    pub(crate) fn log(&mut self) -> Result<&mut GuestLog, Stop> {
        self.context.as_mut().map(|context| &mut context.log).ok_or(Stop::Unasked)
    }

    /// The first lines that the guest's runtime wrote to standard error.
    pub(crate) fn last_words(&self) -> &str {
        self.context.as_ref().map_or("", |context| context.log.last_words())
    }

    /// Lets a warm instance read these settings, or nothing any more.
    pub(crate) fn show_settings(&mut self, settings: Option<&Arc<str>>) {
        self.settings = settings.map(|settings| View::empty(Arc::clone(settings)));
    }

    /// Gives the call a standard input and output.
    pub(crate) fn open_stdio(&mut self, stdio: ProgramStdio) {
        if let Some(context) = &mut self.context {
            context.stdio = Some(stdio);
        }
    }

    /// The standard input and output of the call; a policy that exports verbs has none.
    pub(crate) fn stdio(&mut self) -> Result<&mut ProgramStdio, Stop> {
        self.context.as_mut().and_then(|context| context.stdio.as_mut()).ok_or(Stop::Unasked)
    }

    /// Whether the standard output is an answer; that of a policy that exports verbs is log lines.
    pub(crate) fn is_program(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.stdio.is_some())
    }

    /// Takes the standard output for a write of this many bytes, with memory for them.
    pub(crate) fn take_output(&mut self, length: usize) -> wasmtime::Result<Vec<u8>> {
        let Self { context, limiter, .. } = self;
        match context.as_mut().and_then(|context| context.stdio.as_mut()) {
            Some(stdio) => stdio.take_output(length, limiter),
            None => Err(wasmtime::Error::new(Stop::Unasked)),
        }
    }

    /// Flushes the log, and drops the context of the call.
    pub(crate) fn end(&mut self) {
        if let Some(mut context) = self.context.take() {
            context.log.flush();
        }
    }

    /// Does work of the host that may take long; it is not charged to the guest.
    pub(crate) fn on_host_time<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        let nanoseconds = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // One thread runs a store.
        self.host_time.store(self.host_time.load(Relaxed).saturating_add(nanoseconds), Relaxed);
        done
    }

    /// The end of the call's time so far: time of the host moves it.
    pub(crate) fn deadline(&self) -> Instant {
        self.limit.deadline_after(Duration::from_nanos(self.host_time.load(Relaxed)))
    }

    /// The end of the call's time.
    ///
    /// # Errors
    /// If it is over.
    pub(crate) fn check_deadline(&self) -> Result<Instant, Stop> {
        let deadline = self.deadline();
        if Instant::now() < deadline { Ok(deadline) } else { Err(Stop::Deadline(self.limit.allowed)) }
    }

    /// Epoch ticks are inexact; the clock decides.
    fn at_epoch_deadline(&self) -> wasmtime::Result<UpdateDeadline> {
        let deadline = self.check_deadline().map_err(wasmtime::Error::new)?;
        Ok(UpdateDeadline::Continue(ticks_until(deadline)))
    }
}

// === impl CallLimits ===

impl CallLimits {
    /// The limits of a call that begins at `begun`.
    pub(crate) fn of(ask: &Ask, begun: Instant, max_memory: usize) -> Self {
        let deadline = ask.limits.end(begun);
        let allowed = deadline.saturating_duration_since(begun);
        Self { deadline, latest: ask.limits.deadline, allowed, memory: ask.limits.memory.min(max_memory) }
    }

    /// Whether less than half of the policy's timeout is left.
    pub(crate) fn is_short_for(&self, ask: &Ask) -> bool {
        self.allowed < ask.limits.timeout / 2
    }

    /// The deadline of a call for which the host has needed time for itself.
    fn deadline_after(&self, host_time: Duration) -> Instant {
        (self.deadline + host_time.min(MAX_HOST_TIME)).min(self.latest.max(self.deadline))
    }

    /// The limits of a warm instance.
    pub(crate) fn warm() -> Self {
        let deadline = Instant::now() + WARM_TIME;
        Self { deadline, latest: deadline, allowed: WARM_TIME, memory: WARM_MEMORY }
    }
}

/// A store of an instance that no call uses yet.
pub(crate) fn new_store(engine: &Engine, limit: CallLimits, charge: Charge) -> Store<StoreData> {
    let limiter = MemoryLimiter::new(limit.memory, charge);
    let mut store =
        Store::new(engine, StoreData { context: None, settings: None, limiter, limit, host_time: AtomicU64::new(0) });
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(TRANSFER);
    store.set_max_component_handles(MAX_HANDLES);
    store.set_epoch_deadline(ticks_until(limit.deadline));
    store.epoch_deadline_callback(|store| store.data().at_epoch_deadline());
    store
}

/// Gives an instance to a call about all nodes of its view.
pub(crate) fn begin(store: &mut Store<StoreData>, ask: &Ask, limit: CallLimits) {
    // A ranking has four bytes per node, which can exceed the limit for other answers.
    store.set_hostcall_fuel(TRANSFER.max(4 * ask.view.node_count()));
    store.set_epoch_deadline(ticks_until(limit.deadline));
    let state = store.data_mut();
    state.context = Some(CallContext { view: Arc::clone(&ask.view), log: GuestLog::of(ask), stdio: None });
    state.limit = limit;
    state.host_time.store(0, Relaxed);
    state.limiter.set_memory(limit.memory);
}

fn ticks_until(deadline: Instant) -> u64 {
    let left = deadline.saturating_duration_since(Instant::now());
    (left.as_nanos() / TICK.as_nanos()) as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_the_host_is_no_time_of_the_guest_but_is_bounded_and_never_beyond_the_request() {
        let begun = Instant::now();
        let at = |seconds: f64| begun + Duration::from_secs_f64(seconds);
        let limit = |latest: f64| CallLimits {
            deadline: at(0.1),
            latest: at(latest),
            allowed: Duration::from_millis(100),
            memory: 0,
        };
        let after = |latest: f64, host: f64| limit(latest).deadline_after(Duration::from_secs_f64(host));
        assert_eq!(after(5.0, 0.0), at(0.1));
        assert_eq!(after(5.0, 0.25), at(0.35));
        assert_eq!(after(5.0, 60.0), at(1.1));
        assert_eq!(after(0.2, 0.25), at(0.2));
        assert_eq!(after(0.1, 0.25), at(0.1));
    }
}
