//! Fair shares of two resources: permits for concurrent calls, and the memory of all guests. No policy can take all of
//! them.
//!
//! A policy gets more as long as it holds no more than is free. A greedy policy ends up with half, a second one with
//! half of the rest, and so on: six of them leave one of 64 permits, which a seventh takes. As calls end, their permits
//! are redistributed, which brings greedy policies down to equal shares. Background calls share a quarter. Waiting calls
//! are served in FIFO order, those of decisions first.

mod memory;
mod reclaim;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use parking_lot::{Condvar, Mutex};
use plimsoll_core::CallClass;

pub(crate) use self::{
    memory::{Full, MemoryCharge},
    reclaim::{Reclaim, Reclaimers},
};

/// Background calls may have one in this many of all permits and bytes.
const BACKGROUND: usize = 4;

/// Distributes permits and memory.
pub(crate) struct Shares {
    /// For calls of decisions, and for background calls.
    limits: [Usage; 2],
    state: Mutex<SharesState>,
    /// The pools that give memory back when it is short.
    pub(super) reclaimers: Reclaimers,
}

/// Permits and bytes: held, or free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Usage {
    calls: usize,
    bytes: usize,
}

/// A snapshot of the shares, for metrics.
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
    /// Bytes of all guests, warm instances included.
    pub bytes: usize,
    /// The limit of these bytes.
    pub max_bytes: usize,
}

#[derive(Default)]
struct SharesState {
    /// By class.
    held: [Usage; 2],
    /// Bytes of warm instances.
    warm: usize,
    /// The holdings of each policy, by class; policies that hold nothing have no entry.
    holders: HashMap<Arc<str>, [Usage; 2]>,
    /// Calls that wait for a permit, in FIFO order.
    queue: VecDeque<Arc<ShareWaiter>>,
    waited: u64,
    refused_calls: u64,
    refused_memory: u64,
}

/// A request of a call: a permit, and the memory that such calls usually need.
#[derive(Debug, Clone)]
pub(crate) struct ShareRequest {
    pub(crate) policy: Arc<str>,
    pub(crate) class: CallClass,
    pub(crate) bytes: usize,
}

struct ShareWaiter {
    request: ShareRequest,
    granted: Condvar,
}

/// A permit for one call; released on drop.
pub(crate) struct CallPermit<'s> {
    shares: &'s Shares,
    /// The granted memory, which moves to the instance of the call.
    request: ShareRequest,
    /// Whether the call had to wait for it.
    pub(crate) is_late: bool,
}

// === impl Shares ===

impl Shares {
    pub(crate) fn new(calls: u32, bytes: usize) -> Self {
        let all = Usage { calls: calls as usize, bytes };
        let background = Usage { calls: (all.calls / BACKGROUND).max(1), bytes: bytes / BACKGROUND };
        Self { limits: [all, background], state: Mutex::default(), reclaimers: Reclaimers::default() }
    }

