//! Bind calls that are expected: a filter that counts pods waits a moment for those of pods decided just before.
//!
//! ```text
//!  /prioritize of pod A ──> decided ──> expected ──┬──> arrived (/bind of A)    A counts on its node
//!       /filter of pod B ──> wait (for A) ─────────┴──> missed (the bound is over)
//! ```
//!
//! kube-scheduler decides about pods one after another, but sends their bind calls from other threads: the next pod's
//! filter often overtakes them, by less than a millisecond.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::model::{BindQuery, Blocking, Pod, Sender};

/// The longest wait of a filter where no other is configured. The bind call comes 0.7 ms after the reply that it
/// follows (median; 4.2 ms in 99 of 100 cases).
pub const BIND_CALL_WAIT: Duration = Duration::from_millis(5);

/// Once a group has missed this many bind calls in a row, none is expected until the next comes.
const MAX_MISSED: u8 = 3;

/// The most senders whose pods are kept; of more, those go that sent nothing for longest.
const MAX_SENDERS: usize = 4;

/// The most pods that are kept of one sender, and the bytes of their JSON: a stranger's requests stay within them, and
/// take nothing from another sender.
const MAX_PODS: usize = 128;
const MAX_BYTES: usize = 4 << 20;

/// The most groups that one sender is known to ask.
const MAX_GROUPS: usize = 64;

/// The pods that were decided about last, and which of their bind calls are expected.
#[derive(Debug)]
pub(crate) struct BindCalls {
    table: Mutex<Table>,
    arrived: Condvar,
    max_wait: Duration,
}

#[derive(Debug, Default)]
struct Table {
    /// The one that asked last is the last.
    senders: Vec<OfSender>,
    /// The decisions that were written down.
    decisions: u64,
}

/// The pods and groups that one sender has asked about.
#[derive(Debug)]
struct OfSender {
    sender: Sender,
    /// From the oldest decision to the newest.
    pods: VecDeque<DecidedPod>,
    bytes: usize,
    groups: Vec<GroupCalls>,
}

/// A pod with a decision, whose bind call has not come.
#[derive(Debug)]
struct DecidedPod {
    pod: Arc<Pod>,
    /// The size of its JSON.
    bytes: usize,
    /// Its place in the sender's groups.
    group: usize,
    number: u64,
    /// Whether a filter waits for its bind call.
    is_expected: bool,
}

/// The bind calls for pods of one group.
#[derive(Debug)]
struct GroupCalls {
    name: Box<str>,
    /// The number of calls that were waited for in vain since the last one came.
    missed: u8,
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
        Self { table: Mutex::default(), arrived: Condvar::new(), max_wait }
    }

    /// A sender has got the nodes on which the pod may run. After the last reply about a pod, a bind call is expected.
    pub(crate) fn decided(&self, sender: Sender, group: &str, pod: &Arc<Pod>, is_last_word: bool) {
        let bytes = pod.json().map_or(0, bytes::Bytes::len);
        if pod.uid().is_empty() || bytes > MAX_BYTES {
            return;
        }
        let mut table = self.table.lock();
        table.decisions += 1;
        let newest = table.decisions;
        let own = table.of_sender(sender);
        // Its old number is kept, so filters that wait for the call already still see it.
        let number = own.forget(pod.uid()).filter(|own| own.is_expected).map_or(newest, |own| own.number);
        let group = own.group(group);
        let is_expected = is_last_word && !self.max_wait.is_zero() && own.groups[group].missed < MAX_MISSED;
        // Not the pod itself: its JSON may be a slice of a large request.
        let pod = Arc::new(pod.placed_on("", &BTreeMap::new(), &BTreeMap::new()));
        own.push(DecidedPod { pod, bytes, group, number, is_expected });
    }

    /// A sender was told that the pod may run nowhere.
    pub(crate) fn rejected(&self, sender: Sender, uid: &str) {
        let mut table = self.table.lock();
        if let Some(own) = table.senders.iter_mut().find(|own| own.sender == sender) {
            own.forget(uid);
        }
    }

    /// Waits for the bind calls of the other pods that this sender was told about; none if none is expected.
    ///
    /// One that does not come in time is no longer expected, so nothing is waited for twice.
    pub(crate) fn wait(&self, sender: Sender, uid: &str, blocking: Blocking) -> Option<BindCallWait> {
        let table = self.table.lock();
        let until = table.decisions;
        if !table.expects(sender, uid, until) {
            return None;
        }
        drop(table);
        // The call may come on a connection that this thread serves.
        Some(blocking.run(|| self.wait_until(sender, uid, until)))
    }

    fn wait_until(&self, sender: Sender, uid: &str, until: u64) -> BindCallWait {
        let started = Instant::now();
        let mut table = self.table.lock();
        while table.expects(sender, uid, until) {
            let left = self.max_wait.saturating_sub(started.elapsed());
            if left.is_zero() {
                break;
            }
            self.arrived.wait_for(&mut table, left);
        }
        let missed = table.give_up(sender, uid, until);
        BindCallWait { elapsed: started.elapsed(), missed }
    }

    /// The pod of a bind call, as its sender's own request showed it, or else another's: replicas forward bind calls.
    pub(crate) fn find(&self, sender: Sender, query: &BindQuery<'_>) -> Option<Arc<Pod>> {
        let table = self.table.lock();
        let own = table.senders.iter().filter(|known| known.sender == sender);
        let others = table.senders.iter().rev().filter(|known| known.sender != sender);
        let decided = own.chain(others).flat_map(|sender| &sender.pods);
        let pod = decided.map(|decided| &decided.pod).find(|pod| pod.uid() == query.uid)?;
        (pod.name() == query.name && pod.namespace() == query.namespace).then(|| Arc::clone(pod))
    }

    /// The bind call of the pod has come: those who wait for it go on.
    pub(crate) fn arrived(&self, uid: &str) {
        let mut table = self.table.lock();
        for own in &mut table.senders {
            if let Some(pod) = own.forget(uid) {
                own.groups[pod.group].missed = 0;
            }
        }
        self.arrived.notify_all();
    }
}

