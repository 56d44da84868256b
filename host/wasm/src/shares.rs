//! Permits for concurrent calls, and the memory of all guests.
//!
//! A policy holds at most half of the permits and of the memory. Calls that no decision waits for (policies in shadow
//! mode, explanations) have a quarter together. Spares have what calls leave, up to half, and are dropped when a call
//! lacks memory.

use std::{
    collections::HashMap,
    fmt, mem,
    ops::Add,
    sync::{Arc, OnceLock},
    time::Instant,
};

use parking_lot::{Condvar, Mutex};
use plimsoll_core::CallClass;

/// The parts of all permits and bytes: for background calls together, for one policy, for spares.
const BACKGROUND: usize = 4;
const POLICY: usize = 2;
const SPARES: usize = 2;

/// An instance with more than one in this many bytes of all memory is dropped at once, in its call, and not queued.
const LARGE: usize = 64;

/// Distributes permits and memory.
pub(crate) struct Shares {
    max: Usage,
    state: Mutex<SharesState>,
    /// Notified when a permit is released.
    released: Condvar,
    /// Drops all spares; returns whether there were any.
    drop_spares: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// Permits and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Usage {
    calls: usize,
    bytes: usize,
}

#[derive(Default)]
struct SharesState {
    /// The holdings of calls, by class, and of each policy; policies that hold nothing have no entry.
    classes: [Usage; 2],
    policies: HashMap<Arc<str>, Usage>,
    /// Bytes of spares.
    spares: usize,
    counts: SharesInUse,
}

/// The shares in use, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharesInUse {
    /// Calls under way, by [`CallClass`].
    pub calls: [usize; 2],
    /// Calls that wait for a permit.
    pub waiting: usize,
    /// Calls that had to wait for a permit, since the start.
    pub waited: u64,
    /// Calls that were refused a permit, since the start.
    pub refused_calls: u64,
    /// Calls that were refused memory because of other calls, since the start.
    pub refused_memory: u64,
    /// Bytes of all guests, spares included.
    pub bytes: usize,
    /// The limit of these bytes.
    pub max_bytes: usize,
}

/// A policy, and the class of its call.
#[derive(Debug, Clone)]
pub(crate) struct Payer {
    pub(crate) policy: Arc<str>,
    pub(crate) class: CallClass,
}

/// The permit of a call, or the memory of one instance; released on drop.
pub(crate) struct Charge {
    shares: Arc<Shares>,
    /// A spare has none.
    payer: Option<Payer>,
    held: Usage,
}

/// Not enough memory is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full {
    max_bytes: usize,
}

// === impl Shares ===

impl Shares {
    pub(crate) fn new(calls: u32, bytes: usize) -> Arc<Self> {
        let (state, max) = (Mutex::default(), Usage { calls: calls as usize, bytes });
        Arc::new(Self { max, state, released: Condvar::new(), drop_spares: OnceLock::new() })
    }

    /// Sets the function that drops all spares and returns whether there were any.
    pub(crate) fn drop_spares_with(&self, drop_spares: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.drop_spares.set(Box::new(drop_spares));
    }

    /// Waits for a permit, and tells whether it had to; `None` if the deadline passes first.
    pub(crate) fn permit(self: &Arc<Self>, payer: Payer, deadline: Instant) -> Option<(Charge, bool)> {
        let permit = Usage { calls: 1, bytes: 0 };
        let mut state = self.state.lock();
        let mut is_late = false;
        while !self.take(&mut state, Some(&payer), permit) {
            if Instant::now() >= deadline {
                state.counts.refused_calls += 1;
                return None;
            }
            state.counts.waited += u64::from(!is_late);
            state.counts.waiting += 1;
            self.released.wait_until(&mut state, deadline);
            state.counts.waiting -= 1;
            is_late = true;
        }
        Some((Charge { shares: Arc::clone(self), payer: Some(payer), held: permit }, is_late))
    }

    pub(crate) fn in_use(&self) -> SharesInUse {
        let state = self.state.lock();
        let calls = state.classes.map(|held| held.calls);
        SharesInUse { calls, bytes: state.all().bytes, max_bytes: self.max.bytes, ..state.counts }
    }

