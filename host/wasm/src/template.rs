//! What the instances of one module are made from, and those that were made ahead of their calls.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{
        AtomicU32, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use wasmtime::component::InstancePre;

use crate::{
    instance::{Ahead, Failed, State},
    shares::Shares,
};

/// The most spares of one module: so many members of a group may share it, and are asked one right after another.
const MAX_SPARES: usize = 4;

/// A linked module. All policies with the same bytes share one.
pub(crate) struct Template {
    linked: InstancePre<State>,
    stock: Mutex<Stock>,
    /// Bytes that its calls have taken of late.
    usual_memory: AtomicUsize,
}

struct Stock {
    spares: Vec<Spare>,
    /// How many there should be: one more each time that a call finds none. 0 where the start needs its call.
    wanted: usize,
}

struct Spare {
    ahead: Ahead,
    /// Given back as the spare is taken: the call that takes it has a room of its own.
    _room: Room,
}

/// Counts the rooms for spares, of all modules together.
#[derive(Clone)]
pub(crate) struct Rooms(Arc<AtomicU32>);

/// The room of one spare; given back when it is dropped.
struct Room(Rooms);

/// Every module that may have spares: they are given up where memory is short.
#[derive(Default)]
pub(crate) struct WarmPools(Mutex<Vec<Weak<Template>>>);

// === impl Template ===

impl Template {
    pub(crate) fn new(linked: InstancePre<State>) -> Self {
        Self { linked, stock: Mutex::new(Stock { spares: Vec::new(), wanted: 1 }), usual_memory: AtomicUsize::new(0) }
    }

    pub(crate) fn linked(&self) -> &InstancePre<State> {
        &self.linked
    }

    /// Bytes of memory that a call of it mostly needs.
    pub(crate) fn usual_memory(&self) -> usize {
        self.usual_memory.load(Relaxed)
    }

    /// A call took so much: the most of late counts, and is forgotten as calls take less.
    pub(crate) fn has_used(&self, bytes: usize) {
        let before = self.usual_memory();
        let now = bytes.max(before - before / 8);
        // Another call may have written meanwhile: it is an estimate. A line that does not change stays shared.
        if now != before {
            self.usual_memory.store(now, Relaxed);
        }
    }

    /// A spare that would have started just so within this much memory, if there is one.
    pub(crate) fn take(&self, memory: usize) -> Option<Ahead> {
        let mut stock = self.stock();
        if stock.spares.is_empty() && stock.wanted > 0 {
            stock.wanted = MAX_SPARES.min(stock.wanted + 1);
        }
        stock.spares.pop_if(|spare| spare.ahead.fits(memory)).map(|spare| spare.ahead)
    }

    /// Makes the spares that are missing, as far as there is room.
    pub(crate) fn refill(&self, rooms: &Rooms, shares: &Arc<Shares>) {
        while self.lacks() {
            let Some(room) = rooms.take() else { return };
            match Ahead::start(&self.linked, shares) {
                Ok(ahead) => self.stock().spares.push(Spare { ahead, _room: room }),
                // There may be memory the next time.
                Err(Failed::Full) => return,
                Err(Failed::NeedsItsCall) => {
                    self.stock().wanted = 0;
                    return;
                }
            }
        }
    }

    /// Gives up its spares; whether there were any.
    fn drop_spares(&self) -> bool {
        let spares = std::mem::take(&mut self.stock().spares);
        !spares.is_empty()
    }

    fn lacks(&self) -> bool {
        let stock = self.stock();
        stock.spares.len() < stock.wanted
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl WarmPools ===

impl WarmPools {
    /// From now on this module's spares can be given up.
    pub(crate) fn add(&self, template: &Arc<Template>) {
        let mut pools = self.pools();
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(template));
    }

    /// Gives up all spares; whether there were any.
    pub(crate) fn drop_all(&self) -> bool {
        let pools: Vec<Arc<Template>> = self.pools().iter().filter_map(Weak::upgrade).collect();
        // All of them are to give up theirs, not only the first that has any.
        pools.iter().filter(|pool| pool.drop_spares()).count() > 0
    }

    fn pools(&self) -> MutexGuard<'_, Vec<Weak<Template>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Rooms ===

impl Rooms {
    pub(crate) fn new(count: u32) -> Self {
        Self(Arc::new(AtomicU32::new(count)))
    }

    pub(crate) fn free(&self) -> u32 {
        self.0.load(SeqCst)
    }

    fn take(&self) -> Option<Room> {
        let taken = self.0.fetch_update(SeqCst, SeqCst, |free| free.checked_sub(1));
        taken.is_ok().then(|| Room(self.clone()))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}
