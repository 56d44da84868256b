//! The pods that wait for a node: as their watch shows them, and as filter requests have left them.
//!
//! ```text
//!  watch ─────> shown, gone ──┐                    ┌──> stable reasons (messages)
//!  /filter ───> refused,    ──┼──> WaitingPods ────┼──> due, woken (gateway/revisit)
//!               passed        │    by UID          ├──> nominations (gateway/refused)
//!  revisit ───> decided ──────┘                    └──> pending (admin API, metrics)
//! ```

mod budget;
mod messages;
mod pending;
mod rejected;

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;

use self::budget::WakeBudget;
pub(crate) use self::messages::Said;
use self::messages::{Form, Messages};
use self::rejected::Told;
pub use self::{
    pending::{AskedAbout, MainReason, PendingFault, PendingPod, ScheduledCondition},
    rejected::{ReasonBy, ReasonCount, RejectedNodes},
};
use crate::model::{Cluster, NominatedFor, Pod, WaitingChange, WaitingPod};

/// Maximum pods that are kept, and the bytes of their JSON: pods of 3 kB fill both.
const MAX_PODS: usize = 20_000;
const MAX_BYTES: usize = 64 << 20;

/// A pod that only requests show is gone when kube-scheduler has not asked about it for this long: it asks about each at
/// least every 5.5 minutes.
const MAX_AGE: Duration = Duration::from_mins(10);

/// The time between two wakes for pods that have no room: each may be for nothing, and makes kube-scheduler try them all.
const BLIND_PAUSE: Duration = Duration::from_mins(1);

/// The time between two searches for old entries.
const PURGE_INTERVAL: Duration = Duration::from_secs(1);

/// The watch shows a change of pods and nodes at most this much later than kube-scheduler asks because of it.
const MAX_LAG: Duration = Duration::from_mins(1);

/// After a start, pods about which no request has asked are decided for this long: it is not known why they wait.
const START: Duration = Duration::from_mins(1);

/// The pods without a node.
#[derive(Debug, Default)]
pub(crate) struct WaitingPods(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// By UID.
    pods: HashMap<Box<str>, Entry>,
    /// The bytes of their JSON.
    bytes: usize,
    /// The number of changes when the last pod was left out for want of room since the last wake.
    overflown: Option<u64>,
    /// When there was last a wake for such pods.
    blindly_woken: Option<Instant>,
    /// The number of changes at the last refusal.
    changes: u64,
    /// The number of pods that have left after a wake.
    freed: u64,
    /// When the first list of the watch was complete.
    listed: Option<Instant>,
    /// When old entries were last looked for.
    purged: Option<Instant>,
}

/// One pod that waits.
#[derive(Debug)]
struct Entry {
    pod: Arc<Pod>,
    first_seen: Instant,
    /// Whether its watch shows it.
    is_shown: bool,
    nominated: Option<NominatedFor>,
    /// One for each group that kube-scheduler has asked about it.
    asked: Vec<Asked>,
    decided: Decided,
    budget: WakeBudget,
    messages: Messages,
}

/// The filter requests of one group about a pod, above all the last one.
#[derive(Debug)]
struct Asked {
    group: Arc<str>,
    first: Instant,
    /// Those for the nominated node alone are left out, unless they leave it to the pod: others follow in the same attempt.
    attempts: u32,
    at: Instant,
    /// The number of its nodes.
    offered: usize,
    /// Whether it left the pod without a node.
    is_refused: bool,
    /// Why the last attempt in vain was.
    rejected: Option<Arc<RejectedNodes>>,
    told: Option<Told>,
}

/// The last decision about a pod, by a request or by a pass of revisiting.
#[derive(Debug, Default)]
struct Decided {
    cluster: Weak<Cluster>,
    /// The number of changes before it.
    changes: u64,
    at: Option<Instant>,
    /// Whether a node of the cluster would keep it, offered or not.
    is_free: bool,
}

