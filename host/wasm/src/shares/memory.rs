//! The memory of all guests together.

use std::{fmt, sync::Arc};

use plimsoll_core::CallClass;

use super::{CallPermit, ShareRequest, Shares, SharesState};

/// Warm instances may take one in this many bytes of all guest memory, if calls leave it free.
const WARM: usize = 2;

/// An instance with more than one in this many bytes of all memory is dropped at once, in its call, and not queued.
const LARGE: usize = 64;

/// The charge of one instance against the memory of all guests; released on drop.
pub(crate) struct MemoryCharge {
    shares: Arc<Shares>,
    payer: Payer,
    /// Bytes charged to the payer.
    charged: usize,
    /// Bytes in use; at most `charged`.
    used: usize,
}

enum Payer {
    /// A warm instance, which no call uses yet.
    Warm,
    Call(Arc<str>, CallClass),
}

/// Not enough memory is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full {
    class: CallClass,
    /// The limit for calls of this class.
    max_bytes: usize,
}

// === impl MemoryCharge ===

impl MemoryCharge {
    /// An empty charge for a warm instance.
    pub(crate) fn warm(shares: &Arc<Shares>) -> Self {
        Self { shares: Arc::clone(shares), payer: Payer::Warm, charged: 0, used: 0 }
    }

    /// The charge that came with a call's permit.
    pub(crate) fn of_call(shares: &Arc<Shares>, permit: &mut CallPermit<'_>) -> Self {
        let ShareRequest { policy, class, bytes } = permit.take_memory();
        Self { shares: Arc::clone(shares), payer: Payer::Call(policy, class), charged: bytes, used: 0 }
    }

    /// Charges more; warm instances are dropped to make room for a call.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), Full> {
        let missing = (self.used + more).saturating_sub(self.charged);
        if missing > 0 {
            self.charge(missing)?;
        }
        self.used += more;
        Ok(())
    }

    fn charge(&mut self, more: usize) -> Result<(), Full> {
        let shares = &self.shares;
        if !shares.take(&self.payer, more) {
            let is_call = matches!(self.payer, Payer::Call(..));
            if !is_call || !shares.reclaimers.reclaim() || !shares.take(&self.payer, more) {
                return Err(shares.refuse(&self.payer));
            }
        }
        self.charged += more;
        Ok(())
    }

    /// Moves the charge of a warm instance to the call that uses it.
    pub(crate) fn assign(&mut self, permit: &mut CallPermit<'_>) -> Result<(), Full> {
        let mut call = Self::of_call(&self.shares, permit);
        let fits = self.hand_over(&mut call) || (self.shares.reclaimers.reclaim() && self.hand_over(&mut call));
        if !fits {
            return Err(self.shares.refuse(&call.payer));
        }
        *self = call;
        Ok(())
    }

    /// Moves its memory to another charge, if that may have it. It is one step: a call that waits would otherwise get
    /// the memory between the two.
    fn hand_over(&mut self, other: &mut Self) -> bool {
        let shares = &self.shares;
        let mut state = shares.state.lock();
        let missing = self.used.saturating_sub(other.charged);
        state.charge(&self.payer, -(self.charged as isize));
        let may = missing == 0 || shares.may_take(&state, &other.payer, missing);
        if may {
            state.charge(&other.payer, missing as isize);
            other.charged += missing;
            (other.used, self.used, self.charged) = (self.used, 0, 0);
            shares.serve_queue(&mut state);
        } else {
            state.charge(&self.payer, self.charged as isize);
        }
        may
    }

    /// Moves out the whole charge.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::warm(&self.shares))
    }

    /// Bytes in use.
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// Whether it is large enough to be released at once.
    pub(crate) fn is_large(&self) -> bool {
        self.used > self.shares.limit(CallClass::Decision).bytes / LARGE
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        if self.charged > 0 {
            let mut state = self.shares.state.lock();
            state.charge(&self.payer, -(self.charged as isize));
            self.shares.serve_queue(&mut state);
        }
    }
}

impl fmt::Debug for MemoryCharge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryCharge").field("charged", &self.charged).finish_non_exhaustive()
    }
}

// === impl Shares ===

impl Shares {
    fn take(&self, payer: &Payer, more: usize) -> bool {
        let mut state = self.state.lock();
        let may = self.may_take(&state, payer, more);
        if may {
            state.charge(payer, more as isize);
        }
        may
    }

    fn may_take(&self, state: &SharesState, payer: &Payer, more: usize) -> bool {
        match payer {
            Payer::Warm => {
                let fits = state.all().bytes + more <= self.limit(CallClass::Decision).bytes / WARM;
                fits && !self.is_awaited(state, more)
            }
            Payer::Call(policy, class) => {
                let mut held = state.held_by(policy, *class);
                // The call's own permit does not count.
                held.calls = held.calls.saturating_sub(1);
                held.may_grow(more, self.free(state, *class).bytes)
            }
        }
    }

    /// Whether a call waits for memory, or would have to if this many bytes were taken: calls come before warm
    /// instances.
    fn is_awaited(&self, state: &SharesState, bytes: usize) -> bool {
        state.queue.iter().any(|waiter| {
            let ShareRequest { policy, class, bytes: wanted } = &waiter.request;
            let free = self.free(state, *class).bytes.saturating_sub(bytes);
            !state.held_by(policy, *class).may_grow(*wanted, free)
        })
    }

    fn refuse(&self, payer: &Payer) -> Full {
        let class = match payer {
            Payer::Warm => CallClass::Background,
            Payer::Call(_, class) => {
                self.state.lock().refused_memory += 1;
                *class
            }
        };
        Full { class, max_bytes: self.limit(class).bytes }
    }
}

// === impl SharesState ===

impl SharesState {
    fn charge(&mut self, payer: &Payer, bytes: isize) {
        let add = |held: &mut usize| *held = held.saturating_add_signed(bytes);
        match payer {
            Payer::Warm => add(&mut self.warm),
            Payer::Call(policy, class) => self.change(policy, *class, |held| add(&mut held.bytes)),
        }
    }
}

// === impl Full ===

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.max_bytes >> 20;
        match self.class {
            CallClass::Decision => write!(f, "the memory of all policies together is taken: {mib} MiB"),
            CallClass::Background => {
                write!(f, "the memory of policies that no decision waits for is taken: {mib} MiB together")
            }
        }
    }
}