// === impl Table ===

impl Table {
    fn of_sender(&mut self, sender: Sender) -> &mut OfSender {
        let own = if let Some(at) = self.senders.iter().position(|own| own.sender == sender) {
            self.senders.remove(at)
        } else {
            if self.senders.len() == MAX_SENDERS {
                self.senders.remove(0);
            }
            OfSender::new(sender)
        };
        self.senders.push(own);
        // The line above added one.
        self.senders.last_mut().unwrap_or_else(|| unreachable!("a sender that was added"))
    }

    /// The pods of a sender that were decided up to number `until` and whose bind calls are still expected, except
    /// `uid`.
    fn expected(&self, sender: Sender, uid: &str, until: u64) -> impl Iterator<Item = &DecidedPod> {
        let own = self.senders.iter().filter(move |own| own.sender == sender);
        let is_expected = move |own: &&DecidedPod| own.is_expected && own.number <= until && own.pod.uid() != uid;
        own.flat_map(|own| &own.pods).filter(is_expected)
    }

    fn expects(&self, sender: Sender, uid: &str, until: u64) -> bool {
        self.expected(sender, uid, until).next().is_some()
    }

    /// No longer expects these calls, and returns their number.
    fn give_up(&mut self, sender: Sender, uid: &str, until: u64) -> usize {
        let missed: Vec<u64> = self.expected(sender, uid, until).map(|pod| pod.number).collect();
        for OfSender { pods, groups, .. } in &mut self.senders {
            for pod in pods.iter_mut().filter(|pod| missed.contains(&pod.number)) {
                pod.is_expected = false;
                groups[pod.group].missed = groups[pod.group].missed.saturating_add(1);
            }
        }
        missed.len()
    }
}

// === impl OfSender ===

impl OfSender {
    fn new(sender: Sender) -> Self {
        Self { sender, pods: VecDeque::new(), bytes: 0, groups: vec![] }
    }

    /// The index of a group. A full list holds groups that no longer exist, so the sender's record starts again.
    fn group(&mut self, name: &str) -> usize {
        if let Some(known) = self.groups.iter().position(|group| *group.name == *name) {
            return known;
        }
        if self.groups.len() == MAX_GROUPS {
            *self = Self::new(self.sender);
        }
        self.groups.push(GroupCalls { name: name.into(), missed: 0 });
        self.groups.len() - 1
    }

    fn push(&mut self, pod: DecidedPod) {
        self.bytes += pod.bytes;
        self.pods.push_back(pod);
        while self.pods.len() > MAX_PODS || self.bytes > MAX_BYTES {
            self.bytes -= self.pods.pop_front().map_or(0, |pod| pod.bytes);
        }
    }

    fn forget(&mut self, uid: &str) -> Option<DecidedPod> {
        // Most are asked about again soon.
        let at = self.pods.iter().rposition(|own| own.pod.uid() == uid)?;
        let pod = self.pods.remove(at)?;
        self.bytes -= pod.bytes;
        Some(pod)
    }
}

#[cfg(test)]
mod tests;
