//! What the instances of one module are made from, and those that were made ahead of their calls.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, Ordering::SeqCst},
};

use wasmtime::component::InstancePre;

use crate::instance::{Ahead, State};

/// The most spares of one module: so many members of a group may share it, and are asked one right after another.
const MAX_SPARES: usize = 4;

/// A linked module. All policies with the same bytes share one.
pub(crate) struct Template {
    linked: InstancePre<State>,
    stock: Mutex<Stock>,
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

// === impl Template ===

impl Template {
    pub(crate) fn new(linked: InstancePre<State>) -> Self {
        Self { linked, stock: Mutex::new(Stock { spares: Vec::new(), wanted: 1 }) }
    }

    pub(crate) fn linked(&self) -> &InstancePre<State> {
        &self.linked
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
    pub(crate) fn refill(&self, rooms: &Rooms) {
        while self.lacks() {
            let Some(room) = rooms.take() else { return };
            let Some(ahead) = Ahead::start(&self.linked) else {
                self.stock().wanted = 0;
                return;
            };
            self.stock().spares.push(Spare { ahead, _room: room });
        }
    }

    fn lacks(&self) -> bool {
        let stock = self.stock();
        stock.spares.len() < stock.wanted
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
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