/// A filter request that leaves its pod without a node.
#[derive(Debug)]
pub(crate) struct Refusal<'r> {
    pub(crate) group: &'r Arc<str>,
    pub(crate) pod: &'r Arc<Pod>,
    pub(crate) offered: usize,
    pub(crate) cluster: Option<&'r Arc<Cluster>>,
    /// The number of changes before the decision.
    pub(crate) changes: u64,
    /// Whether another node of the cluster would keep the pod, where the answer is about all of them.
    pub(crate) is_free: Option<bool>,
    /// Whether the nodes that policies reject have one text.
    pub(crate) is_united: bool,
    /// Why no node is left; none: the request is for the nominated node alone.
    pub(crate) rejected: Option<&'r Arc<RejectedNodes>>,
    pub(crate) now: Instant,
}

/// A pod that is to be decided again.
#[derive(Debug)]
pub(crate) struct DuePod {
    pub(crate) pod: Arc<Pod>,
    /// The groups that kube-scheduler has asked about it; none: it is not known which it asks.
    pub(crate) groups: Vec<Arc<str>>,
    /// When it was last asked about or decided: the order of a pass.
    since: Option<Instant>,
    asked: Option<Instant>,
}

/// What has happened when a pass of revisiting begins.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'p> {
    pub(crate) cluster: &'p Arc<Cluster>,
    /// The number of changes that kube-scheduler has no event for.
    pub(crate) changes: u64,
    /// Whether a policy of the group reads the time.
    pub(crate) reads_time: &'p dyn Fn(&str) -> bool,
    pub(crate) now: Instant,
}

// === impl WaitingPods ===

impl WaitingPods {
    /// Takes what the watch shows.
    pub(crate) fn change(&self, change: WaitingChange, now: Instant) {
        let mut table = self.0.lock();
        match change {
            WaitingChange::Shown(WaitingPod { pod, nominated }) => {
                if let Some(entry) = table.entry(&pod, now) {
                    (entry.is_shown, entry.nominated) = (true, nominated);
                }
            }
            WaitingChange::Gone(uid) => table.remove(&uid),
            WaitingChange::Listed => {
                table.listed.get_or_insert(now);
            }
        }
    }

    /// A request has left the pod a node, or may have.
    pub(crate) fn passed(&self, group: &Arc<str>, pod: &Pod, offered: usize, now: Instant) {
        if let Some(entry) = self.0.lock().pods.get_mut(pod.uid()) {
            entry.ask(group, offered, now).attempts += 1;
        }
    }

    /// A request has left the pod without a node; `said` are the reasons of its reply. Returns how the reply is to be put,
    /// and whether the log is to have it.
    pub(crate) fn refused(&self, refusal: &Refusal<'_>, said: Said) -> (Form, bool) {
        let Refusal { group, pod, offered, is_united, rejected, now, .. } = *refusal;
        let mut table = self.0.lock();
        table.changes = refusal.changes;
        let freed = table.freed;
        let Some(entry) = table.entry(pod, now) else { return <_>::default() };
        let asked = entry.ask(group, offered, now);
        asked.is_refused = true;
        let is_news = rejected.is_some_and(|rejected| {
            asked.attempts += 1;
            asked.rejected = Some(Arc::clone(rejected));
            Told::tells(&mut asked.told, rejected, now)
        });
        entry.decided = Decided {
            cluster: refusal.cluster.map(Arc::downgrade).unwrap_or_default(),
            changes: refusal.changes,
            at: Some(now),
            // kube-scheduler may reject by a filter that is not modelled: that a pass finds the pod to fit then is no news.
            is_free: refusal.is_free.unwrap_or(entry.decided.is_free),
        };
        entry.budget.asked(refusal.is_free == Some(true), freed);
        (entry.messages.form((group, rejected.is_none()), said, is_united, now), is_news)
    }

    /// The text of a fault, as it was first told about this pod within a minute. `fault` names policy, verb and kind.
    pub(crate) fn fault_text(
        &self,
        pod: &Arc<Pod>,
        policy: &str,
        fault: String,
        message: &str,
        now: Instant,
    ) -> String {
        match self.0.lock().entry(pod, now) {
            Some(entry) => entry.messages.fault_text(policy, fault, message, now),
            // The message may name another node each time.
            None => fault,
        }
    }

    /// The most nodes that another group was asked about since then, in a request about the pod.
    pub(crate) fn most_offered_to_others(&self, uid: &str, group: &str, since: Instant) -> usize {
        let table = self.0.lock();
        let asked = table.pods.get(uid).map_or(&[][..], |entry| &entry.asked);
        let others = asked.iter().filter(|asked| *asked.group != *group && asked.at >= since);
        others.map(|asked| asked.offered).max().unwrap_or_default()
    }

