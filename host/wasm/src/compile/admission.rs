//! Admission control for compiles: the number that run at once, and their memory.
//!
//! Small modules compile concurrently, large ones one at a time; neither class waits for the other. Within a class those
//! that wait have an order. In a container with a memory limit all compiles together stay below the memory that is left.

mod turns;

use parking_lot::{Condvar, Mutex};
use plimsoll_system::{cgroup, private_memory};

use self::turns::{Turn, Turns};
use super::{
    error::StoppedError,
    priority::{Priority, SharedPriority},
};

/// Modules up to this size are small. A policy in Rust has about 100 KB; a language runtime has megabytes.
const SMALL_BYTES: u64 = 1 << 20;

/// Memory of a small compile; one that needs more runs again as a large one.
const SMALL_MEMORY: u64 = 256 << 20;

/// A compile needs at least this much, and this many times the size of the module.
const LEAST: u64 = 64 << 20;
const LEAST_PER_BYTE: u64 = 16;

/// A large compile leaves this for a small one: the largest small module, and by how much the gateway may grow
/// meanwhile.
const SMALL_RESERVE: u64 = LEAST + LEAST_PER_BYTE * SMALL_BYTES + (16 << 20);

/// The size of a module, for its compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompileClass {
    Small,
    Large,
}

/// Hands out permits to compile.
pub(super) struct Admission {
    state: Mutex<AdmissionState>,
    changed: Condvar,
    max_small: usize,
    /// Maximum memory of one compile.
    memory: u64,
    meter: MemoryMeter,
}

/// The way in which memory is measured.
#[derive(Debug, Clone, Copy)]
struct MemoryMeter {
    /// Bytes that the container may still take; none if it has no limit.
    left: fn() -> Option<u64>,
    /// Bytes that a process takes.
    used: fn(u32) -> Option<u64>,
}

#[derive(Default)]
struct AdmissionState {
    small: usize,
    large: usize,
    /// Bytes granted to the running compiles.
    granted: u64,
    /// The processes that compile.
    processes: Vec<u32>,
    /// Those that wait, by class.
    turns: [Turns; 2],
}

/// The place of a compile among those that wait; given up on drop.
struct Ticket<'a> {
    admission: &'a Admission,
    class: CompileClass,
    turn: Turn,
}

/// A process that is counted among those that compile, as long as this lives.
pub(super) struct CountedProcess<'a> {
    admission: &'a Admission,
    pid: u32,
}

/// A permit to run one compile; released on drop.
pub(super) struct CompilePermit<'a> {
    admission: &'a Admission,
    class: CompileClass,
    /// Maximum memory of this compile.
    pub(super) memory: u64,
}

// === impl CompileClass ===

impl CompileClass {
    pub(super) fn of(size: u64) -> Self {
        if size <= SMALL_BYTES { Self::Small } else { Self::Large }
    }
}

// === impl Admission ===

impl Admission {
    pub(super) fn new(cores: usize, memory: u64) -> Self {
        let meter = MemoryMeter { left: cgroup::memory_left, used: private_memory };
        Self { state: Mutex::default(), changed: Condvar::new(), max_small: cores, memory, meter }
    }

    /// Waits until a compile of a module of this size may run.
    ///
    /// # Errors
    /// If too little memory is left although no other compile runs.
    pub(super) fn enter(
        &self,
        class: CompileClass,
        size: u64,
        priority: &SharedPriority,
    ) -> Result<CompilePermit<'_>, StoppedError> {
        let needed = (LEAST + LEAST_PER_BYTE.saturating_mul(size)).min(self.memory);
        // Dropped after the guard of the state.
        let ticket = Ticket { admission: self, class, turn: self.state.lock().turns(class).join(priority) };
        let mut state = self.state.lock();
        loop {
            // Small modules that take long to compile must not keep those of policies in force waiting.
            let max_small = self.max_small + usize::from(priority.get() == Priority::Urgent);
            if state.turns(class).first() == Some(ticket.turn) && state.has_room(class, max_small) {
                let left = self.meter.left_without(&state.processes);
                let memory = self.share(class, left, state.granted);
                if memory >= needed {
                    state.enter(class, ticket.turn, memory);
                    return Ok(CompilePermit { admission: self, class, memory });
                }
                if state.granted == 0 {
                    return Err(StoppedError::NoMemoryLeft { needed, left: left.unwrap_or(u64::MAX) });
                }
            }
            self.changed.wait(&mut state);
        }
    }

    /// The memory that one more compile may take, of the part that is left beside the gateway and granted to compiles
    /// so far.
    ///
    /// A quarter stays with the gateway, which serves meanwhile.
    fn share(&self, class: CompileClass, left: Option<u64>, granted: u64) -> u64 {
        let (wanted, reserve) = match class {
            CompileClass::Small => (self.memory.min(SMALL_MEMORY), 0),
            // A small one must not wait until a large one is done.
            CompileClass::Large => (self.memory, SMALL_RESERVE),
        };
        let Some(left) = left else { return wanted };
        wanted.min((left / 4 * 3).saturating_sub(granted).saturating_sub(reserve))
    }
}

