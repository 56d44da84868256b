//! Single flight: concurrent requests for one key share one computation and its result. The computation has the priority
//! of the most urgent of them.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;

use crate::compile::{Priority, SharedPriority};

/// Computations in progress, by key.
pub(super) struct SingleFlight<K, V>(Mutex<HashMap<K, Arc<Flight<V>>>>);

struct Flight<V> {
    value: OnceLock<V>,
    priority: SharedPriority,
}

// === impl SingleFlight ===

impl<K: Copy + Eq + Hash, V: Clone> SingleFlight<K, V> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Whether a computation is in progress.
    pub(super) fn is_busy(&self) -> bool {
        !self.0.lock().is_empty()
    }

    /// Computes the value, or waits for the computation in progress.
    ///
    /// If the computation panics, one of the waiters computes the value.
    pub(super) fn run(&self, key: K, priority: Priority, work: impl FnOnce(&SharedPriority) -> V) -> V {
        let new = || Arc::new(Flight { value: OnceLock::new(), priority: SharedPriority::new(priority) });
        let flight = Arc::clone(self.0.lock().entry(key).or_insert_with(new));
        flight.priority.raise(priority);
        let _guard = FlightGuard { flights: self, key, flight: &flight };
        flight.value.get_or_init(|| work(&flight.priority)).clone()
    }
}

/// Removes a computation that has ended, by a panic too: otherwise [`SingleFlight::is_busy`] would stay true.
struct FlightGuard<'a, K: Eq + Hash, V> {
    flights: &'a SingleFlight<K, V>,
    key: K,
    flight: &'a Arc<Flight<V>>,
}

impl<K: Eq + Hash, V> Drop for FlightGuard<'_, K, V> {
    fn drop(&mut self) {
        let mut flights = self.flights.0.lock();
        if flights.get(&self.key).is_some_and(|current| Arc::ptr_eq(current, self.flight)) {
            flights.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{self, AssertUnwindSafe},
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn those_who_come_meanwhile_share_the_result_and_those_after_do_the_work_again() {
        let (flights, count, started) = (SingleFlight::new(), AtomicUsize::new(0), Barrier::new(9));
        let run = |key: u8, until: &dyn Fn()| {
            flights.run(key, Priority::Normal, |_| {
                until();
                count.fetch_add(1, SeqCst)
            })
        };
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                run(1, &|| {
                    started.wait();
                    // The others are about to wait for this one.
                    while Arc::strong_count(&flights.0.lock()[&1]) < 10 {
                        thread::yield_now();
                    }
                })
            });
            let others: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        started.wait();
                        run(1, &|| {})
                    })
                })
                .collect();
            assert_eq!(first.join().unwrap(), 0);
            assert!(others.into_iter().all(|other| other.join().unwrap() == 0));
        });
        assert_eq!((run(1, &|| {}), run(2, &|| {})), (1, 2));
        assert!(flights.0.lock().is_empty());
    }

    #[test]
    fn a_computation_has_the_priority_of_the_most_urgent_that_wait_for_it() {
        let (flights, started) = (SingleFlight::new(), Barrier::new(2));
        let deadline = Instant::now() + Duration::from_secs(20);
        thread::scope(|scope| {
            scope.spawn(|| {
                flights.run(1, Priority::Normal, |priority| {
                    assert_eq!(priority.get(), Priority::Normal);
                    started.wait();
                    while priority.get() != Priority::Urgent {
                        assert!(Instant::now() < deadline, "it stays as it was");
                        thread::yield_now();
                    }
                });
            });
            started.wait();
            flights.run(1, Priority::Urgent, |_| {});
        });
    }

    #[test]
    fn a_computation_that_panics_is_over() {
        let flights = SingleFlight::<u8, u8>::new();
        let panics = || flights.run(1, Priority::Normal, |_| panic!("a bug"));
        assert!(panic::catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(!flights.is_busy());
        assert_eq!(flights.run(1, Priority::Normal, |_| 2), 2);
    }
}
