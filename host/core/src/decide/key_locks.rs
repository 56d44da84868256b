//! Locks by name, for pods and for nodes: those that come later wait, in order, until their deadline.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// The keys that are held now. A key that is not held takes no room.
#[derive(Debug, Default)]
pub(crate) struct KeyLocks {
    held: Mutex<HashMap<Arc<str>, Lock>>,
}

/// A key that is held.
#[derive(Debug)]
struct Lock {
    /// The work that its holder does with it.
    purpose: Box<str>,
    /// The requests that wait for it, in order.
    queue: VecDeque<Arc<Waiter>>,
}

/// One request that waits; each is woken by itself, since many may wait.
#[derive(Debug)]
struct Waiter {
    purpose: Box<str>,
    /// The key was handed over; changed under the table's lock alone.
    granted: AtomicBool,
    wake: Condvar,
}

/// A key that is held; dropping it hands the key over to the next.
#[derive(Debug)]
pub(crate) struct Held<'l> {
    locks: &'l KeyLocks,
    key: Arc<str>,
}

// === impl KeyLocks ===

impl KeyLocks {
    /// Holds a key, as soon as every request that came before has let go of it. If that takes longer than
    /// `timeout`: the purpose of the one that holds it.
    pub(crate) fn hold(&self, key: &str, purpose: &str, timeout: Duration) -> Result<Held<'_>, Box<str>> {
        let mut held = self.held.lock();
        let Some(lock) = held.get_mut(key) else {
            let key: Arc<str> = key.into();
            held.insert(Arc::clone(&key), Lock { purpose: purpose.into(), queue: VecDeque::new() });
            return Ok(Held { locks: self, key });
        };
        let waiter = Waiter { purpose: purpose.into(), granted: AtomicBool::new(false), wake: Condvar::new() };
        let waiter = Arc::new(waiter);
        lock.queue.push_back(Arc::clone(&waiter));
        self.wait(held, key, &waiter, timeout)
    }

    fn wait(
        &self,
        mut held: MutexGuard<'_, HashMap<Arc<str>, Lock>>,
        key: &str,
        waiter: &Arc<Waiter>,
        timeout: Duration,
    ) -> Result<Held<'_>, Box<str>> {
        let started = Instant::now();
        while !waiter.granted.load(Ordering::Relaxed) {
            let left = timeout.checked_sub(started.elapsed()).filter(|left| !left.is_zero());
            let Some(left) = left else {
                let Some(lock) = held.get_mut(key) else { return Err(Box::default()) };
                lock.queue.retain(|other| !Arc::ptr_eq(other, waiter));
                return Err(lock.purpose.clone());
            };
            waiter.wake.wait_for(&mut held, left);
        }
        Ok(Held { locks: self, key: key.into() })
    }

    fn hand_over(&self, key: &str) {
        let mut held = self.held.lock();
        let Some(lock) = held.get_mut(key) else { return };
        match lock.queue.pop_front() {
            Some(next) => {
                lock.purpose.clone_from(&next.purpose);
                next.granted.store(true, Ordering::Relaxed);
                next.wake.notify_one();
            }
            None => drop(held.remove(key)),
        }
    }
}

// === impl Held ===

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.locks.hand_over(&self.key);
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

    /// Waits until this many wait for the node; they do at once, or the test is over.
    fn until_waiting(locks: &KeyLocks, node: &str, count: usize) {
        while locks.held.lock().get(node).map_or(0, |lock| lock.queue.len()) < count {
            thread::yield_now();
        }
    }

    #[test]
    fn one_node_is_held_once_and_others_meanwhile() {
        let locks = KeyLocks::default();
        let first = locks.hold("n1", "test", LONG).unwrap();
        assert!(locks.hold("n1", "test", Duration::ZERO).is_err());
        assert!(locks.hold("n1", "test", Duration::from_millis(1)).is_err());
        drop(locks.hold("n2", "test", Duration::ZERO).unwrap());
        drop(first);
        drop(locks.hold("n1", "test", Duration::ZERO).unwrap());
    }

    #[test]
    fn a_request_that_waits_in_vain_is_told_what_the_holder_does() {
        let locks = KeyLocks::default();
        let first = locks.hold("p", "n1", LONG).unwrap();
        assert_eq!(&*locks.hold("p", "n2", Duration::ZERO).unwrap_err(), "n1");
        thread::scope(|scope| {
            scope.spawn(|| {
                let _held = locks.hold("p", "n3", LONG).unwrap();
                assert_eq!(&*locks.hold("p", "n4", Duration::ZERO).unwrap_err(), "n3");
            });
            until_waiting(&locks, "p", 1);
            drop(first);
        });
        assert!(locks.held.lock().is_empty());
    }

    #[test]
    fn a_node_that_nobody_holds_takes_no_room() {
        let locks = KeyLocks::default();
        for node in 0..1000 {
            let _held = locks.hold(&node.to_string(), "test", Duration::ZERO).unwrap();
            assert!(locks.hold(&node.to_string(), "test", Duration::ZERO).is_err());
        }
        assert!(locks.held.lock().is_empty());
    }

    #[test]
    fn those_who_wait_are_served_in_order_and_those_who_left_are_not() {
        let locks = KeyLocks::default();
        let first = locks.hold("n1", "test", LONG).unwrap();
        let order = Mutex::new(vec![]);
        thread::scope(|scope| {
            for waiter in 0..8 {
                let (locks, order) = (&locks, &order);
                scope.spawn(move || {
                    let _held = locks.hold("n1", "test", LONG).unwrap();
                    order.lock().push(waiter);
                });
                until_waiting(locks, "n1", waiter + 1);
                assert!(locks.hold("n1", "test", Duration::from_millis(1)).is_err());
            }
            drop(first);
        });
        assert_eq!(*order.lock(), (0..8).collect::<Vec<_>>());
        assert!(locks.held.lock().is_empty());
    }

    #[test]
    fn no_two_hold_one_node_however_many_come() {
        let locks = KeyLocks::default();
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
                        let Ok(_held) = locks.hold(&node.to_string(), "test", patience) else { continue };
                        assert_eq!(inside[node].fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside[node].fetch_sub(1, Ordering::SeqCst);
                        held.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(held.into_inner() >= 12 * 1500);
        assert!(locks.held.lock().is_empty());
    }
}