// === impl MemoryMeter ===

impl MemoryMeter {
    /// Bytes that the container could still take if these processes were not there: the memory that they take now is
    /// part of their grants, and must not count twice.
    fn left_without(&self, processes: &[u32]) -> Option<u64> {
        let used: u64 = processes.iter().filter_map(|pid| (self.used)(*pid)).sum();
        (self.left)().map(|left| left.saturating_add(used))
    }
}

// === impl AdmissionState ===

impl AdmissionState {
    fn has_room(&self, class: CompileClass, max_small: usize) -> bool {
        match class {
            CompileClass::Small => self.small < max_small,
            CompileClass::Large => self.large == 0,
        }
    }

    fn count(&mut self, class: CompileClass) -> &mut usize {
        match class {
            CompileClass::Small => &mut self.small,
            CompileClass::Large => &mut self.large,
        }
    }

    fn turns(&mut self, class: CompileClass) -> &mut Turns {
        &mut self.turns[class as usize]
    }

    fn enter(&mut self, class: CompileClass, turn: Turn, memory: u64) {
        self.turns(class).begin(turn);
        *self.count(class) += 1;
        self.granted += memory;
    }
}

// === impl Ticket ===

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.admission.state.lock().turns(self.class).leave(self.turn);
        // Another one is first now.
        self.admission.changed.notify_all();
    }
}

// === impl CompilePermit ===

impl<'a> CompilePermit<'a> {
    /// Counts the memory of the process that compiles as part of its grant.
    pub(super) fn count(&self, pid: u32) -> CountedProcess<'a> {
        self.admission.state.lock().processes.push(pid);
        CountedProcess { admission: self.admission, pid }
    }
}

impl Drop for CompilePermit<'_> {
    fn drop(&mut self) {
        let mut state = self.admission.state.lock();
        *state.count(self.class) -= 1;
        state.granted -= self.memory;
        drop(state);
        self.admission.changed.notify_all();
    }
}

// === impl CountedProcess ===

