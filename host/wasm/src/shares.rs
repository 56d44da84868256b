//! Permits for concurrent calls, and the memory of all guests, as two pools that are shared in the same way.
//!
//! A policy holds at most half of a pool. Calls that no decision waits for (policies in shadow mode, explanations) have
//! a quarter together, and so have spares.

use std::{collections::HashMap, mem, sync::Arc, time::Instant};

use parking_lot::{Condvar, Mutex};
use plimsoll_core::CallClass;

/// An instance with more than one in this many bytes of all memory is dropped at once, in its call, and not queued.
const LARGE: usize = 64;

/// Permits, or bytes.
pub(crate) struct Pool {
    max: usize,
    held: Mutex<HashMap<Account, usize>>,
    /// Notified when something is released.
    released: Condvar,
}

/// What a call or a spare is charged to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Account {
    All,
    Policy(Arc<str>),
    Background,
    Spares,
}

/// The shares in use, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharesInUse {
    /// Calls under way, by [`CallClass`].
    pub calls: [usize; 2],
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
    pool: Arc<Pool>,
    /// A spare has none.
    payer: Option<Payer>,
    held: usize,
}

/// Not enough memory is left.
#[derive(Debug, thiserror::Error)]
#[error("the memory of guests is taken: {mib} MiB for all policies, half of it for one (--guest-memory)")]
pub(crate) struct Full {
    mib: usize,
}

// === impl Pool ===

impl Pool {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, held: Mutex::default(), released: Condvar::new() })
    }

    /// Waits for a permit, and tells whether it had to; `None` if the deadline passes first.
    pub(crate) fn permit(self: &Arc<Self>, payer: Payer, deadline: Instant) -> Option<(Charge, bool)> {
        let (mut permit, mut is_late) = (Charge::new(self, Some(payer)), false);
        let mut held = self.held.lock();
        while !permit.take(&mut held, 1) {
            if Instant::now() >= deadline {
                // Dropping the empty charge locks the pool.
                drop(held);
                return None;
            }
            self.released.wait_until(&mut held, deadline);
            is_late = true;
        }
        Some((permit, is_late))
    }

    fn held(&self, account: &Account) -> usize {
        self.held.lock().get(account).copied().unwrap_or_default()
    }
}

impl SharesInUse {
    pub(crate) fn of(permits: &Pool, memory: &Pool) -> Self {
        let background = permits.held(&Account::Background);
        let decisions = permits.held(&Account::All).saturating_sub(background);
        Self { calls: [decisions, background], bytes: memory.held(&Account::All), max_bytes: memory.max }
    }
}

// === impl Charge ===

impl Charge {
    /// The empty charge of an instance: of a call, or of a spare.
    pub(crate) fn new(pool: &Arc<Pool>, payer: Option<Payer>) -> Self {
        Self { pool: Arc::clone(pool), payer, held: 0 }
    }

    /// Charges more.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), Full> {
        let pool = Arc::clone(&self.pool);
        if self.take(&mut pool.held.lock(), more) { Ok(()) } else { Err(Full { mib: pool.max >> 20 }) }
    }

    /// Moves the charge of a spare to the call that uses it. Without room for it, it is released.
    pub(crate) fn assign(&mut self, payer: Payer) -> Result<(), Full> {
        let more = self.held;
        *self = Self::new(&self.pool, Some(payer));
        self.grow(more)
    }

    /// Moves out the whole charge.
    pub(crate) fn take_all(&mut self) -> Self {
        let empty = Self::new(&self.pool, None);
        mem::replace(self, empty)
    }

    /// Whether it is so large that the instance must be dropped at once.
    pub(crate) fn is_large(&self) -> bool {
        self.held > self.pool.max / LARGE
    }

    /// Takes more, if each account may hold as much.
    fn take(&mut self, held: &mut HashMap<Account, usize>, more: usize) -> bool {
        let part = |count: usize| (self.pool.max / count).max(1);
        let may = self.accounts().all(|account| {
            let before = held.get(&account).copied().unwrap_or_default();
            let most = match account {
                Account::All => self.pool.max,
                // The only call of a policy may have all that is left: otherwise a large need could never be met.
                Account::Policy(_) if before == self.held => self.pool.max,
                Account::Policy(_) => part(2),
                Account::Background | Account::Spares => part(4),
            };
            before.saturating_add(more) <= most
        });
        if may {
            self.accounts().for_each(|account| *held.entry(account).or_default() += more);
            self.held += more;
        }
        may
    }

    fn accounts(&self) -> impl Iterator<Item = Account> + use<> {
        let (own, background) = match &self.payer {
            None => (Account::Spares, None),
            Some(Payer { policy, class }) => {
                let is_background = *class == CallClass::Background;
                (Account::Policy(Arc::clone(policy)), is_background.then_some(Account::Background))
            }
        };
        [Account::All, own].into_iter().chain(background)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut held = self.pool.held.lock();
        for account in self.accounts() {
            let Some(all) = held.get_mut(&account) else { continue };
            *all -= self.held;
            if *all == 0 {
                held.remove(&account);
            }
        }
        self.pool.released.notify_all();
    }
}

#[cfg(test)]
mod tests;