    /// The other groups that kube-scheduler has asked about the pod.
    pub(crate) fn other_groups(&self, uid: &str, group: &str) -> Vec<Arc<str>> {
        let table = self.0.lock();
        let asked = table.pods.get(uid).map_or(&[][..], |entry| &entry.asked);
        asked.iter().filter(|asked| *asked.group != *group).map(|asked| Arc::clone(&asked.group)).collect()
    }

    /// The pods to decide again, those first that were decided longest ago: all after a change, those whose group reads
    /// the time, those that kube-scheduler may have asked about before the watch showed the cluster, and those that would
    /// keep a node.
    pub(crate) fn due(&self, pass: &Pass<'_>) -> Vec<DuePod> {
        let mut table = self.0.lock();
        table.forget_old(pass.now);
        let is_starting = table.listed.is_some_and(|at| pass.now.saturating_duration_since(at) < START);
        let due = table.pods.values().filter(|entry| entry.is_shown && entry.is_due(pass, is_starting));
        let mut due: Vec<DuePod> = due.map(Entry::to_due).collect();
        due.sort_by_key(|pod| pod.since);
        due
    }

    /// A pod was decided again. Returns whether it may cause a wake: not if it was asked about meanwhile.
    pub(crate) fn decided(&self, pod: &DuePod, is_free: bool, pass: &Pass<'_>) -> bool {
        let mut table = self.0.lock();
        let Some(entry) = table.pods.get_mut(pod.pod.uid()).filter(|entry| entry.last_asked() == pod.asked) else {
            return false;
        };
        let was_free = std::mem::replace(&mut entry.decided, Decided::of(pass, is_free)).is_free;
        entry.budget.decided(was_free, is_free);
        is_free && entry.budget.allows_wake(pass.now)
    }

    /// kube-scheduler is told to try all pods again: those that would keep a node, and those of the pass that were not
    /// decided in time, have had a wake.
    pub(crate) fn woken(&self, undecided: &[DuePod], pass: &Pass<'_>) {
        let mut table = self.0.lock();
        let freed = table.freed;
        if table.overflown.take().is_some() {
            table.blindly_woken = Some(pass.now);
        }
        for pod in undecided {
            if let Some(entry) = table.pods.get_mut(pod.pod.uid()).filter(|entry| entry.last_asked() == pod.asked) {
                entry.decided = Decided::of(pass, false);
                entry.budget.charge(freed, pass.now);
            }
        }
        for entry in table.pods.values_mut().filter(|entry| entry.decided.is_free) {
            entry.budget.charge(freed, pass.now);
        }
    }

    /// Whether pods are to be woken blindly: one was left out for want of room before the last change.
    pub(crate) fn is_blind_wake_due(&self, pass: &Pass<'_>) -> bool {
        let table = self.0.lock();
        let pauses = |at: Instant| pass.now.saturating_duration_since(at) < BLIND_PAUSE;
        table.overflown.is_some_and(|at| at < pass.changes) && !table.blindly_woken.is_some_and(pauses)
    }

    /// The nomination that the watch shows last of a pod.
    pub(crate) fn nominated(&self, uid: &str) -> Option<NominatedFor> {
        self.0.lock().pods.get(uid).and_then(|entry| entry.nominated.clone())
    }

    /// The pod as it was seen last.
    pub(crate) fn pod(&self, uid: &str) -> Option<Arc<Pod>> {
        self.0.lock().pods.get(uid).map(|entry| Arc::clone(&entry.pod))
    }

    /// Whether the watch shows such a pod.
    pub(crate) fn any_shown(&self, is_such: impl Fn(&Pod) -> bool) -> bool {
        self.0.lock().pods.values().any(|entry| entry.is_shown && is_such(&entry.pod))
    }

    /// Whether the watch shows the pod.
    pub(crate) fn is_shown(&self, uid: &str) -> bool {
        self.0.lock().pods.get(uid).is_some_and(|entry| entry.is_shown)
    }
}

// === impl Table ===