    /// Waits for a permit; `None` if the deadline passes first.
    pub(crate) fn permit(&self, mut request: ShareRequest, deadline: Instant) -> Option<CallPermit<'_>> {
        request.bytes = request.bytes.min(self.limit(request.class).bytes);
        let permit = |request, is_late| CallPermit { shares: self, request, is_late };
        let mut state = self.state.lock();
        if request.bytes > self.free(&state, request.class).bytes {
            drop(state);
            self.reclaimers.reclaim();
            state = self.state.lock();
        }
        if self.grant(&mut state, &request) {
            return Some(permit(request, false));
        }
        state.waited += 1;
        let waiter = Arc::new(ShareWaiter { request, granted: Condvar::new() });
        state.queue.push_back(Arc::clone(&waiter));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.queue.retain(|other| !Arc::ptr_eq(other, &waiter));
                state.refused_calls += 1;
                return None;
            }
            waiter.granted.wait_for(&mut state, left);
            // Granting a permit removes the waiter from the queue.
            if !state.queue.iter().any(|other| Arc::ptr_eq(other, &waiter)) {
                return Some(permit(waiter.request.clone(), true));
            }
        }
    }

    pub(crate) fn in_use(&self) -> SharesInUse {
        let state = self.state.lock();
        SharesInUse {
            calls: state.held.map(|held| held.calls),
            waiting: state.queue.len(),
            waited: state.waited,
            refused_calls: state.refused_calls,
            refused_memory: state.refused_memory,
            bytes: state.all().bytes,
            max_bytes: self.limits[0].bytes,
        }
    }

    /// Grants the request, if the policy's share allows it now.
    fn grant(&self, state: &mut SharesState, request: &ShareRequest) -> bool {
        let (held, free) = (state.held_by(&request.policy, request.class), self.free(state, request.class));
        // Afterwards it holds no more than was free.
        let may = held.calls < free.calls && held.may_grow(request.bytes, free.bytes);
        if may {
            state.change(&request.policy, request.class, |held| {
                held.calls += 1;
                held.bytes += request.bytes;
            });
        }
        may
    }

    fn limit(&self, class: CallClass) -> Usage {
        self.limits[class as usize]
    }

    /// The free resources of a class of calls.
    fn free(&self, state: &SharesState, class: CallClass) -> Usage {
        let free = self.limit(CallClass::Decision).without(state.all());
        match class {
            CallClass::Decision => free,
            CallClass::Background => free.least(self.limit(class).without(state.held[class as usize])),
        }
    }

    fn give_back(&self, request: &ShareRequest) {
        let mut state = self.state.lock();
        state.change(&request.policy, request.class, |held| {
            held.calls -= 1;
            held.bytes -= request.bytes;
        });
        self.serve_queue(&mut state);
    }

    /// Grants every waiting request that fits now.
    fn serve_queue(&self, state: &mut SharesState) {
        if state.queue.is_empty() {
            return;
        }
        let queue = std::mem::take(&mut state.queue);
        let (decisions, background): (Vec<_>, Vec<_>) =
            queue.into_iter().partition(|waiter| waiter.request.class == CallClass::Decision);
        for waiter in decisions.into_iter().chain(background) {
            if self.grant(state, &waiter.request) {
                waiter.granted.notify_one();
            } else {
                state.queue.push_back(waiter);
            }
        }
    }
}

// === impl SharesState ===

impl SharesState {
    /// The total in use.
    fn all(&self) -> Usage {
        let [decisions, background] = self.held;
        Usage { calls: decisions.calls + background.calls, bytes: decisions.bytes + background.bytes + self.warm }
    }

    fn held_by(&self, policy: &str, class: CallClass) -> Usage {
        self.holders.get(policy).map_or_else(Usage::default, |held| held[class as usize])
    }

    fn change(&mut self, policy: &Arc<str>, class: CallClass, change: impl Fn(&mut Usage)) {
        change(&mut self.held[class as usize]);
        let holder = self.holders.entry(Arc::clone(policy)).or_default();
        change(&mut holder[class as usize]);
        if *holder == <[Usage; 2]>::default() {
            self.holders.remove(policy);
        }
    }
}

// === impl Usage ===

impl Usage {
    fn without(self, held: Self) -> Self {
        Self { calls: self.calls.saturating_sub(held.calls), bytes: self.bytes.saturating_sub(held.bytes) }
    }

    /// Whether a policy with these holdings may get this many of the free bytes.
    ///
    /// A policy's first call may have all of them; otherwise policies with a large need could never run.
    fn may_grow(self, more: usize, free: usize) -> bool {
        more <= free && (self.calls == 0 || self.bytes + more <= free)
    }

    fn least(self, other: Self) -> Self {
        Self { calls: self.calls.min(other.calls), bytes: self.bytes.min(other.bytes) }
    }
}

// === impl CallPermit ===

impl CallPermit<'_> {
    /// Moves the granted memory out of the permit, which then does not release it.
    fn take_memory(&mut self) -> ShareRequest {
        let bytes = std::mem::take(&mut self.request.bytes);
        ShareRequest { bytes, ..self.request.clone() }
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        self.shares.give_back(&self.request);
    }
}

#[cfg(test)]
mod tests;
