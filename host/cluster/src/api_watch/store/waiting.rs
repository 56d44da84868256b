//! Pods without a node. A nominated one counts on the node that is written into its status, until it is bound.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Pod, WaitingChange, WaitingPod};

use super::{BindState, ClusterStore, NominatedPod, ReservedPod, Resource};

/// The time that a pod keeps its place after it has left the watch of waiting pods: the event does not say whether it
/// was bound, and the watch of placed pods may be behind. Beyond, a pod that was not bound would keep others away.
const MAX_LAG: Duration = Duration::from_secs(1);

// === impl ClusterStore ===

impl ClusterStore {
    /// What the watch of waiting pods has shown since the last call, in its order.
    pub(in super::super) fn take_waiting_changes(&mut self) -> Vec<WaitingChange> {
        std::mem::take(&mut self.waiting_changes)
    }

    /// A pod without a node as it is now, and as a placed pod if it is nominated; none: it cannot be read.
    pub(super) fn put_waiting(&mut self, uid: Box<str>, read: Option<(WaitingPod, Option<Pod>)>) {
        let Some((waiting, nominated)) = read else {
            self.end_nomination(&uid);
            self.forget_waiting(uid);
            return;
        };
        self.put_nominated(&uid, nominated);
        self.waiting_changes.push(WaitingChange::Shown(waiting));
        self.waiting.insert(uid, self.lists[Resource::Waiting as usize]);
    }

    fn put_nominated(&mut self, uid: &str, pod: Option<Pod>) {
        let pod = pod.filter(|_| !self.pods.contains_key(uid));
        if let (Some(known), Some(pod)) = (self.nominated.get_mut(uid), &pod)
            && *known.pod == *pod
        {
            known.left = None;
            return;
        }
        self.end_nomination(uid);
        if let Some(pod) = pod {
            self.leave(uid);
            let pod = Arc::new(self.pool.share(pod));
            self.nominated.insert(uid.into(), NominatedPod { pod, left: None });
            self.show_nominated(uid);
        }
    }

    /// A list of waiting pods that began then is complete.
    pub(super) fn end_waiting(&mut self, list: u64, began: Instant) {
        let gone = self.waiting.iter().filter(|(_, seen)| **seen < list).map(|(uid, _)| uid.clone());
        for uid in gone.collect::<Vec<_>>() {
            self.leave_waiting(uid, began);
        }
        self.waiting_changes.push(WaitingChange::Listed);
    }

    /// A pod does not wait any more: most likely it is bound.
    pub(super) fn leave_waiting(&mut self, uid: Box<str>, now: Instant) {
        if let Some(nominated) = self.nominated.get_mut(&uid) {
            nominated.left.get_or_insert(now);
        }
        if let Some(ReservedPod { bind: BindState::Tentative(until), .. }) = self.reserved.get_mut(&uid) {
            *until = (*until).min(now + MAX_LAG);
        }
        self.forget_waiting(uid);
    }

    fn forget_waiting(&mut self, uid: Box<str>) {
        if self.waiting.remove(&uid).is_some() {
            self.waiting_changes.push(WaitingChange::Gone(uid));
        }
    }

    /// Ends the places that are over: those of nominated pods that have left the watch too long ago, and tentative ones.
    /// Returns when the next one ends.
    pub(crate) fn end_overdue(&mut self, now: Instant) -> Option<Instant> {
        let left = |nominated: &NominatedPod| Some(nominated.left? + MAX_LAG);
        for uid in overdue(&self.nominated, left, now) {
            self.end_nomination(&uid);
        }
        for uid in overdue(&self.reserved, ReservedPod::until, now) {
            self.end_reservation(&uid);
        }
        let tentative = self.reserved.values().filter_map(ReservedPod::until);
        self.nominated.values().filter_map(left).chain(tentative).min()
    }

    /// Lets nominated pods count, or not: those of a watch that has gone silent may be gone.
    pub(crate) fn count_nominated(&mut self, counts: bool) {
        if self.hides_nominated != counts {
            return;
        }
        self.hides_nominated = false;
        for uid in self.nominated.keys().cloned().collect::<Vec<_>>() {
            if counts {
                self.show_nominated(&uid);
            } else {
                self.hide_nominated(&uid);
            }
        }
        self.hides_nominated = !counts;
    }

    /// The pod does not count as nominated any more.
    pub(super) fn end_nomination(&mut self, uid: &str) {
        self.hide_nominated(uid);
        self.nominated.remove(uid);
    }

    /// Puts a nominated pod on its node, unless it is reserved.
    pub(super) fn show_nominated(&mut self, uid: &str) {
        if let Some(pod) = self.nominated_alone(uid) {
            self.attach(&pod, true);
        }
    }

    /// Takes a nominated pod off its node.
    pub(super) fn hide_nominated(&mut self, uid: &str) {
        if let Some(pod) = self.nominated_alone(uid) {
            self.detach(&pod);
        }
    }

    /// A nominated pod that counts and is not reserved.
    fn nominated_alone(&self, uid: &str) -> Option<Arc<Pod>> {
        let is_hidden = self.hides_nominated || self.reserved.contains_key(uid);
        let nominated = self.nominated.get(uid).filter(|_| !is_hidden)?;
        Some(Arc::clone(&nominated.pod))
    }
}

/// The UIDs of the pods whose place has ended by now.
fn overdue<P>(pods: &HashMap<Box<str>, P>, end: impl Fn(&P) -> Option<Instant>, now: Instant) -> Vec<Box<str>> {
    let over = pods.iter().filter(|(_, pod)| end(pod).is_some_and(|end| end <= now));
    over.map(|(uid, _)| uid.clone()).collect()
}