impl Table {
    /// The entry of a pod in this state, if there is room for it.
    fn entry(&mut self, pod: &Arc<Pod>, now: Instant) -> Option<&mut Entry> {
        if pod.uid().is_empty() {
            return None;
        }
        let bytes = |pod: &Pod| pod.json().map_or(0, Bytes::len);
        let known = self.pods.get(pod.uid());
        let after = self.bytes + bytes(pod) - known.map_or(0, |entry| bytes(&entry.pod));
        let count = self.pods.len() + usize::from(known.is_none());
        if count > MAX_PODS || after > MAX_BYTES {
            self.forget_old(now);
            self.overflown = Some(self.changes);
            return None;
        }
        self.bytes = after;
        let entry = self.pods.entry(pod.uid().into()).or_insert_with(|| Entry::new(Arc::clone(pod), now));
        entry.pod = Arc::clone(pod);
        Some(entry)
    }

    fn remove(&mut self, uid: &str) {
        if let Some(entry) = self.pods.remove(uid) {
            self.bytes -= entry.pod.json().map_or(0, Bytes::len);
            self.freed += u64::from(entry.budget.has_woken());
        }
    }

    /// Ends the entries of pods that no watch shows and no request asks about any more.
    fn forget_old(&mut self, now: Instant) {
        if self.purged.is_some_and(|at| now.saturating_duration_since(at) < PURGE_INTERVAL) {
            return;
        }
        self.purged = Some(now);
        let is_old = |entry: &Entry| {
            !entry.is_shown && entry.last_asked().is_none_or(|at| now.saturating_duration_since(at) >= MAX_AGE)
        };
        let old: Vec<Box<str>> =
            self.pods.iter().filter(|(_, entry)| is_old(entry)).map(|(uid, _)| uid.clone()).collect();
        for uid in old {
            self.remove(&uid);
        }
    }
}

// === impl Entry ===

impl Entry {
    fn new(pod: Arc<Pod>, now: Instant) -> Self {
        Self {
            pod,
            first_seen: now,
            is_shown: false,
            nominated: None,
            asked: Vec::new(),
            decided: Decided::default(),
            budget: WakeBudget::default(),
            messages: Messages::default(),
        }
    }

    /// A group is asked about the pod now.
    fn ask(&mut self, group: &Arc<str>, offered: usize, now: Instant) -> &mut Asked {
        let at = self.asked.iter().position(|asked| asked.group == *group).unwrap_or_else(|| {
            self.asked.push(Asked::new(Arc::clone(group), now));
            self.asked.len() - 1
        });
        let asked = &mut self.asked[at];
        (asked.at, asked.offered, asked.is_refused) = (now, offered, false);
        asked
    }

    fn last_asked(&self) -> Option<Instant> {
        self.asked.iter().map(|asked| asked.at).max()
    }

    /// Whether a pass must decide it again.
    fn is_due(&self, pass: &Pass<'_>, is_starting: bool) -> bool {
        if self.asked.is_empty() {
            return is_starting && self.decided.changes < pass.changes;
        }
        let Some(at) = self.asked.iter().filter(|asked| asked.is_refused).map(|asked| asked.at).max() else {
            return false;
        };
        let is_early = || pass.now.saturating_duration_since(at) < MAX_LAG && !self.decided.is_of(pass.cluster);
        let reads_time = || self.asked.iter().any(|asked| asked.is_refused && (pass.reads_time)(&asked.group));
        let is_to_wake = || self.decided.is_free && self.budget.allows_wake(pass.now);
        self.decided.changes != pass.changes || is_to_wake() || is_early() || reads_time()
    }

    fn to_due(&self) -> DuePod {
        let groups = self.asked.iter().map(|asked| Arc::clone(&asked.group)).collect();
        DuePod { pod: Arc::clone(&self.pod), groups, since: self.decided.at, asked: self.last_asked() }
    }
}

// === impl Asked ===

impl Asked {
    fn new(group: Arc<str>, now: Instant) -> Self {
        Self { group, first: now, attempts: 0, at: now, offered: 0, is_refused: false, rejected: None, told: None }
    }
}

// === impl Decided ===

impl Decided {
    fn of(pass: &Pass<'_>, is_free: bool) -> Self {
        let Pass { cluster, changes, now, .. } = *pass;
        Self { cluster: Arc::downgrade(cluster), changes, at: Some(now), is_free }
    }

    fn is_of(&self, cluster: &Arc<Cluster>) -> bool {
        std::ptr::eq(self.cluster.as_ptr(), Arc::as_ptr(cluster))
    }
}