impl Drop for CountedProcess<'_> {
    fn drop(&mut self) {
        let mut state = self.admission.state.lock();
        if let Some(at) = state.processes.iter().position(|pid| *pid == self.pid) {
            state.processes.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier,
            atomic::{
                AtomicBool, AtomicU64,
                Ordering::{Relaxed, SeqCst},
            },
        },
        thread,
        time::{Duration, Instant},
    };

    use super::*;
    use crate::compile::priority::Priority;

    const MIB: u64 = 1 << 20;

    fn admission(left: fn() -> Option<u64>) -> Admission {
        Admission { meter: MemoryMeter { left, used: |_| None }, ..Admission::new(2, 1024 * MIB) }
    }

    fn enter(admission: &Admission, class: CompileClass, size: u64) -> Result<CompilePermit<'_>, StoppedError> {
        admission.enter(class, size, &SharedPriority::new(Priority::Normal))
    }

    /// A container with 1300 MiB, of which the large compile uses a growing part and the gateway another.
    #[test]
    fn a_small_one_does_not_wait_for_a_large_one_however_much_that_has_taken_so_far() {
        static USED: AtomicU64 = AtomicU64::new(0);
        static GROWN: AtomicU64 = AtomicU64::new(0);
        let left = || Some(1300 * MIB - USED.load(Relaxed) - GROWN.load(Relaxed));
        let used = |pid| (pid == 7).then(|| USED.load(Relaxed));
        let admission = Admission { meter: MemoryMeter { left, used }, ..Admission::new(2, 1024 * MIB) };
        let large = enter(&admission, CompileClass::Large, 18 * MIB).unwrap();
        let process = large.count(7);
        for (taken, grown) in [(0, 0), (20 * MIB, 0), (large.memory, 0), (large.memory, 20 * MIB)] {
            USED.store(taken, Relaxed);
            GROWN.store(grown, Relaxed);
            // It would wait for ever if there were no room.
            let small = enter(&admission, CompileClass::Small, MIB).unwrap();
            assert!(large.memory + small.memory <= 1300 * MIB / 4 * 3);
        }
        drop((process, large));
        assert!(admission.state.lock().processes.is_empty());
    }

    #[test]
    fn without_a_limit_each_takes_what_the_flag_says() {
        let admission = admission(|| None);
        assert_eq!(enter(&admission, CompileClass::Small, MIB).unwrap().memory, SMALL_MEMORY);
        assert_eq!(enter(&admission, CompileClass::Large, 18 * MIB).unwrap().memory, 1024 * MIB);
    }

    #[test]
    fn all_together_stay_below_three_quarters_of_what_is_left() {
        let admission = admission(|| Some(800 * MIB));
        let large = enter(&admission, CompileClass::Large, 18 * MIB).unwrap();
        let small = enter(&admission, CompileClass::Small, MIB).unwrap();
        assert!(large.memory >= 500 * MIB && small.memory >= LEAST + LEAST_PER_BYTE * MIB);
        assert!(large.memory + small.memory <= 600 * MIB, "{} + {}", large.memory, small.memory);
    }

    #[test]
    fn too_little_memory_is_said_when_nobody_will_give_any_back() {
        let admission = admission(|| Some(100 * MIB));
        let error = enter(&admission, CompileClass::Large, 18 * MIB).err().unwrap();
        assert!(
            matches!(error, StoppedError::NoMemoryLeft { needed, left } if needed == 352 * MIB && left == 100 * MIB)
        );
    }

    #[test]
    fn large_ones_take_turns_and_small_ones_go_past() {
        let admission = admission(|| None);
        let first = enter(&admission, CompileClass::Large, 2 * MIB).unwrap();
        let (is_over, begun) = (AtomicBool::new(false), Barrier::new(2));
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                begun.wait();
                let permit = enter(&admission, CompileClass::Large, 2 * MIB).unwrap();
                (permit.memory, is_over.load(SeqCst))
            });
            begun.wait();
            let small = [1, 2].map(|size| enter(&admission, CompileClass::Small, size).unwrap());
            assert!(!admission.state.lock().has_room(CompileClass::Large, admission.max_small));
            is_over.store(true, SeqCst);
            drop((small, first));
            assert_eq!(second.join().unwrap(), (1024 * MIB, true));
        });
        assert_eq!(admission.state.lock().granted, 0);
    }

    #[test]
    fn those_that_wait_begin_by_priority_then_in_the_order_of_their_arrival() {
        let admission = admission(|| None);
        let (deadline, order) = (Instant::now() + Duration::from_secs(20), Mutex::new(Vec::new()));
        let first = enter(&admission, CompileClass::Large, 2 * MIB).unwrap();
        thread::scope(|scope| {
            let all = [Priority::Background, Priority::Normal, Priority::Urgent, Priority::Normal, Priority::Urgent];
            for (at, priority) in all.into_iter().enumerate() {
                let (admission, order) = (&admission, &order);
                scope.spawn(move || {
                    let priority = SharedPriority::new(priority);
                    let _permit = admission.enter(CompileClass::Large, 2 * MIB, &priority).unwrap();
                    order.lock().push(at);
                });
                while admission.state.lock().turns(CompileClass::Large).len() <= at {
                    assert!(Instant::now() < deadline, "it does not wait");
                    thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*order.lock(), [2, 4, 1, 3, 0]);
        assert_eq!(admission.state.lock().turns(CompileClass::Large).len(), 0);
    }

    #[test]
    fn one_that_gives_up_lets_the_next_one_begin() {
        static LEFT: AtomicU64 = AtomicU64::new(1000 * MIB);
        let admission = &admission(|| Some(LEFT.load(Relaxed)));
        let first = enter(admission, CompileClass::Large, 2 * MIB).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        thread::scope(|scope| {
            let priority = SharedPriority::new(Priority::Urgent);
            let urgent = scope.spawn(move || admission.enter(CompileClass::Large, 30 * MIB, &priority).map(drop));
            let normal = scope.spawn(move || enter(admission, CompileClass::Large, 2 * MIB).map(drop));
            while admission.state.lock().turns(CompileClass::Large).len() < 2 {
                assert!(Instant::now() < deadline, "they do not wait");
                thread::yield_now();
            }
            LEFT.store(400 * MIB, Relaxed);
            drop(first);
            assert!(urgent.join().unwrap().is_err() && normal.join().unwrap().is_ok());
        });
    }

    #[test]
    fn one_urgent_small_one_runs_beside_as_many_others_as_cores() {
        let admission = admission(|| None);
        let _others = [1, 1].map(|size| enter(&admission, CompileClass::Small, size).unwrap());
        let urgent = SharedPriority::new(Priority::Urgent);
        // It would wait for ever.
        let _permit = admission.enter(CompileClass::Small, 1, &urgent).unwrap();
        assert!(!admission.state.lock().has_room(CompileClass::Small, admission.max_small + 1));
    }

    #[test]
    fn small_ones_are_as_many_as_cores() {
        let admission = admission(|| None);
        let permits = [1, 1].map(|size| enter(&admission, CompileClass::Small, size).unwrap());
        assert!(!admission.state.lock().has_room(CompileClass::Small, admission.max_small));
        drop(permits);
        assert!(admission.state.lock().has_room(CompileClass::Small, admission.max_small));
    }
}