    /// Adds to the holdings of a call or of spares, if they may have as much.
    fn take(&self, state: &mut SharesState, payer: Option<&Payer>, more: Usage) -> bool {
        let all = state.all() + more;
        let Some(Payer { policy, class }) = payer else {
            let may = all.bytes <= self.max.bytes / SPARES;
            state.spares += if may { more.bytes } else { 0 };
            return may;
        };
        let of_class = state.classes[*class as usize] + more;
        let of_policy = state.policies.get(policy).copied().unwrap_or_default() + more;
        let max_of_class = if *class == CallClass::Background { self.max.part(BACKGROUND) } else { self.max };
        let mut max_of_policy = self.max.part(POLICY);
        if of_policy.calls <= 1 {
            // The only call of a policy may have more: otherwise one with a large need could never run.
            max_of_policy.bytes = self.max.bytes;
        }
        let may = all.is_within(self.max) && of_class.is_within(max_of_class) && of_policy.is_within(max_of_policy);
        if may {
            state.classes[*class as usize] = of_class;
            state.policies.insert(Arc::clone(policy), of_policy);
        }
        may
    }

    /// Takes memory for a call; if there is too little, spares are dropped and it is tried again.
    fn take_for_call(&self, take: impl Fn(&mut SharesState) -> bool) -> Result<(), Full> {
        if take(&mut self.state.lock()) {
            return Ok(());
        }
        let dropped = self.drop_spares.get().is_some_and(|drop_spares| drop_spares());
        let mut state = self.state.lock();
        if dropped && take(&mut state) {
            return Ok(());
        }
        state.counts.refused_memory += 1;
        Err(Full { max_bytes: self.max.bytes })
    }
}

// === impl SharesState ===

impl SharesState {
    fn all(&self) -> Usage {
        let [decisions, background] = self.classes;
        decisions + background + Usage { calls: 0, bytes: self.spares }
    }

    fn release(&mut self, payer: Option<&Payer>, less: Usage) {
        let Some(Payer { policy, class }) = payer else {
            self.spares -= less.bytes;
            return;
        };
        self.classes[*class as usize].subtract(less);
        if let Some(held) = self.policies.get_mut(policy) {
            held.subtract(less);
            if *held == Usage::default() {
                self.policies.remove(policy);
            }
        }
    }
}

// === impl Usage ===

impl Usage {
    /// One part of so many, but one permit at least.
    fn part(self, count: usize) -> Self {
        Self { calls: (self.calls / count).max(1), bytes: self.bytes / count }
    }

    fn is_within(self, max: Self) -> bool {
        self.calls <= max.calls && self.bytes <= max.bytes
    }

    fn subtract(&mut self, less: Self) {
        self.calls -= less.calls;
        self.bytes -= less.bytes;
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self { calls: self.calls + more.calls, bytes: self.bytes.saturating_add(more.bytes) }
    }
}

// === impl Charge ===

impl Charge {
    /// The empty charge of an instance: of a call, or of a spare.
    pub(crate) fn new(shares: &Arc<Shares>, payer: Option<Payer>) -> Self {
        Self { shares: Arc::clone(shares), payer, held: Usage::default() }
    }

    /// Charges more bytes.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let (shares, more) = (&self.shares, Usage { calls: 0, bytes });
        match &self.payer {
            Some(payer) => shares.take_for_call(|state| shares.take(state, Some(payer), more))?,
            None if shares.take(&mut shares.state.lock(), None, more) => {}
            None => return Err(Full { max_bytes: shares.max.bytes }),
        }
        self.held.bytes += bytes;
        Ok(())
    }

    /// Moves the charge of a spare to the call that uses it.
    pub(crate) fn assign(&mut self, payer: Payer) -> Result<(), Full> {
        let (shares, held) = (&self.shares, self.held);
        shares.take_for_call(|state| {
            state.spares -= held.bytes;
            let may = shares.take(state, Some(&payer), held);
            state.spares += if may { 0 } else { held.bytes };
            may
        })?;
        self.payer = Some(payer);
        Ok(())
    }

    /// Moves out the whole charge.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self::new(&self.shares, None);
        mem::replace(self, empty)
    }

    /// Whether it is so large that the instance must be dropped at once.
    pub(crate) fn is_large(&self) -> bool {
        self.held.bytes > self.shares.max.bytes / LARGE
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut state = self.shares.state.lock();
        state.release(self.payer.as_ref(), self.held);
        if self.held.calls > 0 && state.counts.waiting > 0 {
            self.shares.released.notify_all();
        }
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charge").field("held", &self.held).finish_non_exhaustive()
    }
}

// === impl Full ===

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.max_bytes >> 20;
        write!(f, "the memory of guests is taken: {mib} MiB for all policies, half of it for one (--guest-memory)")
    }
}

#[cfg(test)]
mod tests;
