//! One pod at a time is bound to a node: whoever comes later waits, in order, until its deadline.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The nodes that are held now. A node that is not held takes no room.
#[derive(Debug, Default)]
pub(crate) struct NodeLocks {
    held: Mutex<HashMap<Arc<str>, Queue>>,
}

/// Who waits for a node, in order.
type Queue = VecDeque<Arc<Waiter>>;

/// One who waits; each is woken by itself, since many may wait.
#[derive(Debug, Default)]
struct Waiter {
    /// The node was handed over; changed under the table's lock alone.
    granted: AtomicBool,
    wake: Condvar,
}

/// A node that is held; dropping it hands the node over to the next.
#[derive(Debug)]
pub(crate) struct HeldNode<'l> {
    locks: &'l NodeLocks,
    node: Arc<str>,
}

// === impl NodeLocks ===

impl NodeLocks {
    /// Holds a node, as soon as everyone who came before has left it; none if that takes longer than this.
    pub(crate) fn hold(&self, node: &str, patience: Duration) -> Option<HeldNode<'_>> {
        let mut held = self.table();
        let Some(queue) = held.get_mut(node) else {
            let node: Arc<str> = node.into();
            held.insert(Arc::clone(&node), Queue::new());
            return Some(HeldNode { locks: self, node });
        };
        let waiter = Arc::<Waiter>::default();
        queue.push_back(Arc::clone(&waiter));
        self.wait(held, node, &waiter, patience)
    }

    fn wait(
        &self,
        mut held: MutexGuard<'_, HashMap<Arc<str>, Queue>>,
        node: &str,
        waiter: &Arc<Waiter>,
        patience: Duration,
    ) -> Option<HeldNode<'_>> {
        let started = Instant::now();
        while !waiter.granted.load(Ordering::Relaxed) {
            let left = patience.checked_sub(started.elapsed()).filter(|left| !left.is_zero());
            let Some(left) = left else {
                if let Some(queue) = held.get_mut(node) {
                    queue.retain(|other| !Arc::ptr_eq(other, waiter));
                }
                return None;
            };
            held = waiter.wake.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(HeldNode { locks: self, node: node.into() })
    }

    fn hand_over(&self, node: &str) {
        let mut held = self.table();
        match held.get_mut(node).and_then(VecDeque::pop_front) {
            Some(next) => {
                next.granted.store(true, Ordering::Relaxed);
                next.wake.notify_one();
            }
            None => drop(held.remove(node)),
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Arc<str>, Queue>> {
        // Nothing that runs under the lock panics halfway.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl HeldNode ===

impl Drop for HeldNode<'_> {
    fn drop(&mut self) {
        self.locks.hand_over(&self.node);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Barrier, atomic::AtomicUsize},
        thread,
    };

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    /// Waits until so many wait for the node; they do at once, or the test is over.
    fn until_waiting(locks: &NodeLocks, node: &str, count: usize) {
        while locks.table().get(node).map_or(0, VecDeque::len) < count {
            thread::yield_now();
        }
    }

    #[test]
    fn one_node_is_held_once_and_others_meanwhile() {
        let locks = NodeLocks::default();
        let first = locks.hold("n1", LONG).unwrap();
        assert!(locks.hold("n1", Duration::ZERO).is_none());
        assert!(locks.hold("n1", Duration::from_millis(1)).is_none());
        drop(locks.hold("n2", Duration::ZERO).unwrap());
        drop(first);
        drop(locks.hold("n1", Duration::ZERO).unwrap());
    }

    #[test]
    fn a_node_that_nobody_holds_takes_no_room() {
        let locks = NodeLocks::default();
        for node in 0..1000 {
            let _held = locks.hold(&node.to_string(), Duration::ZERO).unwrap();
            assert!(locks.hold(&node.to_string(), Duration::ZERO).is_none());
        }
        assert!(locks.table().is_empty());
    }

    #[test]
    fn those_who_wait_are_served_in_order_and_those_who_left_are_not() {
        let locks = NodeLocks::default();
        let first = locks.hold("n1", LONG).unwrap();
        let order = Mutex::new(vec![]);
        thread::scope(|scope| {
            for waiter in 0..8 {
                let (locks, order) = (&locks, &order);
                scope.spawn(move || {
                    let _held = locks.hold("n1", LONG).unwrap();
                    order.lock().unwrap().push(waiter);
                });
                until_waiting(locks, "n1", waiter + 1);
                assert!(locks.hold("n1", Duration::from_millis(1)).is_none());
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
        assert!(locks.table().is_empty());
    }

    #[test]
    fn no_two_hold_one_node_however_many_come() {
        let locks = NodeLocks::default();
        let (inside, held, start) = ([const { AtomicUsize::new(0) }; 3], AtomicUsize::new(0), Barrier::new(12));
        thread::scope(|scope| {
            for thread in 0..12 {
                let (locks, inside, held, start) = (&locks, &inside, &held, &start);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..2000 {
                        let node = (thread + round) % 3;
                        // Every fourth has no patience to speak of.
                        let patience = if round % 4 == 0 { Duration::from_nanos(1) } else { LONG };
                        let Some(_held) = locks.hold(&node.to_string(), patience) else { continue };
                        assert_eq!(inside[node].fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside[node].fetch_sub(1, Ordering::SeqCst);
                        held.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(held.into_inner() >= 12 * 1500);
        assert!(locks.table().is_empty());
    }
}
