//! Bind calls that are expected: a filter that counts pods waits a moment for those of pods decided just before.
//!
//! ```text
//!  /prioritize of pod A ──> decided ──> Expected ──┬──> Arrived (/bind of A) ──> over (A has its place, or gets none)
//!       /filter of pod B ──> wait (for A) ─────────┴──> Missed (the wait is over)
//! ```
//!
//! kube-scheduler decides about pods one after another, but sends their bind calls from other threads: the next pod's
//! filter often overtakes them, by less than a millisecond.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::model::{BindQuery, Blocking, Pod};

/// The longest wait of a filter where no other is configured. The bind call comes 0.7 ms after the reply that it
/// follows (median; 4.2 ms in 99 of 100 cases).
pub const BIND_CALL_WAIT: Duration = Duration::from_millis(5);

/// Once a group has missed this many bind calls in a row, none is expected until the next comes.
const MAX_MISSED: u8 = 3;

/// The most pods that are kept, and the bytes of their JSON.
const MAX_PODS: usize = 128;
const MAX_BYTES: usize = 4 << 20;

/// The pods that were decided about last, and the bind calls that are expected for them.
#[derive(Debug)]
pub(crate) struct BindCalls {
    table: Mutex<Table>,
    over: Condvar,
    max_wait: Duration,
}

#[derive(Debug, Default)]
struct Table {
    /// From the oldest decision to the newest.
    pods: VecDeque<DecidedPod>,
    /// The number of decisions so far.
    decisions: u64,
    /// By group: the calls that were waited for in vain since the last one came.
    missed: HashMap<Box<str>, u8>,
}

/// A pod whose last request before its bind is answered, and whose place is not reserved yet.
#[derive(Debug)]
struct DecidedPod {
    pod: Arc<Pod>,
    group: Box<str>,
    /// The number of its decision.
    number: u64,
    call: CallState,
}

/// The bind call of a decided pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Expected,
    Arrived,
    /// No filter waits for it.
    Missed,
}

/// A bind call that has arrived. Filters wait for it until it is dropped.
#[derive(Debug)]
pub(crate) struct BindCall<'c> {
    calls: &'c BindCalls,
    uid: &'c str,
    /// The pod as the scheduler's own request showed it; none if it is not known.
    pub(crate) pod: Option<Arc<Pod>>,
}

/// The wait of a filter for the bind calls of other pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindCallWait {
    /// Its duration.
    pub elapsed: Duration,
    /// The number of bind calls that did not come in time.
    pub missed: usize,
}

// === impl BindCalls ===

impl BindCalls {
    /// Filters wait at most this long; with a time of 0 they do not wait.
    pub(crate) fn new(max_wait: Duration) -> Self {
        Self { table: Mutex::default(), over: Condvar::new(), max_wait }
    }

    /// The pod's last request before its bind is answered: its bind call is expected.
    pub(crate) fn decided(&self, group: &str, pod: &Arc<Pod>) {
        if pod.uid().is_empty() {
            return;
        }
        let mut table = self.table.lock();
        table.forget(pod.uid());
        table.decisions += 1;
        let misses = table.missed.get(group).is_some_and(|missed| *missed >= MAX_MISSED);
        // kube-scheduler binds the members of a pod group when it has asked about all of them.
        let is_late = misses || self.max_wait.is_zero() || pod.pod_group().is_some();
        let call = if is_late { CallState::Missed } else { CallState::Expected };
        let number = table.decisions;
        table.pods.push_back(DecidedPod { pod: Arc::clone(pod), group: group.into(), number, call });
        while table.pods.len() > MAX_PODS || table.bytes() > MAX_BYTES {
            table.pods.pop_front();
        }
    }

    /// Waits until each pod that was decided so far has its place; none if no bind call is expected.
    ///
    /// A call that does not come in time is no longer expected, so nothing is waited for twice.
    pub(crate) fn wait(&self, blocking: Blocking) -> Option<BindCallWait> {
        let mut table = self.table.lock();
        let until = table.decisions;
        if !table.expects(until) {
            return None;
        }
        drop(table);
        // The call may come on a connection that this thread serves.
        Some(blocking.run(|| self.wait_until(until)))
    }

    fn wait_until(&self, until: u64) -> BindCallWait {
        let started = Instant::now();
        let mut table = self.table.lock();
        while table.expects(until) {
            let left = self.max_wait.saturating_sub(started.elapsed());
            if left.is_zero() {
                break;
            }
            self.over.wait_for(&mut table, left);
        }
        BindCallWait { missed: table.give_up(until), elapsed: started.elapsed() }
    }

    /// A bind call has come.
    pub(crate) fn arrived<'c>(&'c self, query: &'c BindQuery<'_>) -> BindCall<'c> {
        let Table { pods, missed, .. } = &mut *self.table.lock();
        let decided = pods.iter_mut().rfind(|own| own.pod.uid() == query.uid);
        let pod = decided.and_then(|decided| {
            decided.call = CallState::Arrived;
            missed.remove(&decided.group);
            (decided.pod.name() == query.name && decided.pod.namespace() == query.namespace)
                .then(|| Arc::clone(&decided.pod))
        });
        BindCall { calls: self, uid: &query.uid, pod }
    }
}

// === impl BindCall ===

impl Drop for BindCall<'_> {
    fn drop(&mut self) {
        self.calls.table.lock().forget(self.uid);
        self.calls.over.notify_all();
    }
}

// === impl Table ===

impl Table {
    /// The pods that were decided up to number `until` and that are waited for.
    fn expected(&mut self, until: u64) -> impl Iterator<Item = &mut DecidedPod> {
        self.pods.iter_mut().filter(move |decided| decided.number <= until && decided.call != CallState::Missed)
    }

    fn expects(&mut self, until: u64) -> bool {
        self.expected(until).next().is_some()
    }

    /// Waits for these calls no more, and returns the number of those that have not come.
    fn give_up(&mut self, until: u64) -> usize {
        let mut groups = Vec::new();
        for decided in self.expected(until) {
            if decided.call == CallState::Expected {
                groups.push(decided.group.clone());
            }
            decided.call = CallState::Missed;
        }
        let count = groups.len();
        for group in groups {
            let missed = self.missed.entry(group).or_default();
            *missed = missed.saturating_add(1);
        }
        count
    }

    /// The bytes of the JSON of all pods.
    fn bytes(&self) -> usize {
        self.pods.iter().filter_map(|decided| Some(decided.pod.json()?.len())).sum()
    }

    fn forget(&mut self, uid: &str) {
        self.pods.retain(|decided| decided.pod.uid() != uid);
    }
}

#[cfg(test)]
mod tests;
